import { idPattern } from '../../../base/ids.ts'
import { Type } from '../../../base/schema.ts'

/** The parameters of the routes of one file. */
export const OneFile = Type.Object({
  id: Type.String({
    pattern: idPattern,
    description: 'The file’s _id.',
    examples: ['01arz3ndektsv4rrffq69g5fav'],
  }),
})
