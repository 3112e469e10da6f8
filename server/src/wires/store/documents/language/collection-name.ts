import { Type } from '../../../../base/schema.ts'
import { StartError } from '../../../../base/start-error.ts'

// Words that the routes of the wire use themselves.
const RESERVED = [
  'upload',
  'uploads',
  'upload-links',
  'files',
  'batch',
  'backup',
  'backups',
  'health',
  'changes',
  'collections',
]
const PATTERN = `^(?!(?:${RESERVED.join('|')})$)[a-zA-Z][a-zA-Z0-9_-]{0,63}$`

/** A collection's name: 1 to 64 letters, digits, `_` and `-`, a letter first, and none of the wire's own words. */
export const CollectionName = Type.String({
  pattern: PATTERN,
  description: 'A letter, then up to 63 letters, digits, _ and -.',
  examples: ['books'],
})

/** Whether a collection can have a name. */
export const isCollectionName = (name: string): boolean => new RegExp(PATTERN).test(name)

/** @throws StartError for a name in the configuration that no collection can have */
export function checkCollectionName(name: string, at: string): void {
  if (RESERVED.includes(name))
    throw new StartError(`${at}: ${name} is a word of the store's routes: give the collection another name`)
  if (!isCollectionName(name))
    throw new StartError(
      `${at}: the name of a collection is a letter, then up to 63 letters, digits, _ and -`,
    )
}
