import type { Static } from 'typebox'

import { invalid } from '../../../../../base/errors.ts'
import { Type } from '../../../../../base/schema.ts'
import { IMAGE_FORMATS, namedFormat, type ImageFormat } from './image-formats.ts'
import { FITS, type Resizing } from './image-tasks.ts'

const LONGEST_SIDE = 4096

/** The sizes that everybody may ask for, if the configuration lists no others. */
export const DEFAULT_SIZES = '64 128 256 512 1024 2048 64x64 128x128 256x256 512x512'.split(' ')

const SIDE = '(?:[1-9]\\d{0,2}|[1-3]\\d{3}|40[0-8]\\d|409[0-6])'
/** A size of the configuration: `512`, within 512 × 512 pixels, or `256x128`, cropped to that. */
export const SIZE = `^${SIDE}(?:x${SIDE})?$`

/** The parameters of an image's address that everybody may use who may read it. */
export const SIZE_PARAMETERS = {
  size: Type.Optional(
    Type.String({
      maxLength: 9,
      description:
        'One of the sizes of the configuration: 512 keeps the whole image within 512 × 512 pixels, 256x128 crops it to that. It is never enlarged.',
    }),
  ),
  format: Type.Optional(
    Type.Enum([...IMAGE_FORMATS], {
      description:
        'The format of a resized image. Default: AVIF or WebP if Accept names them, else that of the image.',
    }),
  ),
}

const side = (name: string) =>
  Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: LONGEST_SIDE,
      description: `Resizes an image to at most this ${name} in pixels; it is never enlarged.`,
    }),
  )

/** The parameters for sizes that are not listed: each of them is another image to make. */
export const SIDE_PARAMETERS = {
  width: side('width'),
  height: side('height'),
  fit: Type.Optional(
    Type.Enum([...FITS], {
      description:
        'With width and height: inside (the default) keeps the whole image and its proportions, cover crops what exceeds them, contain adds borders.',
    }),
  ),
}

const VariantQuery = Type.Object({ ...SIZE_PARAMETERS, ...SIDE_PARAMETERS })
type VariantQuery = Static<typeof VariantQuery>

/** A resized image that is asked for. */
export type WantedVariant = {
  resizing: Resizing
  /** Undefined: that of the image. */
  format: ImageFormat | undefined
  /** Whether the format depends on `Accept`. */
  isNegotiated: boolean
  /** The parameter to name if the file is no image. */
  parameter: 'size' | 'width' | 'height'
}

/**
 * The resized image that an address asks for.
 *
 * @returns undefined if it asks for the file itself
 * @throws VALIDATION_ERROR
 */
export function wantedVariant(
  query: VariantQuery,
  { accept, sizes }: { accept: string | undefined; sizes: readonly string[] },
): WantedVariant | undefined {
  const resizing = resizingOf(query, sizes)
  if (resizing === undefined) {
    const stray = (['fit', 'format'] as const).find((name) => query[name] !== undefined)
    if (stray) throw invalid({ path: `/query/${stray}`, message: 'needs a size, or a width or a height' })
    return undefined
  }
  return {
    resizing,
    format: query.format ?? namedFormat(accept),
    isNegotiated: query.format === undefined,
    parameter: query.size !== undefined ? 'size' : query.width !== undefined ? 'width' : 'height',
  }
}

function resizingOf(
  { size, width, height, fit }: VariantQuery,
  sizes: readonly string[],
): Resizing | undefined {
  if (size !== undefined) {
    const [stray] = Object.entries({ width, height, fit }).find(([, value]) => value !== undefined) ?? []
    if (stray) throw invalid({ path: `/query/${stray}`, message: 'cannot be combined with size' })
    if (!sizes.includes(size))
      throw invalid({ path: '/query/size', message: `must be one of ${sizes.join(', ')}` })
    const [across, down] = size.split('x').map(Number)
    return { width: across!, height: down ?? across!, fit: down === undefined ? 'inside' : 'cover' }
  }
  if (width === undefined && height === undefined) return undefined
  return {
    ...(width !== undefined && { width }),
    ...(height !== undefined && { height }),
    // One side alone leaves nothing to fit.
    fit: width !== undefined && height !== undefined ? (fit ?? 'inside') : 'inside',
  }
}
