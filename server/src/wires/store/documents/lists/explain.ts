import type { Static } from 'typebox'

import { Type } from '../../../../base/schema.ts'
import type { AccessPath } from './access-path.ts'
import type { ListPage } from './page.ts'
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

/** A list that was read, and how. */
export type ReadList = { readonly path: AccessPath; readonly page: ListPage; readonly ms: number }

/** What is there besides a list that is explained. */
type Around = {
  /** How many documents its search finds, without the filter. */
  readonly hits: number
  /** All indexes of the collection. */
  readonly rows: readonly IndexRow[]
  /** How many documents are in reach. */
  readonly documents: number
}

/** Tells how a list was read. */
export function explanationOf(source: ListSource, read: ReadList, around: Around): Explanation {
  return {
    ...planOf(source, read, around),
    total: read.page.total,
    ms: Math.round(read.ms * 100) / 100,
    indexes: around.rows.map(shownIndex),
  }
}

type ShownPlan = Omit<Explanation, 'total' | 'ms' | 'indexes'>

function planOf(source: ListSource, { path, page }: ReadList, { hits, rows, documents }: Around): ShownPlan {
  const { list, offset } = source
  const shown = page.documents.length
  if (path.kind === 'search') {
    const entries = path.candidates?.entries ?? hits
    return {
      plan: 'search',
      index: namesOf(path.search.index.fields),
      exact: page.total === hits,
      sort: 'sorted',
      examined: { entries, documents: page.total === hits ? shown : entries },
    }
  }
  if (path.kind === 'scan')
    return list.scans
      ? { plan: 'scan', examined: { entries: 0, documents }, ...suggestionFor(source, rows) }
      : { plan: 'id', examined: { entries: 0, documents: shown + offset } }
  const { plans } = path
  const [plan] = plans as [Plan]
  const sort = path.kind === 'candidates' || path.order === undefined ? 'sorted' : 'index'
  const examined = examinedBy(source, path, page)
  if (plans.length > 1 || list.ownerAlternative !== undefined)
    return {
      plan: 'union',
      index: plans.map(({ index }) => namesOf(index.fields)).join(' | '),
      exact: false,
      sort,
      examined,
    }
  return {
    plan: 'index',
    index: namesOf(plan.index.fields),
    bounds: Object.fromEntries(
      plan.bounds.map(({ field, operators }) => [field.path.join('.'), [...operators]]),
    ),
    exact: plan.isExact,
    sort,
    examined,
  }
}

/** How many entries were looked at, and documents, those of the page among them. */
function examinedBy(
  { offset, knownTotal }: ListSource,
  path: Extract<AccessPath, { kind: 'entries' | 'ordered' | 'candidates' }>,
  { total, documents: { length } }: ListPage,
): Explanation['examined'] {
  if (path.kind === 'candidates') {
    const { entries, isUnion } = path.candidates
    return { entries: isUnion ? entries : 2 * entries, documents: entries }
  }
  if (path.kind === 'ordered') return { entries: length, documents: length }
  const read = path.order ? length + offset : total
  return { entries: read + (knownTotal === undefined ? total : 0), documents: length }
}

/** The option that declares the index that a list needs, unless there is one. */
function suggestionFor(
  { list, collection }: ListSource,
  rows: readonly IndexRow[],
): Pick<Explanation, 'suggestion'> {
  const needed = list.needed().find((one) => !rows.some((row) => serves(indexOf(row), one)))
  if (!needed?.fields.every(({ path }) => isDeclarable(path))) return {}
  const name = /^\w+$/.test(collection) ? collection : `'${collection}'`
  return { suggestion: `store.indexes: { ${name}: ['${needed.names}'] }` }
}

/** Whether a field can be written in the configuration, as a text in quotes too. */
const isDeclarable = (path: Path): boolean => /^[^-,'\\\p{C}][^,'\\\p{C}]*$/u.test(path.join('.'))
