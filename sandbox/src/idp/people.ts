import { randomInt } from 'node:crypto'

import { isoTime } from '../../../server/src/base/clock.ts'
import { parseAddress } from '../../../server/src/base/email-address.ts'
import { invalid } from '../../../server/src/base/errors.ts'
import { sql } from '../../../server/src/db/sql.ts'
import type { StandInContext } from '../stand-in.ts'

/** A person who has an account at both identity providers of the sandbox. */
export type Person = {
  /** The subject that both providers assert; digits. */
  readonly id: string
  readonly name: string
  readonly email: string
  /** Whether the providers assert that the address is verified. */
  readonly verified: boolean
  readonly createdAt: string
}

/** The fields of a person as they were sent, unchecked. */
export type PersonInput = { name?: unknown; email?: unknown; verified?: unknown }

export type People = {
  /** All people, in the order in which they were added. */
  all(): Promise<Person[]>
  /** Finds a person by id, or else the first one with this address. */
  find(idOrEmail: string): Promise<Person | undefined>
  /** @throws VALIDATION_ERROR with paths that begin with `at` */
  add(input: PersonInput, at: string): Promise<Person>
  /**
   * Changes the fields that are sent, never the id; returns undefined if no person has this id.
   *
   * @throws VALIDATION_ERROR
   */
  change(id: string, input: PersonInput, at: string): Promise<Person | undefined>
  /** Adds the first people. */
  start(): Promise<void>
  /** Deletes everybody but the first people, and undoes changes to them. */
  reset(): Promise<void>
}

type Row = { id: string; name: string; email: string; verified: number; created_at: number }
type Fields = { name?: string; email?: string; verified?: boolean }

const NAME_MAX = 100

const FIRST_PEOPLE = [
  { id: '100000001', name: 'Ada Lovelace', email: 'ada@example.com', verified: true },
  { id: '100000002', name: 'Grace Hopper', email: 'grace@example.com', verified: true },
  { id: '100000003', name: 'Mallory', email: 'mallory@example.com', verified: false },
] as const
const FIRST_CREATED_AT = Date.UTC(2026, 0, 1)
// Above the ids of the first people, and within 32 bits, in which a client may store GitHub's ids.
const FIRST_ID = 100_001_000
const LAST_ID = 2_147_483_647

/** The number of added people that are kept. The oldest are deleted, unless a grant for them is still valid. */
export const ADDED_KEPT = 100

const columns = sql.literal('id, name, email, verified, created_at')

const personOf = ({ id, name, email, verified, created_at }: Row): Person => ({
  id,
  name,
  email,
  verified: verified === 1,
  createdAt: isoTime(created_at),
})

function read({ name, email, verified }: PersonInput, at: string): Fields {
  const fields: Fields = {}
  if (name !== undefined) {
    if (typeof name !== 'string' || name.trim() === '' || name.trim().length > NAME_MAX)
      throw invalid({ path: `${at}/name`, message: `Write a name of 1 to ${NAME_MAX} characters.` })
    fields.name = name.trim()
  }
  if (email !== undefined) {
    if (typeof email !== 'string') throw invalid({ path: `${at}/email`, message: 'Write an email address.' })
    fields.email = parseAddress(email, `${at}/email`).address
  }
  if (verified !== undefined) {
    if (typeof verified !== 'boolean')
      throw invalid({ path: `${at}/verified`, message: 'Write true or false.' })
    fields.verified = verified
  }
  return fields
}

const addedSql = sql`id not in (${sql.join(
  FIRST_PEOPLE.map(({ id }) => sql`${id}`),
  ', ',
)})`

export function createPeople({ db, clock }: Pick<StandInContext, 'db' | 'clock'>): People {
  return {
    async all() {
      const rows = await db.all<Row>(sql`select ${columns} from sandbox_people order by created_at, id`)
      return rows.map(personOf)
    },

    async find(idOrEmail) {
      const row = await db.get<Row>(sql`
        select ${columns} from sandbox_people where id = ${idOrEmail} or lower(email) = lower(${idOrEmail})
        order by case when id = ${idOrEmail} then 0 else 1 end, created_at, id limit 1`)
      return row && personOf(row)
    },

    async add(input, at) {
      const { name, email, verified = true } = read(input, at)
      if (email === undefined) throw invalid({ path: `${at}/email`, message: 'Write an email address.' })
      const id = String(randomInt(FIRST_ID, LAST_ID))
      const now = clock.now()
      const [rows] = await db.batch([
        sql`insert into sandbox_people (id, name, email, verified, created_at)
            values (${id}, ${name ?? email.split('@')[0]!}, ${email}, ${verified ? 1 : 0}, ${now})
            returning ${columns}`,
        sql`delete from sandbox_people where ${addedSql}
              and (created_at, id) <= (select created_at, id from sandbox_people where ${addedSql}
                order by created_at desc, id desc limit 1 offset ${ADDED_KEPT})
              and id <> ${id} -- the newest, whatever the clock says
              and id not in (select person_id from sandbox_codes where expires_at > ${now})
              and id not in (select person_id from sandbox_tokens where expires_at > ${now})`,
      ])
      return personOf(rows[0] as Row)
    },

    async change(id, input, at) {
      const { name, email, verified } = read(input, at)
      const [row] = await db.write<Row>(sql`
        update sandbox_people set
          name = coalesce(${name ?? null}, name),
          email = coalesce(${email ?? null}, email),
          verified = coalesce(${verified === undefined ? null : verified ? 1 : 0}, verified)
        where id = ${id} returning ${columns}`)
      return row && personOf(row)
    },

    async start() {
      await db.batch(firstPeopleSql())
    },

    async reset() {
      await db.batch([sql`delete from sandbox_people`, ...firstPeopleSql()])
    },
  }
}

/** They sort before all people who are added, whatever the time. */
const firstPeopleSql = () =>
  FIRST_PEOPLE.map(
    ({ id, name, email, verified }, at) => sql`
      insert into sandbox_people (id, name, email, verified, created_at)
      values (${id}, ${name}, ${email}, ${verified ? 1 : 0}, ${FIRST_CREATED_AT + at}) on conflict (id) do nothing`,
  )
