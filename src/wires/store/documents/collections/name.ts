import { Type } from '../../../../base/schema.ts'

// Words that the routes of the wire use themselves.
const RESERVED = ['upload', 'files', 'backup', 'backups', 'health', 'changes', 'collections']

/** A collection's name: 1 to 64 letters, digits, `_` and `-`, a letter first, and none of the wire's own words. */
export const CollectionName = Type.String({
  pattern: `^(?!(?:${RESERVED.join('|')})$)[a-zA-Z][a-zA-Z0-9_-]{0,63}$`,
  description: 'A letter, then up to 63 letters, digits, _ and -.',
  examples: ['books'],
})
