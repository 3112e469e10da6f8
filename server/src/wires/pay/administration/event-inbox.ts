import { isoTime } from '../../../base/clock.ts'
import { errors } from '../../../base/errors.ts'
import { leastIdOf } from '../../../base/ids.ts'
import { parseJson } from '../../../base/json.ts'
import { requireRow, type Database, type Step } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import { cutPage, type Page } from '../../../http/page.ts'
import { payErrors } from '../errors.ts'
import type { OperationProvider } from '../providers/provider.ts'
import type { EventState } from '../inbox/provider-events.ts'

/** An event of a provider as an operator sees it. */
export type InboxEvent = {
  _id: string
  provider: OperationProvider
  /** The provider's id. */
  eventId: string
  type: string
  state: EventState
  /** Why it is ignored or failed. */
  reason?: string
  transactionId?: string
  attempts: number
  receivedAt: string
  /** When it is handled next; absent: not again. */
  nextAttemptAt?: string
}

export type InboxEventDetails = InboxEvent & {
  /** What it is about: the ids by which the payment is found. */
  subject?: Record<string, unknown>
  /** The body, masked. */
  payload?: Record<string, unknown>
}

/** The filters of the list; times are milliseconds since 1970, `from` inclusive, `to` exclusive. */
export type InboxQuery = {
  provider?: OperationProvider
  state?: EventState
  type?: string
  eventId?: string
  transactionId?: string
  from?: number
  to?: number
}

type InboxRow = {
  id: string
  provider: OperationProvider
  event_id: string
  type: string
  state: EventState
  result: string | null
  transaction_id: string | null
  attempts: number
  received_at: number
  due_at: number | null
}

const COLUMNS = sql.literal(
  'id, provider, event_id, type, state, result, transaction_id, attempts, received_at, due_at',
)

/** The condition of the events that meet all filters. */
const eventsSql = ({ provider, state, type, eventId, transactionId, from, to }: InboxQuery): Sql =>
  sql.join(
    [
      sql`id is not null`,
      ...(provider === undefined ? [] : [sql`provider = ${provider}`]),
      ...(state === undefined ? [] : [sql`state = ${state}`]),
      ...(type === undefined ? [] : [sql`type = ${type}`]),
      ...(eventId === undefined ? [] : [sql`event_id = ${eventId}`]),
      ...(transactionId === undefined ? [] : [sql`transaction_id = ${transactionId}`]),
      ...(from === undefined ? [] : [sql`id >= ${leastIdOf(from)}`]),
      ...(to === undefined ? [] : [sql`id < ${leastIdOf(to)}`]),
    ],
    ' and ',
  )

/** Reads a page of the events, newest first. */
export async function listEvents(
  db: Database,
  query: InboxQuery,
  page: Page,
): Promise<{ events: InboxEvent[]; total?: number; nextCursor?: string }> {
  const { limit, offset, before, counts = true } = page
  const place = before === undefined ? sql`` : sql`and id < ${before}`
  const [rows, counted] = await Promise.all([
    db.scan(sql<InboxRow>`
      select ${COLUMNS} from pay_events where ${eventsSql(query)} ${place}
      order by id desc limit ${limit + 1} offset ${offset}`),
    counts
      ? db.scan<{ total: number }>(sql`select count(*) as total from pay_events where ${eventsSql(query)}`)
      : [],
  ])
  const { rows: shown, ...rest } = cutPage(rows, page, ({ id }) => id)
  return { events: shown.map(eventOf), ...counted[0], ...rest }
}

/** @throws NOT_FOUND */
export async function getEvent(db: Database, id: string): Promise<InboxEventDetails> {
  const row = await db.get<InboxRow & { subject: string | null; payload: string | null }>(
    sql`select ${COLUMNS}, subject, payload from pay_events where id = ${id}`,
  )
  if (!row) throw errors.not_found({ message: `There is no event ${JSON.stringify(id)}.` })
  const objectIn = (text: string): Record<string, unknown> => parseJson(text) as Record<string, unknown>
  return {
    ...eventOf(row),
    ...(row.subject !== null && { subject: objectIn(row.subject) }),
    ...(row.payload !== null && { payload: objectIn(row.payload) }),
  }
}

/**
 * Has an event handled again from its first attempt on. That is harmless: the provider is asked what it has, and only what is
 * new is recorded. One that is being handled at this moment is left alone.
 *
 * @param steps for the same batch
 * @throws NOT_FOUND, INVALID_STATE if it is of a kind that is not used
 */
export async function replayEvent(
  { db, now }: { db: Database; now: number },
  id: string,
  steps: readonly Step[],
): Promise<void> {
  const { subject } = await getEvent(db, id)
  if (!subject)
    throw payErrors.invalid_state({ message: 'Events of this type are not used: nothing would be done.' })
  try {
    await db.batch([
      requireRow(
        sql`update pay_events set due_at = ${now}, attempts = 0, process = null, state = 'pending', result = null
          where id = ${id} and subject is not null and (due_at is null or process is null) returning id`,
        () => beingHandled,
      ),
      ...steps,
    ])
  } catch (error) {
    if (error !== beingHandled) throw error
  }
}

const beingHandled = errors.unavailable()

const eventOf = (row: InboxRow): InboxEvent => ({
  _id: row.id,
  provider: row.provider,
  eventId: row.event_id,
  type: row.type,
  state: row.state,
  ...(row.result !== null && row.state !== 'done' && { reason: row.result }),
  ...(row.transaction_id !== null && { transactionId: row.transaction_id }),
  attempts: row.attempts,
  receivedAt: isoTime(row.received_at),
  ...(row.due_at !== null && { nextAttemptAt: isoTime(row.due_at) }),
})
