import { isoTime } from './base/clock.ts'
import { eventLog } from './http/event-log.ts'
import { createAudit } from './kernel/audit/audit.ts'
import { createEventDelivery } from './kernel/events/event-delivery.ts'
import { createPersonalData } from './kernel/personal/personal-data.ts'
import type { Policy } from './kernel/policy/policy.ts'
import { createIdempotencyStore } from './kernel/requests/idempotency.ts'
import { createProcessRateLimiter, createRateLimiter } from './kernel/requests/rate-limits.ts'
import { createMetrics } from './kernel/telemetry/metrics.ts'
import { declareStorageMetrics } from './kernel/telemetry/storage-metrics.ts'
import type { WireContext } from './kernel/wire/wire.ts'
import type { ServerParts } from './parts.ts'
import { createAuditLog } from './wires/core/audit/audit-log.ts'
import { defineAuditRetention } from './wires/core/audit/audit-retention.ts'
import { declareJobMetrics } from './wires/core/jobs/job-metrics.ts'
import { createJobOperations } from './wires/core/jobs/job-operations.ts'
import { createLogOperations } from './wires/core/request-log/log-operations.ts'
import { defineLogRetention } from './wires/core/request-log/log-retention.ts'
import { createRequestLog, NO_REQUEST_LOG, type RequestLog } from './wires/core/request-log/request-log.ts'
import type { ServerStatus } from './wires/core/server-status.ts'
import { createWebhooks } from './wires/core/webhooks/webhooks.ts'

// The longest time for which an answer with tokens stays stored after its last replay.
const CLEANING_MS = 60_000

/** What the server has beside its wires, and all of them use. */
export type ServerFrame = ReturnType<typeof createFrame>

/** Makes it; nothing runs before the start. */
export function createFrame({
  settings,
  clock,
  log: { log, onProblem },
  db,
  jobs,
  processes,
  siblings,
  webhooks,
  running,
}: ServerParts) {
  const metrics = createMetrics(siblings)
  declareJobMetrics(metrics, db, clock)
  declareStorageMetrics(metrics, db, settings)
  const requestLog: RequestLog = settings.requestLog
    ? createRequestLog({ db, clock, log, process: processes.id, settings: settings.requestLog, siblings })
    : NO_REQUEST_LOG
  onProblem((line) => requestLog.problem(line))
  const audit = createAudit(clock)
  const limiters = {
    database: createRateLimiter({ db, clock }),
    process: createProcessRateLimiter({ clock, siblings }),
  }
  const idempotency = createIdempotencyStore({ db, clock, processes }, { secret: settings.secret })
  defineAuditRetention({ db, clock, jobs }, settings.auditDays)
  if (settings.requestLog) defineLogRetention({ db, clock, jobs }, settings.requestLog)
  jobs.every('sixwire.clean', CLEANING_MS, async () => {
    await idempotency.deleteExpired()
    await limiters.database.deleteFull()
  })
  const delivery = createEventDelivery({ db, clock, log, jobs, metrics }, { configured: webhooks })
  return {
    metrics,
    requestLog,
    audit,
    auditLog: createAuditLog(db),
    logs: createLogOperations({ db, clock, audit }, settings.requestLog),
    jobs: createJobOperations({ db, clock, audit, jobs }),
    delivery,
    webhooks: createWebhooks({ db, log, audit }, { configured: webhooks, kinds: delivery.kinds }),
    limiters,
    idempotency,
    personalData: createPersonalData({ db, clock, jobs, audit }, { running }, settings),
  }
}

/** What is known once all wires are set up. */
export type DeferredStatus = Pick<
  ServerStatus,
  | 'state'
  | 'health'
  | 'diagnoses'
  | 'screens'
  | 'figures'
  | 'series'
  | 'settings'
  | 'settable'
  | 'stored'
  | 'changes'
> & {
  scopes: () => readonly string[]
}

/** What each wire is set up with, beside the services of the wires that it needs. */
export function contextOf(
  { settings, clock, log: { log }, db, jobs, processes, siblings }: ServerParts,
  { metrics, audit, personalData, delivery, limiters, idempotency }: ServerFrame,
  policy: Policy,
  { state, health, screens, scopes }: DeferredStatus,
): WireContext {
  return {
    db,
    clock,
    jobs,
    events: delivery.events,
    audit,
    personalData,
    processes,
    siblings,
    log,
    record: eventLog({ log, countEvent: metrics.countEvent }),
    metrics,
    settings,
    policy,
    rateLimiter: limiters.database,
    idempotency,
    server: {
      state,
      wires: () => [...health().keys()],
      hasScreens: () => screens().length > 0,
      scopes,
    },
  }
}

/** What `core` alone is set up with, beside that. */
export function statusOf(
  { clock, startedAt }: ServerParts,
  { metrics, webhooks, jobs, logs }: ServerFrame,
  deferred: Omit<DeferredStatus, 'scopes'>,
): ServerStatus {
  return {
    ...deferred,
    uptime: () => Math.round(performance.now() - startedAt) / 1000,
    webhooks,
    jobs,
    metrics: () => metrics.read(),
    now: () => isoTime(clock.now()),
    logs,
  }
}
