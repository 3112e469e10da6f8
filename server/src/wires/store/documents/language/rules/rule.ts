import { didYouMean } from '../../../../../base/did-you-mean.ts'
import { ApiError, type Issue } from '../../../../../base/errors.ts'
import { pointerTo } from '../../../../../base/json-pointer.ts'
import { once } from '../../../../../base/once.ts'
import { allRows, includesOwner, ownRows, type RowFilter } from '../../../../../base/row-filter.ts'
import { StartError } from '../../../../../base/start-error.ts'
import type { Audience } from '../../../../../http/access.ts'
import { isObject, or, partsIn, type FilterTree, type Json, type Scalar, type Test } from '../query/filter.ts'
import { compileMatcher } from '../query/matcher.ts'
import { readFilterOf } from '../query/parse-filter.ts'
import { quote } from '../query/path.ts'

/** A filter of a rule: MongoDB's query language, in which `$$user._id` and the like stand for values of the caller. */
export type RuleFilter = { readonly [path: string]: unknown }

/** Who may do something: an audience, a filter about the document, or any of several. */
export type RuleOption = Audience | RuleFilter | readonly (Audience | RuleFilter)[]

/** A rule, read: it holds if any of its alternatives does. */
export type Rule = {
  readonly audiences: ReadonlySet<Audience>
  readonly filters: readonly FilterTemplate[]
}

/** A filter with `$$user` in it. */
type FilterTemplate = {
  readonly filter: FilterTree
  /** The values of the caller that it needs, without `$$user.`: `_id`, `teams`. */
  readonly values: ReadonlySet<string>
}

/** What `$$user` stands for, by name. A value that is not there, or undefined, is unresolved. */
export type UserValues = ReadonlyMap<string, Scalar | readonly Scalar[] | undefined>

/** Whom a rule is asked for. */
export type RuleSubject = {
  /** What rules were bound to before: each is asked several times for one request. */
  readonly rowFilters: Map<Rule, RowFilter<RuleCondition>>
  readonly isSignedIn: boolean
  /** Administrators and service keys, for whom every rule holds. */
  readonly isPrivileged: boolean
  readonly values: UserValues
}

/** What a rule asks of documents: that any of its filters matches. */
export type RuleCondition = {
  readonly filters: readonly FilterTree[]
  /** Compiles the filters, once. */
  readonly matcher: () => (document: Json) => boolean
}

const AUDIENCES: readonly string[] = ['public', 'user', 'owner', 'admin']
const MARK = '$$'
const USER = '$$user.'
const PLACES = 'only as a value, or with $eq, $ne, $in and $nin'
/** The names that may follow `$$user.`. */
export type ValueNames = readonly string[] | 'any'

/** The values that every account has. */
export const OWN_VALUES: readonly string[] = ['_id', 'role', 'email']

/**
 * Reads a rule of the configuration.
 *
 * @param at the name of the option, for the error
 * @throws StartError
 */
export function parseRule(option: RuleOption, at: string, values: ValueNames): Rule {
  const isList = Array.isArray(option)
  const of = (isList ? option : [option]) as readonly (Audience | RuleFilter)[]
  if (of.length === 0) throw new StartError(`${at}: an empty list allows nobody: name admin instead`)
  const audiences = new Set<Audience>()
  const filters: FilterTemplate[] = []
  for (const [i, one] of of.entries()) {
    const here = isList ? `${at}[${i}]` : at
    if (typeof one !== 'string') filters.push(parseTemplate(one, here, values))
    else if (AUDIENCES.includes(one)) audiences.add(one)
    else
      throw new StartError(
        `${here}: ${quote(one)} is no audience${didYouMean(one, AUDIENCES) || `; these are: ${AUDIENCES.join(', ')}. A rule may also be a filter`}`,
      )
  }
  return { audiences, filters }
}

/**
 * Reads a filter that may name values of the caller.
 *
 * @throws StartError
 */
export function parseTemplate(option: unknown, at: string, values: ValueNames): FilterTemplate {
  if (!isObject(option)) throw new StartError(`${at}: must be a filter, such as { members: '$$user._id' }`)
  if (Object.keys(option).length === 0)
    throw new StartError(`${at}: an empty filter has every document: use user or public in its place`)
  checkJson(option, at)
  const filter = readOrStop(at, () => readFilterOf(withLists(option) as Json, ''))
  const used = new Set<string>()
  for (const part of partsIn(filter))
    if ('kind' in part) for (const name of namesIn(part as Test)) used.add(name)
  for (const name of used) checkName(name, at, values)
  return { filter, values: new Set([...used].map((name) => name.slice(USER.length))) }
}

/** Runs what reads a part of a request on a part of the configuration. */
export function readOrStop<T>(at: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const [issue] = error.details!['issues'] as [Issue]
    throw new StartError(`${at}${issue.path.replaceAll('/', '.')}: ${issue.message}`, { cause: error })
  }
}

/**
 * Objects of classes, such as dates and regular expressions, would be read as objects without fields.
 *
 * @param operator that the value is in a list of
 */
function checkJson(value: unknown, at: string, operator = ''): void {
  if (typeof value === 'string') checkText(value, at, operator)
  const isPlain =
    value === null ||
    ['string', 'boolean'].includes(typeof value) ||
    Number.isFinite(value) ||
    Array.isArray(value) ||
    (typeof value === 'object' && isLiteral(value))
  if (!isPlain)
    throw new StartError(
      `${at}: a filter holds texts, numbers, true, false, null, lists and objects${insteadOf(value)}`,
    )
  if (typeof value === 'object' && value !== null)
    for (const [key, inner] of Object.entries(value))
      checkJson(
        inner,
        `${at}${pointerTo('', key).replace('/', '.')}`,
        Array.isArray(value) || operator === '$expr' ? operator : key,
      )
}

function insteadOf(value: unknown): string {
  if (value instanceof Date) return `: write the date as text, as documents have it`
  if (value instanceof RegExp) return `: write { $regex: '…' }`
  return ''
}

/** @throws StartError for a text that would be taken as it is, though a value of the caller is meant, or in another sense */
function checkText(text: string, at: string, operator: string): void {
  if (operator === '$expr') {
    if (isName(text)) throw new StartError(`${at}: ${text} cannot stand in $expr: ${PLACES}`)
    return // `$user` is a field there.
  }
  if (operator === '$regex' && /\$user\b/.test(text))
    throw new StartError(`${at}: a value of the caller cannot stand in a pattern: ${PLACES}`)
  // It would hold if any of the values is there.
  if (operator === '$all' && isName(text))
    throw new StartError(`${at}: ${text} cannot stand in $all: ${PLACES}`)
  if (!isName(text) && /\$user\b/.test(text))
    throw new StartError(
      `${at}: ${quote(text)} would be a plain text: a value of the caller is '$$user._id' alone`,
    )
}

function isLiteral(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** With lists of one name where `$in` and `$nin` have a name alone. */
function withLists(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withLists)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, operand]) => [
      key,
      ['$in', '$nin'].includes(key) && isName(operand) ? [operand] : withLists(operand),
    ]),
  )
}

const isName = (value: unknown): value is string => typeof value === 'string' && value.startsWith(MARK)

/** The texts that begin with `$$` in a test; those that are no whole value, with what is around them. */
function namesIn(test: Test): string[] {
  if (test.kind === 'in')
    return test.values.flatMap((value) =>
      isName(value) ? [value] : marksIn(value).map((mark) => `${mark} in an object or list`),
    )
  if (test.kind === 'range') return marksIn(test.bound).map((mark) => `${mark} in a comparison`)
  return []
}

function marksIn(value: Json): string[] {
  if (typeof value === 'string') return isName(value) ? [value] : []
  return typeof value === 'object' && value !== null ? Object.values(value as object).flatMap(marksIn) : []
}

function checkName(name: string, at: string, values: ValueNames): void {
  const [text, place] = name.split(' in ') as [string, string | undefined]
  const isKnown = text.startsWith(USER) && (values === 'any' || values.includes(text.slice(USER.length)))
  if (!isKnown)
    throw new StartError(
      `${at}: ${text} is not known; these are: ${knownNames(values)}. Others are declared in store.user`,
    )
  if (place !== undefined) throw new StartError(`${at}: ${text} cannot stand in ${place}: ${PLACES}`)
}

const knownNames = (values: ValueNames): string =>
  values === 'any' ? `${USER}…` : values.map((one) => USER + one).join(', ')

/** The filter with the values of somebody in it; undefined if one of them is unresolved, so that it holds for nothing. */
export function bindTemplate(
  { filter, values: names }: FilterTemplate,
  values: UserValues,
): FilterTree | undefined {
  if (names.size === 0) return filter
  for (const name of names) if (values.get(name) === undefined) return undefined
  return bindFilter(filter, values)
}

function bindFilter<Part>(part: Part, values: UserValues): Part {
  const { kind, of, test } = part as { kind: string; of?: unknown; test?: Test }
  if (kind === 'in')
    return { kind, values: boundValues((part as Extract<Test, { kind: 'in' }>).values, values) } as Part
  if (test) return { ...part, test: bindFilter(test, values) }
  if (of === undefined) return part
  return {
    ...part,
    of: Array.isArray(of) ? of.map((one: unknown) => bindFilter(one, values)) : bindFilter(of, values),
  }
}

const boundValues = (list: readonly Json[], values: UserValues): readonly Json[] =>
  list.flatMap((value) =>
    isName(value) ? (values.get(value.slice(USER.length)) as Json | readonly Json[]) : [value],
  )

/** The documents that a rule holds for, for somebody. */
export function rowFilterOf(
  rule: Rule,
  { rowFilters, isSignedIn, isPrivileged, values }: RuleSubject,
): RowFilter<RuleCondition> {
  const { audiences } = rule
  if (isPrivileged || audiences.has('public') || (isSignedIn && audiences.has('user'))) return allRows
  const known = rowFilters.get(rule)
  if (known) return known
  const filters = rule.filters.flatMap((one) => bindTemplate(one, values) ?? [])
  const owner = isSignedIn && audiences.has('owner') ? (values.get('_id') as string) : undefined
  const rowFilter = matchingRows(filters, owner)
  rowFilters.set(rule, rowFilter)
  return rowFilter
}

/** The documents that any of the filters matches, and all those of an owner if there is one. */
export function matchingRows(filters: readonly FilterTree[], alsoOf?: string): RowFilter<RuleCondition> {
  if (filters.length === 0) return alsoOf === undefined ? { rows: 'none' } : ownRows(alsoOf)
  const condition = { filters, matcher: once(() => compileMatcher(or(filters))) }
  return { rows: 'matching', condition, alsoOf }
}

/** Whether a document is within. @param json reads it; called only if its owner does not decide */
export const isWithin = (rowFilter: RowFilter<RuleCondition>, owner: string, json: () => Json): boolean =>
  includesOwner(rowFilter, owner) || (rowFilter.rows === 'matching' && rowFilter.condition.matcher()(json()))

/** Whether documents of an owner may be within, as far as that can be told without reading them. */
export const mayIncludeOwner = (rowFilter: RowFilter<RuleCondition>, owner: string): boolean =>
  rowFilter.rows === 'matching' || includesOwner(rowFilter, owner)
