// Reads the fields of PayPal's answers. What is missing or of another type is undefined, or empty.
import { idPattern } from '../../../../base/ids.ts'
import { oneLine } from '../../../../base/one-line.ts'

const OUR_ID = new RegExp(idPattern)
const WORD_MAX = 200

export type PaypalFields = Readonly<Record<string, unknown>>

/** The fields of an object; none if it is something else. */
export const objectOf = (value: unknown): PaypalFields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as PaypalFields) : {}

/** The objects of a list. */
export const listOf = (value: unknown): readonly PaypalFields[] =>
  Array.isArray(value) ? value.map(objectOf) : []

/** A text that is not empty. */
export const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined

/** An id of PayPal: it is used in paths. */
export const idOf = (value: unknown): string | undefined =>
  typeof value === 'string' && /^[\w-]{1,255}$/.test(value) ? value : undefined

/** An id of ours: that of a transaction or of a refund. */
export const ourIdOf = (value: unknown): string | undefined =>
  typeof value === 'string' && OUR_ID.test(value) ? value : undefined

/** A time, in milliseconds since 1970. */
export function timeOf(value: unknown): number | undefined {
  const ms = Date.parse(textOf(value) ?? '')
  return Number.isNaN(ms) ? undefined : ms
}

/** The words of PayPal that are there, as one line: `PENDING_REVIEW`. */
export function wordsOf(...values: readonly unknown[]): string | undefined {
  const words = values.flatMap((value) => textOf(value) ?? [])
  return words.length === 0 ? undefined : oneLine(words.join(' '), WORD_MAX)
}

/** The address of the first link with one of the relations. */
export function linkOf(links: unknown, ...relations: readonly string[]): string | undefined {
  for (const { rel, href } of listOf(links)) {
    if (typeof rel !== 'string' || !relations.includes(rel)) continue
    if (typeof href === 'string' && /^https?:\/\/./i.test(href) && URL.canParse(href)) return href
  }
  return undefined
}

/** The id of the object to which a link leads: `linkedId(refund.links, 'captures')`. */
export function linkedId(links: unknown, collection: 'captures' | 'orders'): string | undefined {
  for (const { rel, href } of listOf(links)) {
    if (rel !== 'up' || typeof href !== 'string') continue
    const [, id] = new RegExp(`/v2/(?:payments|checkout)/${collection}/([\\w-]{1,255})$`).exec(href) ?? []
    if (id !== undefined) return id
  }
  return undefined
}
