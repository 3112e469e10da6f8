import type { Readable } from 'node:stream'

import { storeErrors } from '../../../errors.ts'
import type { Objects } from '../../../objects/objects.ts'
import type { FileRow } from '../../files.ts'

/** The largest file that is read to be decoded. */
export const LARGEST_IMAGE_BYTES = 50 * 1024 * 1024

/** The bytes of an image, which are read when a decoder is there. */
export type ImageSource = { size: number; open: () => Promise<Readable> }

/**
 * The bytes of an image, of at most `LARGEST_IMAGE_BYTES`.
 *
 * @throws IMAGE_TOO_LARGE
 */
export function imageSource(objects: Objects, { object, size }: FileRow): ImageSource {
  if (size > LARGEST_IMAGE_BYTES)
    throw storeErrors.image_too_large({
      message: `Images of up to ${LARGEST_IMAGE_BYTES} bytes can be resized: this one has ${size}.`,
    })
  return { size, open: () => objects.read('uploads', object) }
}
