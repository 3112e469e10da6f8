import { isoTime } from '../../../../../base/clock.ts'
import { invalid, type ApiError } from '../../../../../base/errors.ts'
import { boundedPointer } from '../../../../../base/json-pointer.ts'
import { isObject } from '../../language/query/filter.ts'

/** Reads the value of a type; undefined if it is none. */
type ReadType = (value: unknown) => string | number | undefined

/** How MongoDB writes what JSON has no type for, in the canonical and the relaxed form. */
const TYPES = new Map<string, ReadType>([
  ['$oid', textOf(/^[0-9a-f]{24}$/i)],
  ['$uuid', textOf(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i)],
  ['$date', timeOf],
  ['$numberInt', numberOf],
  ['$numberLong', numberOf],
  ['$numberDouble', numberOf],
  ['$numberDecimal', numberOf],
])

const REFUSED = new Map([
  ['$binary', 'bytes are no value of JSON: upload them as a file, or leave the field out'],
  ['$regularExpression', 'a regular expression is no value of JSON: send its pattern as text'],
  ['$timestamp', 'a timestamp of replication is no value of JSON: leave the field out'],
  ['$code', 'code is not stored: send it as text'],
  ['$symbol', 'symbols are deprecated: send text'],
  ['$dbPointer', 'it is deprecated: send the _id of the document as text'],
  ['$ref', 'a DBRef is not stored: send the _id of the document as text, and declare a relation'],
  ['$minKey', 'it is no value of JSON'],
  ['$maxKey', 'it is no value of JSON'],
  ['$undefined', 'it is no value of JSON: leave the field out'],
])

/**
 * JSON in place of MongoDB Extended JSON v2: ids and UUIDs, also those in binary, become text, dates texts in ISO 8601, numbers become numbers, or their
 * digits as text if a number would be another one.
 *
 * @throws VALIDATION_ERROR for what JSON has no value for
 * @see https://www.mongodb.com/docs/manual/reference/mongodb-extended-json/
 */
export function plainJson(value: unknown, keys: readonly (string | number)[] = []): unknown {
  if (Array.isArray(value)) return value.map((one, i) => plainJson(one, [...keys, i]))
  if (!isObject(value)) return value
  const uuid = uuidIn(value['$binary'])
  if (uuid !== undefined) return uuid
  const names = Object.keys(value)
  const refused = names.find((name) => REFUSED.has(name))
  if (refused !== undefined) throw faultOf([...keys, refused], `${refused}: ${REFUSED.get(refused)!}`)
  const [name = ''] = names
  const read = names.length === 1 ? TYPES.get(name) : undefined
  if (!read)
    return Object.fromEntries(
      Object.entries(value).map(([inner, one]) => [inner, plainJson(one, [...keys, inner])]),
    )
  const plain = read(value[name])
  if (plain === undefined) throw faultOf([...keys, name], `is no ${name} of MongoDB Extended JSON`)
  return plain
}

/** The UUID that bytes of its subtype are, which drivers write as ids; that of other bytes is undefined. */
function uuidIn(binary: unknown): string | undefined {
  if (!isObject(binary) || binary['subType'] !== '04' || typeof binary['base64'] !== 'string')
    return undefined
  const hex = Buffer.from(binary['base64'], 'base64').toString('hex')
  return hex.length === 32 ? hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-') : undefined
}

const faultOf = (keys: readonly (string | number)[], message: string): ApiError =>
  invalid({ path: boundedPointer('', keys), message })

function textOf(form: RegExp): ReadType {
  return (value) => (typeof value === 'string' && form.test(value) ? value : undefined)
}

/** Of text in ISO 8601, or of milliseconds since 1970, which version 1 wrote as a number. */
function timeOf(value: unknown): string | undefined {
  const isLong = isObject(value) && typeof value['$numberLong'] === 'string'
  const time = typeof value === 'string' ? Date.parse(value) : Number(isLong ? value['$numberLong'] : value)
  return Number.isNaN(new Date(time).getTime()) || value === null ? undefined : isoTime(time)
}

const DECIMAL = /^([+-]?)(\d*)\.?(\d*)(?:E([+-]?\d+))?$/i

function numberOf(value: unknown): number | string | undefined {
  // Version 1 wrote some as numbers.
  if (typeof value === 'number') return value
  if (typeof value !== 'string' || !DECIMAL.test(value) || !/\d/.test(value)) return undefined
  const number = Number(value)
  return decimalOf(String(number)) === decimalOf(value) ? number : value
}

/** The same text for all ways to write a number: its digits, and the power of ten of the last one. */
function decimalOf(text: string): string {
  const [, sign, whole = '', fraction = '', exponent = '0'] = DECIMAL.exec(text) ?? []
  const digits = `${whole}${fraction}`.replace(/^0+/, '')
  const significant = digits.replace(/0+$/, '')
  if (significant === '') return '0'
  const power = Number(exponent) - fraction.length + digits.length - significant.length
  return `${sign === '-' ? '-' : ''}${significant}e${power}`
}
