// The tables of PocketBase, from 0.23 on: https://pocketbase.io/docs/collections/
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

import { StartError } from '../../base/start-error.ts'

/** A field of a collection: what of it says how its values are read. */
export type PocketbaseField = {
  readonly name: string
  readonly type: string
  readonly system?: boolean
  readonly hidden?: boolean
  readonly required?: boolean
  readonly onlyInt?: boolean
  readonly maxSelect?: number
  readonly values?: readonly string[]
  readonly collectionId?: string
  readonly cascadeDelete?: boolean
  readonly onCreate?: boolean
  readonly onUpdate?: boolean
}

/** A rule: null is for superusers only, an empty one for everybody. */
export type PocketbaseRule = string | null

export const RULES = ['listRule', 'viewRule', 'createRule', 'updateRule', 'deleteRule'] as const

export type PocketbaseCollection = Readonly<Record<(typeof RULES)[number], PocketbaseRule>> & {
  readonly id: string
  readonly name: string
  readonly type: 'base' | 'auth' | 'view'
  readonly system: boolean
  readonly fields: readonly PocketbaseField[]
  /** SQL. */
  readonly indexes: readonly string[]
  /** Who of an auth collection may sign in. */
  readonly authRule: PocketbaseRule
}

/** A record as SQLite has it. */
export type PocketbaseRow = Readonly<Record<string, string | number | bigint | null>>

/** Whether a field holds an array. */
export const isMultiple = ({ maxSelect = 0 }: PocketbaseField): boolean => maxSelect > 1

/** Opens the database of a folder `pb_data` to be read. @throws StartError */
export function openPocketbaseData(dir: string) {
  const file = join(dir, 'data.db')
  if (!existsSync(file)) throw new StartError(`${file}: there is no such file: name the folder pb_data`)
  const db = openFile(file)
  const numberIn = (text: string): number => Number([...rows(text)][0]!['n'])
  const rows = (text: string): Iterable<PocketbaseRow> => {
    const statement = db.prepare(text)
    statement.setReadBigInts(true)
    return statement.iterate() as Iterable<PocketbaseRow>
  }
  return {
    collections: () => collectionsOf(file, rows),
    rows: (table: string) => rows(`select * from ${quoted(table)}`),
    count: (table: string): number => numberIn(`select count(*) as n from ${quoted(table)}`),
    /** How many email addresses are in several tables. */
    sharedAddresses: (tables: readonly string[]): number =>
      numberIn(`select count(*) as n from (
        select 1 from (${tables.map((table) => `select lower(email) as email from ${quoted(table)}`).join(' union all ')})
        where email != '' group by email having count(*) > 1)`),
    close: () => db.close(),
  }
}

export type PocketbaseData = ReturnType<typeof openPocketbaseData>

function openFile(file: string): DatabaseSync {
  try {
    return new DatabaseSync(file, { readOnly: true })
  } catch (cause) {
    throw new StartError(`${file} cannot be read: ${(cause as Error).message}`, { cause })
  }
}

function collectionsOf(
  file: string,
  rows: (text: string) => Iterable<PocketbaseRow>,
): readonly PocketbaseCollection[] {
  try {
    return [...rows('select * from _collections order by rowid')].map((row) => ({
      ...(row as unknown as PocketbaseCollection),
      system: Number(row['system']) !== 0,
      fields: JSON.parse(row['fields'] as string) as PocketbaseField[],
      indexes: JSON.parse(row['indexes'] as string) as string[],
      authRule: authRuleOf(row['options'] as string),
    }))
  } catch (cause) {
    throw new StartError(
      `${file} has no collections of PocketBase 0.23 or later (${(cause as Error).message}): start it once with a current version, which brings it up to date`,
      { cause },
    )
  }
}

function authRuleOf(options: string): PocketbaseRule {
  const { authRule = '' } = JSON.parse(options) as { authRule?: PocketbaseRule }
  return authRule
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`
