import { sql, type Sql } from '../../db/sql.ts'

/** Of an id of 26 characters, those that all deliveries of a publication have; the others count them. */
const BATCH_CHARACTERS = 20
const COUNT_CHARACTERS = 6

/** Where the records of events are read, and what of them. */
export type EventSource = {
  table: Sql
  where: Sql
  /** The id of the record. */
  record: Sql
  /** JSON text. */
  source: Sql
  /** What is published once; undefined: each time. */
  once: Sql | undefined
  /** The account that the record belongs to. */
  owner?: Sql | undefined
}

export type DeliveryState = 'waiting' | 'delivered' | 'failed'

/** A delivery as it is stored. */
export type DeliveryRow = {
  id: string
  event_id: string
  webhook: string
  type: string
  record: string
  source: string
  state: DeliveryState
  attempts: number
  first_attempt_at: number | null
  next_attempt_at: number | null
  last_status: number | null
  last_error: string | null
  delivered_at: number | null
  created_at: number
}

export const DELIVERY_COLUMNS = sql.literal(
  'id, event_id, webhook, type, record, source, state, attempts, first_attempt_at, next_attempt_at, last_status, last_error, delivered_at, created_at',
)

/**
 * Inserts a delivery for each record and webhook. Ids sort by time, and are counted in SQL, which knows how many records
 * there are.
 *
 * @param batch a new id
 */
export function insertDeliveriesSql(
  { table, where, record, source, once, owner }: EventSource,
  { batch, type, webhooks, now }: { batch: string; type: string; webhooks: readonly string[]; now: number },
): Sql {
  const prefix = batch.slice(0, BATCH_CHARACTERS)
  const counted = (number: Sql): Sql =>
    sql`cast(${prefix} as text) || substr('000000' || ${number}, length('000000' || ${number}) - ${sql.literal(String(COUNT_CHARACTERS - 1))})`
  const names = webhooks.map(
    (name, at) => sql`select ${sql.literal(String(at))} as number, cast(${name} as text) as name`,
  )
  const number = sql.literal(`cast((records.number * ${webhooks.length} + takers.number) as text)`)
  const eventId = sql`'evt_' || ${counted(sql.literal('cast(records.number as text)'))}`
  return sql`
    insert into sixwire_deliveries (id, event_id, webhook, once, type, record, source, owner, state, attempts, created_at)
    select ${counted(number)}, ${eventId}, takers.name, coalesce(records.once, ${eventId}), cast(${type} as text),
      records.record, records.source, records.owner, 'waiting', 0, cast(${now} as bigint)
    from (
      select row_number() over (order by ${record}) as number, ${record} as record, ${source} as source,
        cast(${once ?? null} as text) as once, cast(${owner ?? null} as text) as owner
      from ${table} where ${where}) records
    cross join (${sql.join(names, ' union all ')}) takers
    where true
    on conflict (webhook, once) do nothing`
}

/** The jobs of what `insertDeliveriesSql` has inserted for a webhook. */
export function insertedJobsSql(
  batch: string,
  webhook: string,
): Sql<{ id: string; payload: string; lane: string }> {
  const prefix = batch.slice(0, BATCH_CHARACTERS)
  const [first, last] = ['0', 'z'].map((character) => prefix + character.repeat(COUNT_CHARACTERS))
  return sql`${jobsSql(sql`id >= ${first!} and id <= ${last!} and webhook = ${webhook}`)}`
}

/** The jobs of deliveries. */
export const jobsSql = (where: Sql): Sql<{ id: string; payload: string; lane: string }> => sql`
  select 'delivery-' || id as id, '{"delivery":"' || id || '"}' as payload, record as lane
  from sixwire_deliveries where ${where} order by record, id`

export const jobIdOf = (delivery: string): string => `delivery-${delivery}`
