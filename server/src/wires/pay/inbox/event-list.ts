import { Type } from '../../../base/schema.ts'
import { sql } from '../../../db/sql.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import { guarded } from '../../../providers/guard.ts'
import { isEvent } from '../providers/answers.ts'
import type { PaymentEvents } from './provider-events.ts'
import type { OperationProvider, PaymentProvider } from '../providers/provider.ts'

const LIMIT_MS = 30_000
/** Events may appear in a provider's list a while after others that are younger. */
const OVERLAP_MS = 10 * 60_000
/** No list goes further back. */
const OLDEST_MS = 29 * 24 * 3_600_000

/**
 * Finds events whose webhook was lost, in the lists of the providers: once in each interval, and at once after a start.
 *
 * @returns `list` lists them now, `listSoon` as soon as jobs run
 */
export function createEventList(
  { db, clock, log, jobs }: Pick<WireContext, 'db' | 'clock' | 'log' | 'jobs'>,
  {
    providers,
    events,
    intervalMs,
  }: {
    providers: ReadonlyMap<OperationProvider, PaymentProvider>
    events: PaymentEvents
    intervalMs: number
  },
): { list(): Promise<void>; listSoon(): Promise<void> } {
  async function listOne(name: OperationProvider, provider: PaymentProvider): Promise<void> {
    const now = clock.now()
    const cursor = await db.get<{ listed_until: number }>(
      sql`select listed_until from pay_event_cursors where provider = ${name}`,
    )
    // What happened before the first start concerns no transaction of this server.
    const until = Math.min(cursor?.listed_until ?? now, now)
    const since = Math.max(until - OVERLAP_MS, now - OLDEST_MS)
    const outcome = await guarded(() => provider.events(since, LIMIT_MS), {
      limitMs: LIMIT_MS,
      clock,
      isAccepted: (one) =>
        Array.isArray(one['events']) && one['events'].every(isEvent) && Number.isFinite(one['until']),
    })
    if (outcome.kind !== 'accepted') {
      const { kind, reason } = outcome
      log.warn(
        { provider: provider.name, outcome: kind, reason },
        'the events of a provider could not be listed',
      )
      if (!cursor) await setCursor(name, until)
      return
    }
    for (const event of outcome.events) if (event.subject) await events.store(name, event)
    await setCursor(name, Math.max(until, Math.min(outcome.until, now)))
  }

  const setCursor = (name: OperationProvider, until: number): Promise<unknown> =>
    db.write(sql`
      insert into pay_event_cursors (provider, listed_until) values (${name}, ${until})
      on conflict (provider) do update set listed_until = excluded.listed_until`)

  async function listAll(): Promise<void> {
    await Promise.all(Array.from(providers, ([name, provider]) => listOne(name, provider)))
  }

  const soon = jobs.define('pay.list-events-now', { payload: Type.Object({}) }, listAll)
  jobs.every('pay.list-events', intervalMs, listAll)
  return { list: listAll, listSoon: () => soon.enqueue({}, { id: 'pay-list-events-now' }) }
}
