import { sql, type Sql } from './sql.ts'

/** The condition that a text is within another one, in the same case. */
export const containsSql = (within: Sql, text: string): Sql =>
  sql`${sql.either({ sqlite: sql.literal('instr'), postgres: sql.literal('strpos') })}(${within}, ${text}) > 0`

/** The pattern of `like … escape '!'` for what has a text in it. */
export const containsPattern = (text: string): string => `%${text.replaceAll(/[!%_]/g, '!$&')}%`
