import { errors } from '../base/errors.ts'

/** The conditional headers of a request, RFC 9110 section 13.1. */
export type Conditions = {
  'if-match'?: string
  'if-none-match'?: string
  'if-modified-since'?: string
  'if-unmodified-since'?: string
  'if-range'?: string
}

/** What conditions are compared with. */
export type Validators = {
  /** A strong ETag. */
  etag: string
  /** Milliseconds since 1970. */
  modifiedAt: number
}

const ETAG = /(?:W\/)?"[\x21\x23-\x7E\x80-\xFF]*"/g
const OBSOLETE_DATE = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}$/

const seconds = (ms: number): number => Math.floor(ms / 1000)

/** RFC 9110, section 5.6.7, all three forms; undefined for anything else, so that the condition is ignored. */
function dateOf(header: string | undefined): number | undefined {
  if (header === undefined) return undefined
  const isDate = header.endsWith(' GMT') || OBSOLETE_DATE.test(header)
  const ms = isDate ? Date.parse(header.endsWith(' GMT') ? header : `${header} GMT`) : Number.NaN
  return Number.isNaN(ms) ? undefined : seconds(ms)
}

/** Reads a list of ETags; `*` means any ETag. A text that is not such a list has no ETags, so that no condition is met. */
export function etagsOf(list: string): '*' | readonly string[] {
  if (list.trim() === '*') return '*'
  // Between them are commas, which an ETag may hold as well.
  return /[^\t ,]/.test(list.replaceAll(ETAG, '')) ? [] : (list.match(ETAG) ?? [])
}

/** Whether a list of ETags, or `*`, names the current one. The weak comparison ignores `W/`. */
export function namesEtag(list: string, etag: string, comparison: 'strong' | 'weak'): boolean {
  const etags = etagsOf(list)
  return etags === '*' || etags.includes(etag) || (comparison === 'weak' && etags.includes(`W/${etag}`))
}

/**
 * Whether the client's copy is current, so that the answer is a 304; RFC 9110, section 13.2.2.
 *
 * @throws PRECONDITION_FAILED
 */
export function isCurrentCopy(conditions: Conditions, { etag, modifiedAt }: Validators): boolean {
  const modified = seconds(modifiedAt)
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = conditions
  const unmodifiedSince = dateOf(conditions['if-unmodified-since'])
  const hasChanged =
    ifMatch !== undefined
      ? !namesEtag(ifMatch, etag, 'strong')
      : unmodifiedSince !== undefined && modified > unmodifiedSince
  if (hasChanged) throw errors.precondition_failed()
  if (ifNoneMatch !== undefined) return namesEtag(ifNoneMatch, etag, 'weak')
  const modifiedSince = dateOf(conditions['if-modified-since'])
  return modifiedSince !== undefined && modified <= modifiedSince
}

/** Whether a `Range` counts: without `If-Range`, or if that is the current ETag or date; RFC 9110, section 13.1.5. */
export function isRangeCurrent(ifRange: string | undefined, { etag, modifiedAt }: Validators): boolean {
  if (ifRange === undefined) return true
  return ifRange.includes('"') ? ifRange.trim() === etag : dateOf(ifRange) === seconds(modifiedAt)
}
