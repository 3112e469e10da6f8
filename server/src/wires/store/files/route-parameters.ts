import { idPattern } from '../../../base/ids.ts'
import { Type } from '../../../base/schema.ts'

const byId = (what: string) =>
  Type.Object({
    id: Type.String({
      pattern: idPattern,
      description: `The ${what}’s _id.`,
      examples: ['01arz3ndektsv4rrffq69g5fav'],
    }),
  })

/** The parameters of the routes of one file, of one upload link, and of one upload that can be continued. */
export const OneFile = byId('file')
export const OneLink = byId('link')
export const OneUpload = byId('upload')
