// The threads of SQLite load this.
import { parseJson } from '../../../../../../base/json.ts'
import type { Json } from '../../../language/query/filter.ts'
import { NoKeyError } from '../../../language/query/document-keys.ts'
import { keyOf } from '../../../language/query/key.ts'
import type { SortKey } from '../../../language/query/sort.ts'
import { createConstants } from './constants.ts'
import { nativeOf } from './native-key.ts'

const sorts = createConstants((text) => ({ value: parseJson(text) as SortKey[], bytes: 0 }))

/** The key of the last document, for its next field. */
let last: { sort: number; document: string; key: readonly Buffer[] | NoKeyError } | undefined

function keyOrError(document: string, keys: readonly SortKey[]): readonly Buffer[] | NoKeyError {
  try {
    return keyOf(parseJson(document) as Json, keys)
  } catch (error) {
    if (error instanceof NoKeyError) return error
    throw error
  }
}

const LAST = Buffer.of(0xff)

export const sortFunctions = {
  /** @param keys JSON of a sort's keys */
  store_sort: (keys: string): bigint => sorts.numberOf(keys),

  /**
   * What the document sorts by in field number `i` of a sort, as SQLite compares it.
   *
   * @param sort of `store_sort`
   * @param isRequired 1: fails where the document has no key; 0: what sorts last
   */
  store_document_key(document: string, sort: number, i: number, isRequired: number) {
    if (last?.sort !== sort || last.document !== document)
      last = { sort, document, key: keyOrError(document, sorts.value(sort)) }
    const { key } = last
    if (!(key instanceof NoKeyError)) return nativeOf(key[i]!)
    if (isRequired) throw key
    return sorts.value(sort)[i]!.descending ? null : LAST
  },
}
