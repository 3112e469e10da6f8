import { oneLine } from '../../../base/one-line.ts'
import { parseJson } from '../../../base/json.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import { newId } from '../../../base/ids.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import { guarded } from '../../../providers/guard.ts'
import { isSnapshot } from '../providers/answers.ts'
import { CALL_MS } from '../operations/operations.ts'
import { shownPayload } from './event-payload.ts'
import type {
  OperationProvider,
  PaymentProvider,
  ProviderEvent,
  PaymentSubject,
} from '../providers/provider.ts'
import type { Reconcile } from '../operations/reconcile.ts'
import { selectTransactionsSql, type TransactionRow } from '../ledger/transaction-rows.ts'

const CLAIMED_AT_ONCE = 50
/** Few, so that a burst of webhooks leaves the event loop to others. */
const HANDLED_AT_ONCE = 4
const LEASE_MS = 60_000
const FIRST_RETRY_MS = 10_000
const LONGEST_RETRY_MS = 3_600_000
/** One attempt an hour for a month: the operator may notice refused credentials days later. */
const ATTEMPTS = 750
const REASON_MAX = 300
const DAY_MS = 24 * 3_600_000
/** Providers send an event again for days; an event that is forgotten would be handled again. */
const KEEP_DAYS = 90
const FORGOTTEN_AT_ONCE = 500

/**
 * What became of an event: it is to be handled, was recorded, is about nothing of this server, or could not be handled, which
 * is tried again for a month.
 */
export const EVENT_STATES = ['pending', 'done', 'ignored', 'failed'] as const
export type EventState = (typeof EVENT_STATES)[number]

type EventRow = {
  provider: OperationProvider
  event_id: string
  type: string
  subject: string
  attempts: number
}

/** Events of one transaction, and the objects that they name. */
type Group = {
  transactionId: string
  events: EventRow[]
  objects: Map<string, NonNullable<PaymentSubject['objects']>[number]>
}

export type PaymentEvents = {
  /**
   * Stores an event, and has it handled; one that is there already changes nothing. When this resolves, it survives a power
   * cut. What it is about is stored, and its body without what may be personal or secret: the provider is asked anyway.
   */
  store(provider: OperationProvider, event: ProviderEvent): Promise<void>
  /** Handles the events that are due: those just stored, and those whose handling failed. */
  handleDue(): Promise<void>
  /** Deletes events that were handled long ago. */
  forget(): Promise<void>
  /** Waits for what is being handled, and begins nothing more. */
  close(): Promise<void>
}

type EventContext = Pick<WireContext, 'db' | 'clock' | 'log' | 'processes'> & {
  readonly providers: ReadonlyMap<OperationProvider, PaymentProvider>
  readonly reconcile: Reconcile
  isDue: boolean
  isClosed: boolean
  handling: Promise<void> | undefined
}

/**
 * The events of the providers. Each is a row before it is acknowledged; afterwards the objects that it names are fetched, and
 * what these say is recorded, so that the order and number of events do not matter.
 */
export function createEvents(
  { db, clock, log, processes }: Pick<WireContext, 'db' | 'clock' | 'log' | 'processes'>,
  {
    providers,
    reconcile,
  }: { providers: ReadonlyMap<OperationProvider, PaymentProvider>; reconcile: Reconcile },
): PaymentEvents {
  const context: EventContext = {
    db,
    clock,
    log,
    processes,
    providers,
    reconcile,
    isDue: false,
    isClosed: false,
    handling: undefined,
  }

  context.processes.onEnd((ended) => [
    sql`update pay_events set due_at = ${context.clock.now()} where due_at > ${context.clock.now()} and process = ${ended}`,
  ])

  return {
    async store(provider, { id, type, subject, payload }) {
      const now = context.clock.now()
      const inserted = await context.db.write(
        sql.insert(
          'pay_events',
          {
            provider,
            event_id: id,
            id: newId(now),
            type,
            payload: shownPayload(payload) ?? null,
            subject: subject === undefined ? null : JSON.stringify(subject),
            received_at: now,
            due_at: subject === undefined ? null : now,
            attempts: 0,
            ...(subject === undefined
              ? { state: 'ignored', result: 'not used' }
              : { state: 'pending', result: null }),
          },
          ['provider', 'event_id'],
        ),
      )
      if (inserted.length > 0 && subject !== undefined) void wake(context)
    },
    handleDue: () => wake(context),
    async forget() {
      for (;;) {
        const rows = await context.db.write(sql`
          with old as materialized (
            select provider, event_id from pay_events
            where received_at < ${context.clock.now() - KEEP_DAYS * DAY_MS} and due_at is null
            order by received_at limit ${FORGOTTEN_AT_ONCE})
          delete from pay_events where (provider, event_id) in (select provider, event_id from old) returning event_id`)
        if (rows.length < FORGOTTEN_AT_ONCE) return
      }
    },
    async close() {
      context.isClosed = true
      await context.handling
    },
  }
}

/** Handles events in the background until none is due. */
function wake(context: EventContext): Promise<void> {
  context.isDue = true
  context.handling ??= handleAll(context).finally(() => (context.handling = undefined))
  return context.handling
}

async function handleAll(context: EventContext): Promise<void> {
  while (context.isDue && !context.isClosed) {
    context.isDue = false
    try {
      const rows = await claim(context)
      if (rows.length === CLAIMED_AT_ONCE) context.isDue = true
      await handleRows(context, rows)
    } catch (error) {
      context.log.error({ err: error }, 'events of payments could not be handled: they are handled later')
    }
  }
}

function claim(context: EventContext): Promise<EventRow[]> {
  const now = context.clock.now()
  return context.db.write<EventRow>(sql`
    with due as materialized (
      select provider, event_id from pay_events where due_at <= ${now} order by due_at limit ${CLAIMED_AT_ONCE}
      ${sql.skipLocked})
    update pay_events set due_at = ${now + LEASE_MS}, attempts = attempts + 1, process = ${context.processes.id}
    where (provider, event_id) in (select provider, event_id from due)
    returning provider, event_id, type, subject, attempts`)
}

/** Works on items, a few at once; what is not begun when the server ends is handled after the lease. */
async function eachOf<T>(
  context: EventContext,
  items: Iterable<T>,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const next = Iterator.from(items)
  const worker = async (): Promise<void> => {
    for (const item of next) {
      if (context.isClosed) return
      await work(item)
    }
  }
  await Promise.all(Array.from({ length: HANDLED_AT_ONCE }, worker))
}

/** Handles events, the new ones of one transaction together. */
async function handleRows(context: EventContext, rows: readonly EventRow[]): Promise<void> {
  const groups = new Map<string, Group>()
  await eachOf(context, rows, async (event) => {
    try {
      const subject = parseJson(event.subject) as PaymentSubject
      const row =
        (await find(context, event.provider, subject)) ??
        (await findAtProvider(context, event.provider, subject))
      if (!row)
        await settle(context, [event], { state: 'ignored', result: 'not a transaction of this server' })
      else {
        // One that failed is handled alone: it may be what the others would fail by.
        const key = event.attempts === 1 ? row.id : `${event.provider} ${event.event_id}`
        const group: Group = groups.get(key) ?? { transactionId: row.id, events: [], objects: new Map() }
        groups.set(key, group)
        group.events.push(event)
        for (const one of subject.objects ?? []) group.objects.set(`${one.kind} ${one.id}`, one)
      }
    } catch (error) {
      await retry(context, [event], error)
    }
  })
  await eachOf(context, groups.values(), (group) => handleGroup(context, group))
}

async function handleGroup(context: EventContext, { transactionId, events, objects }: Group): Promise<void> {
  try {
    const cause = `event ${events[0]!.event_id}`
    const { failure } = await context.reconcile(transactionId, {
      cause,
      objects: [...objects.values()],
      repeats: false,
    })
    if (failure && failure.kind !== 'refused') throw new Error(failure.reason)
    await settle(context, events, {
      transactionId,
      ...(failure
        ? { state: 'failed', result: `the provider has no such object: ${failure.reason}` }
        : { state: 'done', result: `recorded for ${transactionId}` }),
    })
  } catch (error) {
    await retry(context, events, error)
  }
}

async function settle(
  context: EventContext,
  events: readonly EventRow[],
  { state, result, transactionId }: { state: EventState; result: string; transactionId?: string },
): Promise<void> {
  await context.db.write(sql`
    update pay_events set due_at = null, state = ${state}, result = ${oneLine(result, REASON_MAX)},
      transaction_id = ${transactionId ?? null}
    where ${idsSql(events)}`)
}

/** Has events handled again later, unless that was tried often enough. */
async function retry(context: EventContext, rows: readonly EventRow[], error: unknown): Promise<void> {
  const { provider, attempts } = rows[0]!
  const reason = oneLine(error instanceof Error ? error.message : String(error), REASON_MAX)
  const events = rows.map(({ event_id }) => event_id)
  const isGivenUp = attempts >= ATTEMPTS
  context.log[isGivenUp ? 'error' : 'warn'](
    { provider, events, reason },
    isGivenUp ? 'an event of a payment was given up' : 'an event of a payment is handled again later',
  )
  const pauseMs = Math.min(FIRST_RETRY_MS * 2 ** (attempts - 1), LONGEST_RETRY_MS)
  await context.db.write(sql`
    update pay_events set due_at = ${isGivenUp ? null : context.clock.now() + pauseMs}, process = null,
      state = 'failed', result = ${reason}
    where ${idsSql(rows)}`)
}

async function find(
  context: EventContext,
  provider: string,
  subject: PaymentSubject,
): Promise<TransactionRow | undefined> {
  const { transactionId, reference, paymentId } = subject
  const conditions: Sql[] = [
    ...(reference === undefined ? [] : [sql`reference = ${reference}`]),
    ...(paymentId === undefined ? [] : [sql`payment_id = ${paymentId}`]),
    ...(transactionId === undefined ? [] : [sql`id = ${transactionId}`]),
  ]
  for (const condition of conditions) {
    const [row] = await context.db.all(selectTransactionsSql(sql`provider = ${provider} and ${condition}`))
    // The metadata of another application's session may hold an id of ours.
    if (row && (reference === undefined || row.reference === null || row.reference === reference)) return row
  }
  return undefined
}

/** The transaction of a payment that is known by nothing but the provider's id. */
async function findAtProvider(
  context: EventContext,
  name: OperationProvider,
  subject: PaymentSubject,
): Promise<TransactionRow | undefined> {
  const provider = context.providers.get(name)
  if (!provider || subject.paymentId === undefined) return undefined
  const { paymentId } = subject
  const outcome = await guarded(
    () => provider.retrieve({ paymentId, since: context.clock.now() - KEEP_DAYS * DAY_MS }, CALL_MS),
    { limitMs: CALL_MS, clock: context.clock, isAccepted: ({ snapshot }) => isSnapshot(snapshot) },
  )
  if (outcome.kind === 'refused') return undefined
  if (outcome.kind !== 'accepted') throw new Error(outcome.reason)
  const { transactionId, reference } = outcome.snapshot
  return find(context, name, { reference, ...(transactionId !== undefined && { transactionId }) })
}

const idsSql = (rows: readonly EventRow[]): Sql =>
  sql`provider = ${rows[0]!.provider} and event_id in (${sql.join(rows.map(({ event_id }) => event_id))})`
