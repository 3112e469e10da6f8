import { isoTime } from './base/clock.ts'
import { eventLog } from './http/event-log.ts'
import { createAudit } from './kernel/audit/audit.ts'
import { createAuditLog } from './kernel/audit/audit-log.ts'
import { defineAuditRetention } from './wires/core/audit/audit-retention.ts'
import { createEventDelivery } from './kernel/events/event-delivery.ts'
import { createIdempotencyStore } from './kernel/requests/idempotency.ts'
import { declareJobMetrics } from './wires/core/jobs/job-metrics.ts'
import { createMetrics } from './kernel/telemetry/metrics.ts'
import type { Policy } from './kernel/policy/policy.ts'
import { createProcessRateLimiter, createRateLimiter } from './kernel/requests/rate-limits.ts'
import { createLogOperations } from './kernel/request-log/operations.ts'
import { createRequestLog, NO_REQUEST_LOG, type RequestLog } from './kernel/request-log/request-log.ts'
import { defineLogRetention } from './kernel/request-log/retention.ts'
import type { ServerStatus, WireContext } from './kernel/wire/wire.ts'
import { declareStorageMetrics } from './kernel/telemetry/storage-metrics.ts'
import type { Parts } from './parts.ts'

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
  webhooks,
}: Parts) {
  const metrics = createMetrics()
  declareJobMetrics(metrics, db, clock)
  declareStorageMetrics(metrics, db, settings)
  const requestLog: RequestLog = settings.requestLog
    ? createRequestLog({ db, clock, log, process: processes.id, settings: settings.requestLog })
    : NO_REQUEST_LOG
  onProblem((line) => requestLog.problem(line))
  const audit = createAudit(clock)
  const limiters = { database: createRateLimiter(db, clock), process: createProcessRateLimiter(clock) }
  const idempotency = createIdempotencyStore(db, clock, settings.secret, processes)
  defineAuditRetention({ db, clock, jobs }, settings.auditDays)
  if (settings.requestLog) defineLogRetention({ db, clock, jobs }, settings.requestLog)
  jobs.every('sixwire.clean', CLEANING_MS, async () => {
    await idempotency.deleteExpired()
    await limiters.database.deleteFull()
  })
  return {
    metrics,
    requestLog,
    audit,
    auditLog: createAuditLog(db),
    logs: createLogOperations({ db, clock, audit }, settings.requestLog),
    delivery: createEventDelivery({ db, clock, log, jobs, metrics }, webhooks),
    limiters,
    idempotency,
  }
}

/** What is known once all wires are set up. */
export type Later = Pick<ServerStatus, 'diagnoses' | 'screens' | 'scopes' | 'figures' | 'settings'> & {
  stage: ServerStatus['state']
  health: ServerStatus['wires']
}

/** What each wire is set up with, beside the services of the wires that it needs. */
export function contextOf(
  { settings, clock, log: { log }, db, jobs, processes }: Parts,
  { metrics, audit, auditLog, logs, delivery, limiters }: ServerFrame,
  policy: Policy,
  { stage, health, ...later }: Later,
): WireContext {
  const startedAt = performance.now()
  return {
    db,
    clock,
    jobs,
    events: delivery.events,
    audit,
    processes,
    log,
    record: eventLog({ log, countEvent: metrics.countEvent }),
    metrics,
    settings,
    policy,
    rateLimiter: limiters.database,
    server: {
      ...later,
      state: stage,
      uptime: () => Math.round(performance.now() - startedAt) / 1000,
      wires: health,
      webhooks: delivery.webhooks,
      jobs: jobs.operations,
      audit: auditLog,
      metrics: () => metrics.read(),
      now: () => isoTime(clock.now()),
      logs,
    },
  }
}
