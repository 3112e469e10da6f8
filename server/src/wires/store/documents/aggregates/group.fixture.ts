import type { Json, JsonObject } from '../language/query/filter.ts'
import type { DocumentAggregate } from './aggregate.ts'
import { ACCUMULATORS, type Accumulator } from '../../../../kernel/aggregates/aggregate-request.ts'

// What MongoDB's $group answers, and the rules of this server where it has others, said once more and in another way.

export type GroupQuery = { readonly [K in Accumulator]?: string } & {
  readonly by?: string
  readonly timeZone?: string
  readonly sort?: string
}

const TYPES = ['null', 'number', 'string', 'object', 'array', 'boolean']
const typeOf = (value: Json): number =>
  TYPES.indexOf(value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value)

/** Objects and arrays compare by their JSON. */
function compare(a: Json, b: Json): number {
  if (typeOf(a) !== typeOf(b)) return typeOf(a) - typeOf(b)
  if (a === null) return 0
  if (typeof a === 'number' || typeof a === 'boolean') return Number(a) - Number(b)
  const [one, other] = [a, b].map((value) =>
    Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)),
  )
  return Buffer.compare(one!, other!)
}

/** The value at a path through objects; null for a missing one. */
function valueAt(document: Json, path: string): Json {
  let value = document
  for (const part of path.split('.')) {
    if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, part))
      return null
    value = (value as JsonObject)[part]!
  }
  return value
}

const TIME = /^(?!000[01])\d{4}-\d\d-\d\d(T([01]\d|2[0-3]):\d\d(:\d\d(\.\d+)?)?(Z|[+-](0\d|1[0-4]):\d\d))?$/i

const localTimes = new Map<string, Intl.DateTimeFormat>()

/** What clocks of a zone show, as if it were UTC. */
function localOf(moment: number, timeZone: string): number {
  let format = localTimes.get(timeZone)
  if (!format) {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone,
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
      hourCycle: 'h23',
    })
    localTimes.set(timeZone, format)
  }
  const parts = Object.fromEntries(
    format.formatToParts(moment).map(({ type, value }) => [type, Number(value)]),
  )
  return Date.UTC(
    parts['year']!,
    parts['month']! - 1,
    parts['day'],
    parts['hour'],
    parts['minute'],
    parts['second'],
  )
}

const HOUR = 3_600_000
const MINUTE = 60_000

/** The text of a slot's beginning: found by going forward from before it, minute by minute. */
function slotOf(value: Json, slot: string, timeZone: string): Json {
  const moment = typeof value === 'string' && TIME.test(value) ? Date.parse(value.toUpperCase()) : Number.NaN
  if (Number.isNaN(moment)) return null
  const local = localOf(moment, timeZone)
  if (slot === 'hour') return textOf(moment - (local % HOUR) - (moment % 1000), timeZone)
  const day = new Date(local)
  const begin = Date.UTC(
    day.getUTCFullYear(),
    day.getUTCMonth(),
    slot === 'month' ? 1 : day.getUTCDate() - (slot === 'week' ? (day.getUTCDay() + 6) % 7 : 0),
  )
  let at = begin - 16 * HOUR
  while (localOf(at, timeZone) < begin) at += localOf(at + HOUR, timeZone) < begin ? HOUR : MINUTE
  return textOf(at, timeZone)
}

function textOf(moment: number, timeZone: string): string {
  const local = localOf(moment, timeZone)
  const minutes = (local - moment) / MINUTE
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60]
  const offset = [hours, rest].map((one) => String(one).padStart(2, '0')).join(':')
  return (
    new Date(local).toISOString().slice(0, 19) + (minutes === 0 ? 'Z' : (minutes < 0 ? '-' : '+') + offset)
  )
}

/** The sum of numbers as they are written in JSON, exactly. */
function sumOf(numbers: readonly number[]): number {
  let sum = 0n
  for (const number of numbers) {
    const [, sign, digits, decimals = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(
      String(number),
    )!
    const scaled = BigInt(digits! + decimals) * 10n ** BigInt(400 + Number(exponent) - decimals.length)
    sum += sign === '-' ? -scaled : scaled
  }
  return Number(`${sum}e-400`)
}

function compute(accumulator: Accumulator, values: readonly Json[]): Json {
  const numbers = values.filter((one) => typeof one === 'number')
  const known = values.filter((one) => one !== null).toSorted(compare)
  switch (accumulator) {
    case 'sum':
      return sumOf(numbers)
    case 'average':
      return numbers.length === 0 ? null : sumOf(numbers) / numbers.length
    case 'min':
      return known[0] ?? null
    case 'max':
      return known.at(-1) ?? null
    case 'distinct':
      return new Set(known.map((one) => JSON.stringify(one))).size
  }
}

/** The groups of documents in their order. */
export function groupsOf(documents: readonly Json[], query: GroupQuery): DocumentAggregate[] {
  const { by, timeZone = 'UTC', sort = 'by' } = query
  const fields = (by?.split(',') ?? []).map((field) => field.split(':') as [string, string?])
  const keysOf = (document: Json): Json[] =>
    fields.map(([path, slot]) => {
      const value = valueAt(document, path)
      return slot === undefined ? value : slotOf(value, slot, timeZone)
    })
  const groups = Map.groupBy(documents, (document) => JSON.stringify(keysOf(document)))
  if (fields.length === 0 && documents.length === 0) groups.set('[]', [])
  const compareKeys = (a: readonly Json[], b: readonly Json[]): number =>
    a.reduce<number>((order, one, i) => order || compareOf(fields[i]![1])(one, b[i]!), 0)
  return [...groups]
    .map(([text, members]) => ({ keys: JSON.parse(text) as Json[], members }))
    .toSorted((a, b) => {
      const byCount = a.members.length - b.members.length
      const byKeys = compareKeys(a.keys, b.keys)
      if (sort === 'by' || sort === '-by') return sort === 'by' ? byKeys : -byKeys
      return (sort === 'count' ? byCount : -byCount) || byKeys
    })
    .map(({ keys, members }) => ({
      by: Object.fromEntries(fields.map(([path], i) => [path, keys[i]!])),
      count: members.length,
      ...Object.fromEntries(
        ACCUMULATORS.filter((one) => query[one]).map((one) => [one, computed(one, query[one]!, members)]),
      ),
    }))
}

/** Slots are in the order of time. */
const compareOf = (slot: string | undefined) => (a: Json, b: Json) =>
  slot === undefined || a === null || b === null
    ? compare(a, b)
    : Date.parse(a as string) - Date.parse(b as string)

const computed = (accumulator: Accumulator, fields: string, members: readonly Json[]): Record<string, Json> =>
  Object.fromEntries(
    fields.split(',').map((path) => [
      path,
      compute(
        accumulator,
        members.map((one) => valueAt(one, path)),
      ),
    ]),
  )
