// The threads of SQLite load this.
import { parseJson } from '../../../../../base/json.ts'
import type { Json } from '../filter.ts'
import { NoKeyError } from '../../document-keys.ts'
import { keyOf } from '../key.ts'
import type { SortKey } from '../sort.ts'
import { nativeOf } from './native-key.ts'

/** What is used again for the next field of the same document, and the next document of the same query. */
type Last = { sort: string; keys: SortKey[]; document: string; key: readonly Buffer[] | NoKeyError }

function createDocumentKeys() {
  let last: Last | undefined

  function key(document: string, sort: string): Last {
    if (last?.sort === sort && last.document === document) return last
    const keys = last?.sort === sort ? last.keys : (JSON.parse(sort) as SortKey[])
    last = { sort, keys, document, key: keyOrError(document, keys) }
    return last
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
   * @param sort JSON of its keys
   * @param isRequired 1: fails where the document has no key; 0: what sorts last
   */
  return function store_document_key(document: string, sort: string, i: number, isRequired: number) {
    const { keys, key: found } = key(document, sort)
    if (!(found instanceof NoKeyError)) return nativeOf(found[i]!)
    if (isRequired) throw found
    return keys[i]!.descending ? null : LAST
  }
}

const LAST = Buffer.of(0xff)

export const sortFunctions = { store_document_key: createDocumentKeys() }
