import { sql, type Dialect, type Sql, type SqlScalar } from '../../db/sql.ts'
import type { Stages } from './aggregate-engine.ts'

// Amounts are decimal text of up to 78 digits in units of up to 77 decimal places. PostgreSQL adds them as numeric. SQLite adds
// integers: millionths of those that have up to twelve digits and six places, which are nearly all; of others all digits before
// and behind the point, twelve at a time, whose sums fit 64 bits up to nine million rows.
const PLACES = 77
const LIMB_DIGITS = 12
const LIMBS = 13
const DIGITS = LIMB_DIGITS * LIMBS
const SIMPLE_DIGITS = 12
const SIMPLE_PLACES = 6

const zeros = (count: number): Sql => sql.literal(`'${'0'.repeat(count)}'`)
const number = (value: number): Sql => sql.literal(String(value))
const column = (name: string, n: number): Sql => sql.literal(`${name}${n}`)

/** All digits of an amount, as many before and behind the point as of any other. */
function paddedSql(amount: Sql, exponent: Sql): Sql {
  const digits = sql`${zeros(DIGITS)} || ${amount} || substr(${zeros(PLACES)}, 1, ${number(PLACES)} - ${exponent})`
  return sql`${sql.either({
    sqlite: sql`substr(${digits}, ${number(-DIGITS)})`,
    postgres: sql`right(${digits}, ${number(DIGITS)})`,
  })}`
}

/** Text that compares as amounts do; behind the digits is the exponent, with which it is answered. */
export const amountKey = (amount: Sql, exponent: Sql): Sql =>
  sql`${paddedSql(amount, exponent)} || ',' || cast(${exponent} as text) ${sql.either({ sqlite: sql.literal(''), postgres: sql.literal('collate "C"') })}`

/** The amount of a key: `12.30`. */
export function amountOfKey(key: string): string {
  const [digits, places] = key.split(',') as [string, string]
  return decimalText(BigInt(digits) / 10n ** BigInt(PLACES - Number(places)), Number(places))
}

/** `v` the amount as the engine adds it, `e` its exponent, and on SQLite `m` its millionths, or else `s` its digits. */
export function amountStages(dialect: Dialect, amount: Sql, exponent: Sql, n: number): Stages {
  if (dialect === 'postgres') return [[[`v${n}`, sql`cast(${amount} || 'e-' || ${exponent} as numeric)`]]]
  const [v, e, m] = [column('v', n), column('e', n), column('m', n)]
  const powers = Array.from(
    { length: SIMPLE_PLACES + 1 },
    (_, places) => sql`when ${number(places)} then ${number(10 ** (SIMPLE_PLACES - places))}`,
  )
  return [
    [
      [`v${n}`, amount],
      [`e${n}`, exponent],
    ],
    [
      [
        `m${n}`,
        sql`case when length(${v}) <= ${number(SIMPLE_DIGITS)} then cast(${v} as integer) * case ${e} ${sql.join(powers, ' ')} end end`,
      ],
    ],
    [[`s${n}`, sql`case when ${m} is null then ${paddedSql(v, e)} end`]],
  ]
}

/** The sum as text: of PostgreSQL a decimal, of SQLite its parts and the most decimal places. */
export function amountSumSql(dialect: Dialect, n: number): Sql {
  const [e, m, s] = [column('e', n), column('m', n), column('s', n)]
  if (dialect === 'postgres') return sql`cast(sum(${column('v', n)}) as text)`
  const limbs = Array.from(
    { length: LIMBS },
    (_, i) => sql`sum(cast(substr(${s}, ${number(1 + i * LIMB_DIGITS)}, ${number(LIMB_DIGITS)}) as integer))`,
  )
  const parts = [sql`sum(${m} / 1000000)`, sql`sum(${m} % 1000000)`, ...limbs].map(
    (one) => sql`coalesce(${one}, 0)`,
  )
  return sql`${sql.join(parts, ` || ' ' || `)} || ' ' || max(${e})`
}

/** A decimal as its digits, and how many of them are behind the point. */
export type Decimal = { readonly digits: bigint; readonly places: number }

/** Reads a sum of either engine; undefined if nothing was added. */
export function amountSumOf(sum: SqlScalar | undefined): Decimal | undefined {
  if (typeof sum !== 'string') return undefined
  if (!sum.includes(' ')) {
    const [whole, fraction = ''] = sum.split('.') as [string, string?]
    return { digits: BigInt(whole + fraction), places: fraction.length }
  }
  const parts = sum.split(' ')
  const places = Number(parts.pop())
  const [units, millionths, ...limbs] = parts.map(BigInt) as [bigint, bigint, ...bigint[]]
  let digits = units * 10n ** BigInt(PLACES) + millionths * 10n ** BigInt(PLACES - SIMPLE_PLACES)
  for (const [i, limb] of limbs.entries()) digits += limb * 10n ** BigInt((LIMBS - 1 - i) * LIMB_DIGITS)
  return { digits: digits / 10n ** BigInt(PLACES - places), places }
}

/** A decimal with all its places: `12.30`. */
export function decimalText(digits: bigint, places: number): string {
  const text = digits.toString().padStart(places + 1, '0')
  return places === 0 ? text : `${text.slice(0, -places)}.${text.slice(-places)}`
}
