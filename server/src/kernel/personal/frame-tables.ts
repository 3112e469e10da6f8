import { leastIdOf } from '../../base/ids.ts'
import { containsSql } from '../../db/contains.ts'
import type { Database } from '../../db/database.ts'
import { isOneOf } from '../../db/is-one-of.ts'
import { sql, type Sql } from '../../db/sql.ts'
import type { NotYet } from '../jobs/job.ts'
import { isOf, type DataSubject, type PersonalTables } from '../wire/personal-data.ts'
import type { Exports } from './exports.ts'
import { eraseMentions, findMentions, type SearchedTexts } from './mentions.ts'

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
      eraseMentions(
        db,
        {
          table: 'sixwire_log',
          key: 'id',
          within: sql`coalesce(path, '') || ' ' || coalesce(message, '') || ' ' || coalesce(fields, '')`,
          before: (time) => sql`id < ${leastIdOf(time + 1)}`,
          isOwn: isOf('caller'),
        },
        person,
        stopping,
      ),
  },
  sixwire_faults: {
    rows: () => sql`1 = 0`,
    key: ['fingerprint'],
    deletion: 'erased',
    erase: (person, { stopping }) =>
      eraseMentions(
        db,
        {
          table: 'sixwire_faults',
          key: 'fingerprint',
          within: sql`message || ' ' || coalesce(stack, '')`,
          before: (time) => sql`first_at <= ${time}`,
        },
        person,
        stopping,
      ),
  },
  sixwire_idempotency: {
    about: 'stored answers to repeated requests',
    rows: ({ id }) => sql`caller = ${`user:${id}`}`,
    key: ['caller', 'key'],
    deletion: 'erased',
  },
  sixwire_rate_limits: {
    rows: ({ id }) => containsSql(sql`bucket || ' '`, ` ${id} `),
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
    rows: isOfEvent,
    deletion: 'erased',
    erase: (person, { stopping }) => eraseDeliveries(db, person, stopping),
  },
  sixwire_jobs: {
    rows: () => sql`1 = 0`,
    deletion: 'erased',
    erase: (person, { stopping }) =>
      eraseMentions(
        db,
        {
          table: 'sixwire_jobs',
          key: 'id',
          within: sql`payload || ' ' || coalesce(last_error, '')`,
          before: wasCreatedBefore,
          where: sql`state = 'failed'`,
        },
        person,
        stopping,
      ),
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
        and ((target = ${target} and (reason is not null or old_value is not null or new_value is not null))
          or (${isBy(id)} and (ip is not null or user_agent is not null)))
      limit ${PART}`)
    if (rows.length === 0) return
    await db.batch([
      sql`update sixwire_audit_retention set is_clearing = 1`,
      sql`
        update sixwire_audit set
          reason = case when target = ${target} then null else reason end,
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

function isOfEvent({ id }: DataSubject): Sql {
  return sql`(record = ${id} or owner = ${id})`
}

const wasCreatedBefore = (time: number): Sql => sql`created_at <= ${time}`

const EVENTS: SearchedTexts = {
  table: 'sixwire_deliveries',
  key: 'id',
  within: sql`record || ' ' || coalesce(owner, '') || ' ' || source || ' ' || coalesce(last_error, '')`,
  before: wasCreatedBefore,
  isOwn: isOfEvent,
}

/** Events that are settled are deleted. Those that wait are sent first, because their receiver must learn of the deletion. */
async function eraseDeliveries(
  db: Database,
  person: DataSubject,
  stopping: AbortSignal,
): Promise<NotYet | void> {
  await eraseMentions(db, { ...EVENTS, where: sql`state <> 'waiting'` }, person, stopping)
  const waiting = await findMentions(db, { ...EVENTS, where: sql`state = 'waiting'` }, person, stopping)
  if (waiting.length > 0) return { againInMs: WAIT_MS }
}
