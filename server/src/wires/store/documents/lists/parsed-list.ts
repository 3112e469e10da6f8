import { BoundedMap } from '../../../../base/bounded-map.ts'
import { once } from '../../../../base/once.ts'
import type { RowFilter } from '../../../../base/row-filter.ts'
import { sql, type Dialect, type Sql } from '../../../../db/sql.ts'
import { neededIndex, type NeededIndex } from './automatic-fields.ts'
import type { Position } from '../language/query/bound.ts'
import { checkFilter, checkSort, nameOfView, type FieldView } from '../language/fields/view.ts'
import {
  and,
  conjunctsOf,
  countConditions,
  everything,
  isOfId,
  or,
  type FilterTree,
} from '../language/query/filter.ts'
import { parseFilter } from '../language/query/parse-filter.ts'
import { parseSearch, type SearchQuery } from '../language/search/search-query.ts'
import { inIdOrder, parseSort, SCORE, scoreOrder, type Sort } from '../language/query/sort.ts'
import type { RuleCondition } from '../language/rules/rule.ts'
import { listEngines } from '../storage/sql/engines.ts'
import { idMatches } from '../storage/sql/document-rows.ts'
import { afterPositionSql, ASC, DESC, orderOf, type ListOrder } from '../storage/sql/order-sql.ts'

/** The query parameters that say which documents a list has, and in which order. */
export type ListParameters = {
  readonly filter?: string
  readonly sort?: string
  readonly search?: string
}

/** For whom a list is read: which documents it may have, and what is shown of it. */
export type ListAccess = {
  readonly rowFilter: RowFilter<RuleCondition>
  readonly view: FieldView | undefined
}

/** A list's filter and sort, parsed, with their SQL for the engine in use. */
export type ParsedList = ListOrder & {
  /** With the filters of the rule, unless the rule has an owner besides. */
  readonly filter: FilterTree
  /** Whether the row filter may exclude a document that the filter matches. */
  readonly isPartial: boolean
  readonly order: Sort
  /** What is searched for; undefined: nothing. It is no part of `where`. */
  readonly search: SearchQuery | undefined
  /** Whether it is of a collection whose ids are in the order of `createdAt`. */
  readonly isIdOrdered: boolean
  /** The filter, sort and search in one form, however a request writes them. */
  readonly text: string
  /** That of the same list while ids were in the order of `createdAt`, if that is another order. */
  readonly idOrderText: string | undefined
  /** Whether there is a filter at all: without one, the total is known without looking. */
  readonly isFiltered: boolean
  /**
   * Whether it may have to look into many documents. If not, the primary key leads to the rows of a page in their order,
   * and a cursor needs no more of a document than its `_id`.
   */
  readonly scans: boolean
  /** The filters of which a document of the list matches any, if there are several. */
  readonly alternatives: readonly FilterTree[]
  /** Whose documents are an alternative as well. */
  readonly ownerAlternative: string | undefined
  /** The indexes that it needs: one, or one for each alternative; none if none would be of use. */
  readonly needed: () => readonly NeededIndex[]
  /** How many questions about fields the filter asks. */
  readonly conditions: number
  /** Whether SQLite calls functions for its documents, and not for a few that their ids lead to. */
  readonly callsFunctions: boolean
  /** The filter and the rule as a condition of row `d`. Alone, beside collection and owner, it counts the list. */
  readonly where: Sql
  /** What the primary key is searched by, each with ` and ` behind it: beside functions, which hide it. */
  readonly idConditions: Sql
  /** `order by …`, or nothing, for documents that are looked into. */
  readonly readOrder: Sql
}

/** Parsed lists by their parameters: applications ask for the same few lists again and again. */
export type ParsedLists = BoundedMap<string, ParsedList>

const NEWEST = '-createdAt'
// Of functions.ts.
const FUNCTION_CALL = /\bstore_(?:matches|matches_pattern|document_key)\(/
const CACHED_LISTS = 500
// Of the parameters; and of what they become, because a class of a pattern is written out in thousands of characters.
const CACHED_LENGTH_MAX = 500
const CACHED_TEXT_MAX = 5_000

export const createParsedLists = (): ParsedLists => new BoundedMap(CACHED_LISTS)

/**
 * Parses the parameters of a list, unless it was asked for before.
 *
 * @throws VALIDATION_ERROR whose path begins with `/query/filter`, `/query/sort` or `/query/search`
 */
export function parsedListOf(
  lists: ParsedLists,
  parameters: ListParameters,
  dialect: Dialect,
  access: ListAccess,
  isIdOrdered: boolean,
): ParsedList {
  const { sort, filter, search } = parameters
  const { rowFilter, view } = access
  const rule =
    rowFilter.rows === 'matching'
      ? { filter: or(rowFilter.condition.filters), owner: rowFilter.alsoOf }
      : undefined
  const key = JSON.stringify([sort, filter, search, rule, view && nameOfView(view), isIdOrdered])
  const cachedList = lists.get(key)
  if (cachedList) return cachedList
  const parsed = parseFor(parameters, dialect, { rule, view, isIdOrdered })
  if (key.length <= CACHED_LENGTH_MAX && parsed.text.length <= CACHED_TEXT_MAX) lists.set(key, parsed)
  return parsed
}

/** What a rule asks of documents besides their owner; with an owner, those of the owner need not match the filter. */
type ListRule = { readonly filter: FilterTree; readonly owner: string | undefined }

/** @throws as `parsedListOf`; a list for everything that is stored */
export const parseList = (parameters: ListParameters, dialect: Dialect, isIdOrdered = true): ParsedList =>
  parseFor(parameters, dialect, { rule: undefined, view: undefined, isIdOrdered })

function parseFor(
  { filter: text, sort, search: searchText }: ListParameters,
  dialect: Dialect,
  {
    rule,
    view,
    isIdOrdered,
  }: { rule: ListRule | undefined; view: FieldView | undefined; isIdOrdered: boolean },
): ParsedList {
  const asked = text === undefined ? everything : parseFilter(text)
  const search = searchText === undefined ? undefined : parseSearch(searchText)
  const isScored = searchText !== undefined && (sort ?? SCORE) === SCORE
  // A search without a word finds all documents, none better than another.
  const sorted = isScored && search ? scoreOrder : parseSort(isScored ? NEWEST : (sort ?? NEWEST))
  const byId = inIdOrder(sorted)
  const order = isIdOrdered ? byId : sorted
  if (view) {
    checkFilter(view, asked)
    checkSort(view, byId)
  }
  const engine = listEngines[dialect]
  const isPartial = rule?.owner !== undefined
  // Two conditions side by side: what a client sends never comes into the rule.
  const filter = rule && !isPartial ? and([rule.filter, asked]) : asked
  const isFiltered = search !== undefined || isPartial || filter.kind !== 'and' || filter.of.length > 0
  const matches = filter === everything ? undefined : engine.matches(filter)
  const conditions = [
    ...(isPartial ? [sql`(d.owner = ${rule.owner} or ${engine.matches(rule.filter)})`] : []),
    ...(matches ? [matches] : []),
  ]
  const conjuncts = conjunctsOf(filter)
  const ors = isPartial ? rule.filter : conjuncts.find(({ kind }) => kind === 'or')
  const alternatives = ors ? alternativesOf(ors, conjuncts) : []
  const ownerAlternative = rule?.owner
  const { orderBy, sortColumns, orderByColumns } = orderOf(order, engine.order)
  const where = conditions.length > 0 ? sql.flat(sql.join(conditions, ' and '), dialect) : sql.literal('true')
  const sortSql = sql.flat(sortColumns, dialect)
  // A rule is asked of the few documents that ids lead to, as well.
  const scans =
    search !== undefined ||
    order.keys.length > 0 ||
    (isFiltered && !(isOfId(asked) && asked.test.kind === 'in'))
  const readsInOrder = engine.readsInOrder && order.keys.length === 0 && !order.byScore
  const textOf = (orderOfList: Sort): string =>
    JSON.stringify([
      filter,
      orderOfList,
      ...(isPartial ? [rule] : []),
      ...(view ? [nameOfView(view)] : []),
      ...(search ? [search] : []),
    ])
  return {
    filter,
    order,
    search,
    isPartial,
    isIdOrdered,
    text: textOf(order),
    idOrderText: order === byId ? undefined : textOf(byId),
    isFiltered,
    scans,
    alternatives,
    ownerAlternative,
    needed: once(() => {
      const needed = neededIndex(filter, order)
      return needed && ownerAlternative === undefined ? [needed] : neededByEach(alternatives)
    }),
    conditions: countConditions(filter) + (isPartial ? countConditions(rule.filter) : 0),
    callsFunctions:
      dialect === 'sqlite' &&
      scans &&
      [...where.strings, ...sortSql.strings].some((text) => FUNCTION_CALL.test(text)),
    where,
    idConditions: sql.join(
      conjuncts.flatMap((one) => idMatches(one) ?? []).map((one) => sql`${one} and `),
      '',
    ),
    orderBy: sql.flat(orderBy, dialect),
    sortColumns: sortSql,
    orderByColumns: sql.flat(orderByColumns, dialect),
    readOrder: readsInOrder ? sql`order by d.id ${order.idDescending ? DESC : ASC}` : sql.literal(''),
  }
}

/** A filter once for each alternative of a part of it, beside the other conjuncts. */
function alternativesOf(part: FilterTree, conjuncts: readonly FilterTree[]): readonly FilterTree[] {
  const others = conjuncts.filter((one) => one !== part)
  const of = part.kind === 'or' ? part.of : [part]
  return of.map((one) => and([one, ...others]))
}

/** @returns none if an alternative can have none, because all of them are needed together */
function neededByEach(alternatives: readonly FilterTree[]): readonly NeededIndex[] {
  const each = alternatives.flatMap((one) => neededIndex(one, { keys: [], idDescending: false }) ?? [])
  return each.length === alternatives.length ? each : []
}

/** The filter, and only what comes after a position. */
export const whereAfterSql = ({ where, order }: ParsedList, position: Position, dialect: Dialect): Sql =>
  sql`${where} and ${afterPositionSql(order, position, listEngines[dialect].order)}`
