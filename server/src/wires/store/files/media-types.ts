import { isOfMediaRanges, MEDIA_RANGE } from '../../../base/media-range.ts'
import { Type } from '../../../base/schema.ts'
import { plainTypeOf } from './sniff.ts'

/** Media types that a file may have: one like `image/png`, or all of one kind like `image/*`. */
export const MediaTypes = Type.Array(Type.String({ pattern: MEDIA_RANGE }), {
  minItems: 1,
  maxItems: 50,
  examples: [['image/*', 'application/pdf']],
  description:
    'Media types, such as image/png; image/* means all images. The server finds the type of a file in its bytes.',
})

/** @param contentType as it is stored */
export const isOfTypes = (contentType: string, types: readonly string[]): boolean =>
  isOfMediaRanges(plainTypeOf(contentType), types)
