// The threads of SQLite load this.
import { parseJson } from '../../../../../base/json.ts'
import type { Json } from '../../query/filter.ts'
import { NoKeyError } from '../../document-keys.ts'
import { keyOf } from '../../query/key.ts'
import type { SortKey } from '../../query/sort.ts'
import { createConstants } from './constants.ts'
import { nativeOf } from './native-key.ts'

const sorts = createConstants((text) => ({ value: parseJson(text) as SortKey[], bytes: 0 }))

/** What is used again for the next field of the same document. */
type Last = { sort: number; document: string; key: readonly Buffer[] | NoKeyError }

function createDocumentKeys() {
  let last: Last | undefined

  function key(document: string, sort: number): Last['key'] {
    if (last?.sort !== sort || last.document !== document)
      last = { sort, document, key: keyOrError(document, sorts.value(sort)) }
    return last.key
  }

  function keyOrError(document: string, keys: SortKey[]): readonly Buffer[] | NoKeyError {
    try {
      return keyOf(parseJson(document) as Json, keys)
    } catch (error) {
      if (error instanceof NoKeyError) return error
      throw error
    }
  }

  /**
   * What the document sorts by in field number `i` of a sort, as SQLite compares it.
   *
   * @param sort of `store_sort`
   * @param isRequired 1: fails where the document has no key; 0: what sorts last
   */
  return function store_document_key(document: string, sort: number, i: number, isRequired: number) {
    const found = key(document, sort)
    if (!(found instanceof NoKeyError)) return nativeOf(found[i]!)
    if (isRequired) throw found
    return sorts.value(sort)[i]!.descending ? null : LAST
  }
}

const LAST = Buffer.of(0xff)

export const sortFunctions = {
  /** @param keys JSON of a sort's keys */
  store_sort: (keys: string): bigint => sorts.numberOf(keys),
  store_document_key: createDocumentKeys(),
}
