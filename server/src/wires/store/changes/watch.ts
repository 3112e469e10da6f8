import type { RowFilter } from '../../../base/row-filter.ts'
import { etagOf } from '../documents/language/etag.ts'
import { project, type Projection } from '../documents/language/fields/projection.ts'
import { markOf, nameOfView, show, type FieldView } from '../documents/language/fields/view.ts'
import { conjunctsOf, everything, type FilterTree, type Json } from '../documents/language/query/filter.ts'
import { countIndexes } from '../documents/language/query/path.ts'
import { compileMatcher } from '../documents/language/query/matcher.ts'
import { isWithin, type RuleCondition } from '../documents/language/rules/rule.ts'
import type { LoggedChange, State } from './logged-change.ts'

/** What a caller watches: the documents of a list, as the list would show them. */
export type DocumentWatch = {
  readonly collection: string
  readonly rowFilter: RowFilter<RuleCondition>
  readonly filter: FilterTree
  readonly view: FieldView | undefined
  readonly projection: Projection | undefined
  /** Equal for watches that receive the same event of every change. */
  readonly name: string
  readonly has: (state: State) => boolean
}

/** Makes the watch of a caller in a collection. */
export function watchOf(
  collection: string,
  asked: Pick<DocumentWatch, 'rowFilter' | 'filter' | 'view' | 'projection'>,
): DocumentWatch {
  const { rowFilter, filter, view, projection } = asked
  const matches = filter === everything ? () => true : compileMatcher(filter)
  return {
    collection,
    ...asked,
    name: JSON.stringify([collection, rowFilter, filter, nameOfView(view), projection]),
    // A document is parsed only if something has to be asked of its fields.
    has: ({ owner, json }) => isWithin(rowFilter, owner, json) && (filter === everything || matches(json())),
  }
}

/** What a change is to a watch: the document as it shows it, `gone`, or nothing. */
export type WatchEvent =
  | { readonly event: 'put'; readonly etag: string; readonly document: string }
  | { readonly event: 'gone' }

/** Tells a watch of a change: that the document is in it, or that it was. */
export function eventFor(watch: DocumentWatch, { before, now }: LoggedChange): WatchEvent | undefined {
  if (now && watch.has(now)) {
    const { view, projection } = watch
    const body = show(view, now)
    return {
      event: 'put',
      etag: etagOf(now.version, markOf(view, now)),
      document: projection ? project(body, projection) : body,
    }
  }
  return before.some(watch.has) ? { event: 'gone' } : undefined
}

/** A value that a document must have, or its owner, to be in a watch. */
export type WatchTerm = { readonly path: readonly string[] | 'owner'; readonly values: readonly unknown[] }

/**
 * Terms of which a document must meet one to be in a watch; undefined if there are none that are worth an index, so that each
 * document has to be looked at.
 */
export function termsOf({
  rowFilter,
  filter,
}: Pick<DocumentWatch, 'rowFilter' | 'filter'>): readonly WatchTerm[] | undefined {
  const asked = termOf(filter)
  if (asked) return [asked]
  if (rowFilter.rows === 'all') return undefined
  if (rowFilter.rows === 'none') return []
  if (rowFilter.rows === 'own') return [ownedBy(rowFilter.owner)]
  const { condition, alsoOf } = rowFilter
  const terms = condition.filters.map(termOf)
  if (terms.includes(undefined)) return undefined
  return [...(alsoOf === undefined ? [] : [ownedBy(alsoOf)]), ...(terms as WatchTerm[])]
}

const ownedBy = (owner: string): WatchTerm => ({ path: 'owner', values: [owner] })

/** The first part of a filter that asks for one of some texts, numbers or booleans. */
function termOf(filter: FilterTree): WatchTerm | undefined {
  for (const part of conjunctsOf(filter)) {
    if (part.kind !== 'field' || part.test.kind !== 'in' || countIndexes(part.path) > 0) continue
    const { values } = part.test
    if (values.length <= TERM_VALUES_MAX && values.every(isIndexable)) return { path: part.path, values }
  }
  return undefined
}

const TERM_VALUES_MAX = 1000

/** Null equals what is missing, and is found nowhere. */
const isIndexable = (value: Json): boolean => value !== null && typeof value !== 'object'
