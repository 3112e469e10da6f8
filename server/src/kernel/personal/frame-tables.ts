import { containsSql } from '../../db/contains.ts'
import type { Database } from '../../db/database.ts'
import { isOneOf } from '../../db/is-one-of.ts'
import { sql, type Sql } from '../../db/sql.ts'
import type { NotYet } from '../jobs/job.ts'
import { isOf, type DataSubject, type PersonalTables } from '../wire/personal-data.ts'
import type { Exports } from './exports.ts'

const PART = 500
/** How long an event that waits for its webhook is waited for, before it is looked at again. */
const WAIT_MS = 3_600_000

/** What the tables of the frame hold of persons. */
export const frameTables = (db: Database, exports: Pick<Exports, 'remove'>): PersonalTables => ({
  sixwire_audit: {
    about: 'entries of the audit log',
    rows: ({ id }) => sql`(actor_id = ${id} or target = ${`user:${id}`})`,
    exported: {
      id: 'value',
      created_at: 'time',
      action: 'value',
      target: 'value',
      outcome: 'value',
      route: 'value',
      // Of an entry that another person has caused only what happened is the person's own.
      ip: { kind: 'value', of: ownOnly('ip') },
      user_agent: { kind: 'value', of: ownOnly('user_agent') },
    },
    deletion: {
      keeps: 'who changed accounts, money and keys has to be proven later. They have the id only',
    },
    erase: (person) => clearAudit(db, person),
  },
  sixwire_log: {
    about: 'requests in the log',
    rows: isOf('caller'),
    exported: {
      id: 'value',
      method: 'value',
      path: 'value',
      status: 'value',
      ip: 'value',
    },
    deletion: 'erased',
    erase: (person, { stopping }) =>
      eraseMentions(db, 'sixwire_log', {
        key: 'id',
        within: sql`coalesce(path, '') || ' ' || coalesce(message, '') || ' ' || coalesce(fields, '') || ' ' || coalesce(caller, '')`,
        person,
        stopping,
      }),
  },
  sixwire_faults: {
    rows: () => sql`1 = 0`,
    key: ['fingerprint'],
    deletion: 'erased',
    erase: (person, { stopping }) =>
      eraseMentions(db, 'sixwire_faults', {
        key: 'fingerprint',
        within: sql`message || ' ' || coalesce(stack, '')`,
        person,
        stopping,
      }),
  },
  sixwire_idempotency: {
    about: 'stored answers to repeated requests',
    rows: ({ id }) => sql`caller = ${`user:${id}`}`,
    key: ['caller', 'key'],
    deletion: 'erased',
  },
  sixwire_rate_limits: {
    rows: ({ id }) => sql`${containsSql(sql`bucket`, id)}`,
    key: ['bucket'],
    deletion: 'erased',
  },
  sixwire_counts: {
    rows: ({ id }) => sql`owner = ${id} and not exists (
      select 1 from sixwire_counts as c where c.list = sixwire_counts.list and c.owner = sixwire_counts.owner
      group by c.list having sum(c.records) <> 0)`,
    key: ['list', 'owner', 'slot'],
    deletion: 'erased',
  },
  sixwire_facet_counts: {
    rows: ({ id }) => sql`owner = ${id} and not exists (
      select 1 from sixwire_facet_counts as c where c.list = sixwire_facet_counts.list
        and c.owner = sixwire_facet_counts.owner
      group by c.list having sum(abs(c.records)) <> 0)`,
    key: ['list', 'owner', 'facets', 'slot'],
    deletion: 'erased',
  },
  sixwire_deliveries: {
    about: 'events for webhooks',
    rows: ({ id }) => sql`(record = ${id} or owner = ${id})`,
    deletion: 'erased',
    erase: (person, { stopping }) => eraseDeliveries(db, person, stopping),
  },
  sixwire_jobs: {
    rows: () => sql`1 = 0`,
    deletion: 'erased',
    erase: (person, { stopping }) =>
      eraseMentions(db, 'sixwire_jobs', {
        key: 'id',
        within: sql`payload || ' ' || coalesce(last_error, '')`,
        also: sql`state = 'failed'`,
        person,
        stopping,
      }),
  },
  sixwire_moves: { isNobodys: 'the owner of a move is a command' },
  sixwire_exports: {
    about: 'exports of these data',
    rows: isOf('account'),
    key: ['account'],
    deletion: 'erased',
    // With the archive.
    erase: ({ id }) => exports.remove(id),
  },
})

const ownOnly =
  (column: string) =>
  ({ id }: DataSubject): Sql =>
    sql`case when actor_id = ${id} then ${sql.literal(column)} end`

/**
 * Takes what is personal out of the entries of an account. What refuses to change entries is open within each batch only, and for
 * nothing else.
 */
async function clearAudit(db: Database, { id }: DataSubject): Promise<void> {
  const target = `user:${id}`
  for (;;) {
    const rows = await db.all(sql<{ id: string }>`
      select id from sixwire_audit
      where (actor_id = ${id} or target = ${target} or impersonator_id = ${id})
        and (reason is not null or (target = ${target} and (old_value is not null or new_value is not null))
          or (${isBy(id)} and (ip is not null or user_agent is not null)))
      limit ${PART}`)
    if (rows.length === 0) return
    await db.batch([
      sql`update sixwire_audit_retention set is_clearing = 1`,
      sql`
        update sixwire_audit set reason = null,
          old_value = case when target = ${target} then null else old_value end,
          new_value = case when target = ${target} then null else new_value end,
          ip = case when ${isBy(id)} then null else ip end,
          user_agent = case when ${isBy(id)} then null else user_agent end
        where ${isOneOf(
          'id',
          rows.map((row) => row.id),
        )}`,
      sql`update sixwire_audit_retention set is_clearing = 0`,
    ])
  }
}

/** Whether the person has caused an entry, or may have, before a sign-in. */
const isBy = (id: string): Sql =>
  sql`(actor_id = ${id} or impersonator_id = ${id} or actor_kind = 'stranger')`

/** Deletes the rows whose texts have the id of the account, an address or a number of it. */
async function eraseMentions(
  db: Database,
  table: string,
  {
    key,
    within,
    also = sql`1 = 1`,
    person,
    stopping,
  }: { key: string; within: Sql; also?: Sql; person: DataSubject; stopping: AbortSignal },
): Promise<void> {
  const [from, column] = [sql.literal(table), sql.literal(key)]
  const found = await db.scan<{ key: string }>(
    sql`select ${column} as key from ${from} where ${also} and (${mentions(within, person)})`,
    { limitMs: SCAN_MS, signal: stopping },
  )
  for (let at = 0; at < found.length; at += PART) {
    const keys = found.slice(at, at + PART).map((row) => row.key)
    await db.write(sql`delete from ${from} where ${isOneOf(key, keys)} and ${also}`)
  }
}

const SCAN_MS = 10 * 60_000

const mentions = (within: Sql, { id, emails, phones }: DataSubject): Sql =>
  [...emails, ...phones].reduce(
    (condition, text) => sql`${condition} or ${containsSql(sql`lower(${within})`, text)}`,
    containsSql(within, id),
  )

const EVENT = sql`record || ' ' || coalesce(owner, '') || ' ' || source || ' ' || coalesce(last_error, '')`

/** Events that are settled are deleted. Those that wait are sent first: whoever receives them has to know of the deletion. */
async function eraseDeliveries(
  db: Database,
  person: DataSubject,
  stopping: AbortSignal,
): Promise<NotYet | void> {
  await eraseMentions(db, 'sixwire_deliveries', {
    key: 'id',
    within: EVENT,
    also: sql`state <> 'waiting'`,
    person,
    stopping,
  })
  const [waiting] = await db.scan(
    sql`select 1 as one from sixwire_deliveries where state = 'waiting' and (${mentions(EVENT, person)}) limit 1`,
    { limitMs: SCAN_MS, signal: stopping },
  )
  if (waiting) return { againInMs: WAIT_MS }
}
