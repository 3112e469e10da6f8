import { containsSql } from '../../db/contains.ts'
import type { Database } from '../../db/database.ts'
import { isOneOf } from '../../db/is-one-of.ts'
import { sql, type Sql } from '../../db/sql.ts'
import type { DataSubject } from '../wire/personal-data.ts'

const PART = 500
const SCAN_MS = 10 * 60_000
/** A shorter id, such as an imported `17`, is a word of any text: its rows are known by their columns only. */
const LEAST_ID_CHARACTERS = 10

/** The rows of a table whose texts may name a person. */
export type SearchedTexts = {
  readonly table: string
  readonly key: string
  readonly within: Sql
  /** The condition that a row was there at a time: an address may be another person's later. */
  readonly before: (time: number) => Sql
  /** The condition that a row is the person's, whatever its texts say. */
  readonly isOwn?: (person: DataSubject) => Sql
  readonly where?: Sql
}

/** The keys of the rows that name the id of the account, an address or a number of it, as a whole word and not within another one. */
export async function findMentions(
  db: Database,
  { table, key, within, before, isOwn = () => sql`1 = 0`, where = sql`1 = 1` }: SearchedTexts,
  person: DataSubject,
  stopping: AbortSignal,
): Promise<string[]> {
  const ids = person.id.length < LEAST_ID_CHARACTERS ? [] : [person.id]
  const addresses = [...person.emails, ...person.phones]
  const own = isOwn(person)
  const rows = await db.scan<{ key: string; text: string }>(
    sql`
      select ${sql.literal(key)} as key, case when ${own} then '' else ${within} end as text
      from ${sql.literal(table)}
      where ${where} and (${own} or ${hasOne(within, ids)}
        or (${before(person.until)} and ${hasOne(sql`lower(${within})`, addresses)}))`,
    { limitMs: SCAN_MS, signal: stopping },
  )
  const names = wholeWords([...ids, ...addresses])
  return rows.filter(({ text }) => text === '' || names.test(text)).map((row) => row.key)
}

/** Deletes the rows that name a person. */
export async function eraseMentions(
  db: Database,
  texts: SearchedTexts,
  person: DataSubject,
  stopping: AbortSignal,
): Promise<void> {
  const { table, key, where = sql`1 = 1` } = texts
  const keys = await findMentions(db, texts, person, stopping)
  for (let at = 0; at < keys.length; at += PART)
    await db.write(
      sql`delete from ${sql.literal(table)} where ${isOneOf(key, keys.slice(at, at + PART))} and ${where}`,
    )
}

const hasOne = (within: Sql, texts: readonly string[]): Sql =>
  texts.length === 0
    ? sql`1 = 0`
    : sql`(${sql.join(
        texts.map((text) => containsSql(within, text)),
        ' or ',
      )})`

/** `ann@x.co` is not in `joann@x.com`; before it may be a line break as JSON writes it. */
const wholeWords = (texts: readonly string[]): RegExp =>
  new RegExp(
    String.raw`(?:(?<![\w.+@-])|(?<=\\[nrt]))(?:${texts.map((text) => RegExp.escape(text)).join('|')})(?![\w@-]|\.\w)`,
    'i',
  )
