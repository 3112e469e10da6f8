import { sql, type Sql, type SqlScalar } from '../../../../db/sql.ts'
import type { Path } from '../language/query/path.ts'
import { jsonPath } from '../storage/sql/sqlite/json.ts'
import { EPOCH } from '../../../../base/zone-offsets.ts'
import type { Stages } from '../../../../kernel/aggregates/aggregate-engine.ts'
import type { DocumentEngine } from './document-engine.ts'

// Numbers below this one, with at most six decimals, are added as millionths.
const SIMPLE_MAX = sql.literal('1e9')

// All others are written as so many digits before and behind the point, of which each nine are added by themselves.
const INTEGER_DIGITS = 21
const DECIMALS = 24
const LIMB_DIGITS = 9
const LIMBS = (INTEGER_DIGITS + DECIMALS) / LIMB_DIGITS
const INTEGER_MAX = sql.literal(String(INTEGER_DIGITS))
const DECIMALS_MAX = sql.literal(String(DECIMALS))
const ZEROS = sql.literal(`'${'0'.repeat(INTEGER_DIGITS + DECIMALS)}'`)

const column = (name: string, n: number): Sql => sql.literal(`${name}${n}`)

/** Text and numbers as they are, of which SQLite has the order; the others as bytes behind the number of their type. */
function keySql(path: Path): Sql {
  const at = sql`d.doc, ${jsonPath(path)}`
  const value = sql`json_extract(${at})`
  return sql`case json_type(${at})
    when 'text' then ${value} when 'integer' then ${value} when 'real' then ${value}
    when 'true' then cast('6true' as blob) when 'false' then cast('6false' as blob)
    when 'object' then cast('4' || ${value} as blob) when 'array' then cast('5' || ${value} as blob) end`
}

const shownKeySql = (key: Sql): Sql => sql`case typeof(${key})
  when 'text' then '3' || ${key} when 'blob' then cast(${key} as text)
  when 'integer' then cast(${key} as real) else ${key} end`

/**
 * Numbers as decimals, because doubles would drift: `v` the number, `j` its JSON, `m` its millionths if it is a simple one.
 * Of another one `c` are the digits, with the point, and `e` its exponent, and `s` all digits that are added.
 */
function numberStages(path: Path, n: number): Stages {
  const v = column('v', n)
  const j = column('j', n)
  const m = column('m', n)
  const c = column('c', n)
  const e = column('e', n)
  const at = sql`d.doc, ${jsonPath(path)}`
  const isNumber = sql`json_type(${at}) in ('integer', 'real')`
  const millionths = sql`cast(round(${v} * 1000000.0) as integer)`
  const other = sql`${m} is null and ${v} is not null`
  const unsigned = sql`ltrim(${j}, '-')`
  const exponentAt = sql`instr(${j}, 'e')`
  const integerDigits = sql`(iif(instr(${c}, '.') = 0, length(${c}), instr(${c}, '.') - 1) + ${e})`
  const digits = sql`replace(${c}, '.', '')`
  const decimals = sql`(length(${digits}) - ${integerDigits})`
  return [
    [
      [`v${n}`, sql`case when ${isNumber} then json_extract(${at}) end`],
      [`j${n}`, sql`case when ${isNumber} then d.doc -> ${jsonPath(path)} end`],
    ],
    [
      [
        `m${n}`,
        sql`case when ${v} between -${SIMPLE_MAX} and ${SIMPLE_MAX} and ${millionths} / 1000000.0 = ${v} then ${millionths} end`,
      ],
    ],
    [
      [
        `c${n}`,
        sql`case when ${other} then iif(${exponentAt} = 0, ${unsigned}, substr(${unsigned}, 1, instr(${unsigned}, 'e') - 1)) end`,
      ],
      [
        `e${n}`,
        sql`case when ${other} then iif(${exponentAt} = 0, 0, cast(substr(${j}, ${exponentAt} + 1) as integer)) end`,
      ],
    ],
    [
      [
        `s${n}`,
        sql`case when ${integerDigits} <= ${INTEGER_MAX} and ${decimals} <= ${DECIMALS_MAX}
          then substr(${ZEROS}, 1, ${INTEGER_MAX} - ${integerDigits}) || ${digits}
            || substr(${ZEROS}, 1, ${DECIMALS_MAX} - ${decimals}) end`,
      ],
    ],
  ]
}

/** The sums of units and millionths, of the digits of others, and of numbers that have more digits, which are added as doubles. */
function sumSql(n: number): Sql {
  const v = column('v', n)
  const m = column('m', n)
  const c = column('c', n)
  const s = column('s', n)
  const limbs = Array.from({ length: LIMBS }, (_, i) => {
    const digits = sql.literal(`${i * LIMB_DIGITS + 1}, ${LIMB_DIGITS}`)
    return sql`sum(cast(substr(${s}, ${digits}) as integer) * iif(${v} < 0, -1, 1))`
  })
  const parts = [sql`sum(${m} / 1000000)`, sql`sum(${m} % 1000000)`, ...limbs].map(
    (one) => sql`coalesce(${one}, 0)`,
  )
  const far = sql`sum(case when ${c} is not null and ${s} is null then ${v} end)`
  return sql`${sql.join(parts, ` || ' ' || `)} || ' ' || coalesce(printf('%!.17g', ${far}), 0)`
}

function sumOf(text: SqlScalar | undefined): number {
  const parts = String(text).split(' ')
  const far = Number(parts.pop()!.replace('Inf', 'Infinity'))
  const [units, millionths, ...limbs] = parts.map(BigInt) as [bigint, bigint, ...bigint[]]
  let sum = units * 10n ** BigInt(DECIMALS) + millionths * 10n ** BigInt(DECIMALS - 6)
  for (const [i, limb] of limbs.entries()) sum += limb * 10n ** BigInt((LIMBS - 1 - i) * LIMB_DIGITS)
  return Number(`${sum}e-${DECIMALS}`) + far
}

const DIGITS = (count: number): string => '[0-9]'.repeat(count)
const DAY_FORM = `${DIGITS(4)}-${DIGITS(2)}-${DIGITS(2)}`
const TIME_FORM = `${DAY_FORM}[Tt]${DIGITS(2)}:${DIGITS(2)}*`
const OTHER_CHARACTERS = '*[^-+.:0-9TtZz]*'

/** `unixepoch` takes more than times with an offset, and rounds what is finer than a millisecond, so fractions are cut. */
function momentSql(text: Sql): Sql {
  const last = sql`substr(${text}, -1)`
  const minutes = sql`substr(${text}, 1, iif(substr(${text}, 17, 1) = ':', 19, 16))`
  const whole = sql`${minutes} || iif(${last} in ('Z', 'z'), 'Z', substr(${text}, -6))`
  const isTime = sql`${text} glob ${TIME_FORM} and substr(${text}, 12, 2) < '24' and ${text} not glob ${OTHER_CHARACTERS}
    and (${last} in ('Z', 'z') or substr(${text}, -6, 1) in ('+', '-')) and unixepoch(upper(${text})) is not null`
  return sql`${EPOCH} + case when ${text} < '0002' then null
    when ${text} glob ${DAY_FORM} then unixepoch(${text}) when ${isTime} then unixepoch(upper(${whole})) end`
}

function textSql(path: Path): Sql {
  const at = sql`d.doc, ${jsonPath(path)}`
  return sql`case when json_type(${at}) = 'text' then json_extract(${at}) end`
}

export const sqliteAggregates: DocumentEngine = {
  key: ({ path }) => keySql(path),
  shownKey: shownKeySql,
  numberStages: ({ path }, n) => numberStages(path, n),
  numbers: (n) => sql`count(${column('v', n)})`,
  sum: sumSql,
  sumOf,
  momentStages: ({ path }, n) => [[[`t${n}`, textSql(path)]], [[`x${n}`, momentSql(column('t', n))]]],
}
