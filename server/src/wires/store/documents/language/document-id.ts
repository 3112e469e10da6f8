import { invalid } from '../../../../base/errors.ts'
import { recordIdPattern } from '../../../../base/ids.ts'
import { Type } from '../../../../base/schema.ts'

// Words that stand in the place of an id in addresses of the routes.
const RESERVED = ['aggregate', 'explain', 'fields', 'query', 'bulk', 'export', 'import']
const PATTERN = `^(?!(?:${RESERVED.join('|')})$)${recordIdPattern.slice(1)}`
const FORM = new RegExp(PATTERN)

/** The `_id` of a document: 1 to 64 letters, digits, `_` and `-`, and none of the routes' own words. */
export const DocumentId = Type.String({
  pattern: PATTERN,
  description: 'The document’s _id.',
  examples: ['01arz3ndektsv4rrffq69g5fav'],
})

/** Whether a document can have this `_id`. */
export const isDocumentId = (text: string): boolean => FORM.test(text)

/**
 * An `_id` that was sent for a new document.
 *
 * @throws VALIDATION_ERROR if no document can have it
 */
export function documentIdOf(value: unknown, path: string): string {
  if (typeof value === 'string' && FORM.test(value)) return value
  const isReserved = RESERVED.includes(value as string)
  throw invalid({
    path,
    message: isReserved
      ? `${String(value)} is a word of the store's routes: send another _id, or none`
      : 'must be 1 to 64 letters, digits, _ and -; without it the document gets a new one',
  })
}
