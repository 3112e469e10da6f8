import { sql, type Sql } from '../../../../../../db/sql.ts'

/**
 * A predicate of SQL/JSON path in lax mode: https://www.postgresql.org/docs/18/functions-json.html#FUNCTIONS-SQLJSON-PATH
 * If it is not exact, it is true of what passes and of other values too.
 */
export type Predicate = { readonly text: string; readonly exact: boolean }

export const exactly = (text: string): Predicate => ({ text, exact: true })
export const atMost = ({ text }: Predicate): Predicate => ({ text, exact: false })

export const always = exactly('(1 == 1)')
export const never = exactly('(1 == 0)')

const isAlways = ({ text }: Predicate): boolean => text === always.text
const isNever = ({ text }: Predicate): boolean => text === never.text

const bracketed = ({ text }: Predicate): string => (text.startsWith('(') ? text : `(${text})`)

export function all(...parts: readonly Predicate[]): Predicate {
  if (parts.some(isNever)) return never
  const rest = parts.filter((part) => !isAlways(part))
  return { text: joined(rest, '&&') ?? always.text, exact: parts.every(({ exact }) => exact) }
}

export function any(...parts: readonly Predicate[]): Predicate {
  const rest = parts.filter((part) => !isNever(part))
  const exact = rest.every((part) => part.exact) || rest.some((part) => part.exact && isAlways(part))
  return rest.some(isAlways)
    ? { text: always.text, exact }
    : { text: joined(rest, '||') ?? never.text, exact }
}

const joined = (parts: readonly Predicate[], operator: '&&' | '||'): string | undefined =>
  parts.length < 2 ? parts[0]?.text : `(${parts.map(({ text }) => text).join(` ${operator} `)})`

/** @param of must not be "unknown" of any value */
export function not(of: Predicate): Predicate {
  if (isNever(of)) return always
  if (!of.exact) return atMost(always)
  return isAlways(of) ? never : exactly(`!${bracketed(of)}`)
}

export const isExists = ({ text }: Predicate): boolean => text.startsWith('exists(')

/** Whether the predicate is true of one of the values at `at`, or of the elements of one that is an array. */
export const exists = (at: string, of: Predicate): Predicate =>
  isNever(of) ? never : { text: `exists(${at} ? ${bracketed(of)})`, exact: of.exact }

/** Whether the predicate is true of the document in row `d`. A filter yields nothing where it is not, so never null. */
export const holds = (of: Predicate): Sql =>
  isAlways(of) ? sql`true` : sql`d.doc @? ${`$ ? ${bracketed(of)}`}::jsonpath`
