import { hash } from 'node:crypto'

import { isDocumentId } from '../wires/store/index.ts'

const HASH_CHARACTERS = 40

/**
 * The `_id` of a document whose key in another system is a text, or several: as it is where it can be, else made of it. The same
 * for the same key.
 */
export function foreignIdOf(parts: readonly string[]): string {
  const text = parts.join('_')
  const isPlain = parts.length === 1 || parts.every((part) => !part.includes('_'))
  return isPlain && isDocumentId(text)
    ? text
    : `x${hash('sha256', JSON.stringify(parts)).slice(0, HASH_CHARACTERS)}`
}
