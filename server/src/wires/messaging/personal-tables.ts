import type { Database } from '../../db/database.ts'
import { isOneOf } from '../../db/is-one-of.ts'
import { sql, type Sql } from '../../db/sql.ts'
import type { NotYet } from '../../kernel/jobs/job.ts'
import type { DataSubject, PersonalTables } from '../../kernel/wire/personal-data.ts'

const PART = 500
/** How long it is waited for messages that are not settled. */
const WAIT_MS = 60_000

const isSettled = sql`status not in ('queued', 'sending')`

/** The recipients that are the person, up to the time from which on another one may have the address. */
const toPerson = ({ emails, phones, until }: DataSubject): Sql => sql`
  select r.message_id from messaging_recipients r join messaging_messages m on m.id = r.message_id
  where ${isOneOf('r.address', [...emails, ...phones])} and m.created_at <= ${until}`

/** Sent by the person, or to the person. */
const rows = (person: DataSubject): Sql => sql`(owner = ${person.id} or id in (${toPerson(person)}))`

/** What the tables of messages hold of persons. */
export const messagingTables = (db: Database): PersonalTables => ({
  messaging_messages: {
    about: 'messages',
    rows,
    exported: {
      id: 'value',
      channel: 'value',
      // Whom else a message was sent to is known to its sender.
      recipient: { kind: 'value', of: ({ id }) => sql`case when owner = ${id} then recipient end` },
      subject: 'value',
      template: 'value',
      status: 'value',
      created_at: 'time',
    },
    deletion: 'erased',
    erase: (person) => eraseMessages(db, person),
  },
  messaging_recipients: {
    rows: (person) => sql`
      ${isOneOf('address', [...person.emails, ...person.phones])} and message_id in (
        select id from messaging_messages where created_at <= ${person.until} and ${isSettled})`,
    key: ['address', 'message_id'],
    deletion: 'erased',
  },
})

/**
 * Deletes the messages of a person. Of one that others have sent to several recipients only the person is erased. Those that are not
 * settled are sent first, so that no other recipient is left out.
 */
async function eraseMessages(db: Database, person: DataSubject): Promise<NotYet | void> {
  const isToOthers = sql`exists (
    select 1 from messaging_recipients r
    where r.message_id = messaging_messages.id and not (${isOneOf('r.address', [...person.emails, ...person.phones])}))`
  const isForOthers = sql`((owner is null or owner <> ${person.id}) and ${isToOthers})`
  for (let deleted = PART; deleted === PART;) {
    const done = await db.write(sql`
      with part as materialized (
        select id from messaging_messages where ${rows(person)} and ${isSettled} and not ${isForOthers} limit ${PART})
      delete from messaging_messages where id in (select id from part) returning id`)
    deleted = done.length
  }
  await db.write(sql`
    update messaging_messages set recipient = 'erased', subject = null, history = null
    where id in (${toPerson(person)}) and ${isSettled} and ${isForOthers} and recipient <> 'erased'`)
  const waiting = await db.get(
    sql`select 1 as one from messaging_messages where ${rows(person)} and not (${isSettled}) limit 1`,
  )
  if (waiting) return { againInMs: WAIT_MS }
}
