import type { PipelineAnswer } from './postgres-pipeline.ts'
import { rowOf } from './postgres-values.ts'
import type { Row, Statement } from './sql.ts'

// Turned into a number by the server where there is no row, which it refuses with this text in its message.
const UNMET = 'sixwire: a required row is missing, rows: '

/** A statement that fails at the server unless it changes or returns a row. */
export type Required = { readonly statement: Statement; readonly returnsRows: boolean }

/**
 * Makes a statement fail at the server if it changes or returns no row, so that those before it in its pipeline are
 * undone without another round trip.
 *
 * @returns undefined for a statement that cannot stand inside of another one
 */
export function requiringRow({ text, params }: Statement): Required | undefined {
  const [, verb] = /^\s*(select|insert|update|delete)\b/i.exec(text) ?? []
  if (verb === undefined) return undefined
  const returnsRows = verb.toLowerCase() === 'select' || /\breturning\b/i.test(text)
  const required = `with required as (
${text}${returnsRows ? '' : '\nreturning 1'}
) select found.missing, required.* from (
  select case when count(*) = 0 then cast('${UNMET}' || count(*) as integer) end as missing from required
) as found left join required on true`
  return { statement: { text: required, params }, returnsRows }
}

/** The rows of the statement itself. */
export function rowsOfRequired({ columns, raw }: PipelineAnswer, { returnsRows }: Required): Row[] {
  return returnsRows ? raw.map((row) => rowOf(columns, row, 1)) : [{}]
}

/** Whether a statement failed because it found no row. */
export const isUnmet = (error: unknown): boolean => error instanceof Error && error.message.includes(UNMET)
