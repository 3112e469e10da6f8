import type { Static } from 'typebox'

import { Type } from '../../../../base/schema.ts'
import type { IndexPage, ListPage } from './page.ts'
import type { SearchPage } from './by-search.ts'
import { serves } from './automatic-fields.ts'
import { namesOf } from '../storage/entries/entries.ts'
import { indexOf, type IndexRow } from '../storage/sql/index-rows.ts'
import { DocumentIndex, shownIndex } from '../storage/indexes/shown-index.ts'
import type { ListSource } from './list-source.ts'
import type { Plan } from '../storage/plan/plan.ts'
import type { Path } from '../language/query/path.ts'

/** How a list is answered. */
export const Explanation = Type.Object(
  {
    plan: Type.Enum(['index', 'union', 'id', 'scan', 'search'], {
      description:
        'index: the entries of an index lead to the documents. union: those of several do, one for each alternative of the filter. id: they are read in the order of _id, or found by it. scan: every document is looked into. search: the words of the search lead to the documents.',
    }),
    index: Type.Optional(
      Type.String({
        description: 'The fields of the index; of several, joined by |.',
        examples: ['year,-title'],
      }),
    ),
    bounds: Type.Optional(
      Type.Record(Type.String(), Type.Array(Type.Unknown()), {
        description: 'The conditions of the filter by which the index is searched, for each of its fields.',
      }),
    ),
    exact: Type.Optional(
      Type.Boolean({
        description:
          'Whether the index decides alone; else the filter is asked of each document that it leads to.',
      }),
    ),
    sort: Type.Optional(
      Type.Enum(['index', 'sorted'], {
        description:
          'index: the entries are in the order of the list. sorted: the documents have to be sorted.',
      }),
    ),
    examined: Type.Object(
      { entries: Type.Integer(), documents: Type.Integer() },
      { description: 'About how many entries of indexes and documents were read.' },
    ),
    total: Type.Integer(),
    ms: Type.Number({ description: 'How long the list took, in milliseconds.' }),
    suggestion: Type.Optional(
      Type.String({
        description: 'The option that declares an index for this list.',
        examples: ["store.indexes: { books: ['year,-title'] }"],
      }),
    ),
    indexes: Type.Array(DocumentIndex, { description: 'All indexes of the collection.' }),
  },
  { title: 'Explanation' },
)
export type Explanation = Static<typeof Explanation>

/** A list that was read: from an index if it has a plan. */
export type ReadList = {
  readonly page: IndexPage | SearchPage | (ListPage & { readonly plans?: undefined })
  readonly ms: number
}

/**
 * Tells how a list was read.
 *
 * @param read.hits how many documents its search finds, without the filter
 * @param rows all indexes of the collection
 * @param documents how many there are in reach
 */
export function explanationOf(
  source: ListSource,
  { page, ms, hits }: ReadList & { readonly hits: number },
  rows: readonly IndexRow[],
  documents: number,
): Explanation {
  return {
    ...('search' in page ? planOfSearch(page, hits) : planOf(source, page, rows, documents)),
    total: page.total,
    ms: Math.round(ms * 100) / 100,
    indexes: rows.map(shownIndex),
  }
}

type ShownPlan = Omit<Explanation, 'total' | 'ms' | 'indexes'>

function planOfSearch({ search: { index }, among, total, documents }: SearchPage, hits: number): ShownPlan {
  const entries = among ?? hits
  return {
    plan: 'search',
    index: namesOf(index.fields),
    exact: total === hits,
    sort: 'sorted',
    examined: { entries, documents: total === hits ? documents.length : entries },
  }
}

function planOf(
  { list, collection, offset }: ListSource,
  page: Exclude<ReadList['page'], SearchPage>,
  rows: readonly IndexRow[],
  documents: number,
): ShownPlan {
  if (page.plans) {
    const { plans, order, examined } = page
    const [plan] = plans as [Plan]
    if (plans.length > 1 || list.ownerAlternative !== undefined)
      return {
        plan: 'union',
        index: plans.map(({ index }) => namesOf(index.fields)).join(' | '),
        exact: false,
        sort: order,
        examined,
      }
    return {
      plan: 'index',
      index: namesOf(plan.index.fields),
      bounds: Object.fromEntries(
        plan.bounds.map(({ field, operators }) => [field.path.join('.'), [...operators]]),
      ),
      exact: plan.isExact,
      sort: order,
      examined,
    }
  }
  if (!list.scans) return { plan: 'id', examined: { entries: 0, documents: page.documents.length + offset } }
  const needed = list.needed().find((one) => !rows.some((row) => serves(indexOf(row), one)))
  const isSuggested = needed && needed.fields.every(({ path }) => isDeclarable(path))
  return {
    plan: 'scan',
    examined: { entries: 0, documents },
    ...(isSuggested && {
      suggestion: `store.indexes: { ${/^\w+$/.test(collection) ? collection : `'${collection}'`}: ['${needed.names}'] }`,
    }),
  }
}

/** Whether a field can be written in the configuration, as a text in quotes too. */
const isDeclarable = (path: Path): boolean => /^[^-,'\\\p{C}][^,'\\\p{C}]*$/u.test(path.join('.'))
