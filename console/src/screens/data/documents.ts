import { signal } from '@preact/signals'

import type { Api, CallReply, Stored } from '../../../../client/src/index.ts'
import { six } from '../../parts/session.ts'
import { loadCollection, type FileFields } from './collection.ts'
import { filterOfWords, isFilterText, partsOfText, type FilterJson } from './filter.ts'

/** What a preview tells of itself: see GET /store/:collection. */
export type PreviewMark = {
  readonly cut: Readonly<Record<string, { type: string; length: number }>>
  readonly omitted: number
  readonly owner: string
  readonly etag: string
}

/** A row of the grid. */
export type GridRow = {
  readonly _id: string
  readonly $preview: PreviewMark
  readonly [field: string]: unknown
}

/** Characters of a value in the grid. */
export const PREVIEW = 120
const PAGE = 100
/** Documents that are read to know the fields. */
const SAMPLE = 50

/** The fields of a collection: those of a sample of its documents, of its search by words, and those that hold files. */
export type KnownFields = {
  readonly fields: CallReply<Api, 'GET /store/:collection/fields'>['fields']
  readonly search: readonly string[]
  readonly files: FileFields
}

export async function loadFields(collection: string, signal: AbortSignal): Promise<KnownFields> {
  const [{ fields }, found] = await Promise.all([
    six.call('GET /store/:collection/fields', { params: { collection }, query: { sample: SAMPLE }, signal }),
    loadCollection(collection, signal),
  ])
  return {
    fields,
    search: found?.search ?? [],
    files: { __proto__: null, ...found?.files } as object as FileFields,
  }
}

/** What the address says of a grid. */
export type GridQuery = { filter: string; search: string; sort: string; owner: string }

/** Words are a search where the collection has one, otherwise a filter of its fields that hold text. */
export function gridQueryOf(query: URLSearchParams, known: KnownFields | undefined): GridQuery {
  const { owner, rest: text } = partsOfText(query.get('filter') ?? '')
  const rest = { sort: query.get('sort') ?? '', owner }
  if (isFilterText(text)) return { filter: text, search: '', ...rest }
  if (!known || known.search.length > 0)
    // The last word may be a beginning.
    return { filter: '', search: text.replace(/[\p{L}\p{N}]\s*$/u, '$&*').trim(), ...rest }
  const paths = known.fields.filter(({ types }) => 'string' in types).map(({ path }) => path)
  return { filter: filterOfWords(text, paths.length > 0 ? paths : ['_id']), search: '', ...rest }
}

/** Only what is not empty. */
export const chosenOf = ({ filter, search, sort, owner }: GridQuery): Partial<GridQuery> => ({
  ...(filter && { filter }),
  ...(search && { search }),
  ...(sort && { sort }),
  ...(owner && { owner }),
})

/** Loads a page of previews, and counts nothing. */
export async function loadRows(
  collection: string,
  query: GridQuery,
  { cursor, signal }: { cursor: string | undefined; signal: AbortSignal },
): Promise<{ rows: GridRow[]; nextCursor: string | undefined }> {
  const { data, nextCursor } = await six.call('GET /store/:collection', {
    params: { collection },
    query: { ...chosenOf(query), cursor, limit: PAGE, preview: PREVIEW, total: 'none' },
    signal,
  })
  return { rows: data as unknown as GridRow[], nextCursor }
}

/** What was changed in cells since a row was loaded, by the document's id. */
export const changes = signal<ReadonlyMap<string, Stored<object>>>(new Map())

/** The value of a field in a row, as it is now. */
export function valueIn(row: GridRow, path: string): FilterJson | undefined {
  const changed = changes.value.get(row._id)
  let value: unknown = changed && updatedAtOf(changed) >= updatedAtOf(row) ? changed : row
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = (value as Record<string, unknown>)[name]
  }
  return value as FilterJson
}

const updatedAtOf = (of: object): string => String((of as Record<string, unknown>)['updatedAt'])

/**
 * Sets a field of a document, unless another user has changed it.
 *
 * @returns what takes it back
 * @throws PRECONDITION_FAILED if it was changed
 */
export async function setField(
  collection: string,
  row: GridRow,
  field: string,
  value: FilterJson,
): Promise<() => Promise<void>> {
  const old = valueIn(row, field)
  const documents = six.collection<Record<string, unknown>>(collection)
  const write = async (next: FilterJson, ifMatch: string | Stored<object>): Promise<Stored<object>> => {
    const stored = await documents.update(row._id, { [field]: next }, { ifMatch: ifMatch as string })
    changes.value = new Map([...changes.value, [row._id, stored]])
    return stored
  }
  const stored = await write(value, changes.value.get(row._id) ?? row.$preview.etag)
  return async () => {
    await write(old ?? null, stored)
  }
}
