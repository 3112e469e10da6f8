import { buffer } from 'node:stream/consumers'

import { storeErrors } from '../../../errors.ts'
import type { Objects } from '../../../objects/objects.ts'
import type { FileRow } from '../../files.ts'
import { LARGEST_IMAGE_BYTES } from './resize.ts'

/**
 * The bytes of an image, of at most `LARGEST_IMAGE_BYTES`.
 *
 * @throws IMAGE_TOO_LARGE, IMAGE_UNREADABLE; NoSuchObject; UNAVAILABLE
 */
export async function imageBytes(objects: Objects, { object, size }: FileRow): Promise<Buffer> {
  if (size > LARGEST_IMAGE_BYTES)
    throw storeErrors.image_too_large({
      message: `Images of up to ${LARGEST_IMAGE_BYTES} bytes can be resized: this one has ${size}.`,
    })
  const bytes = await buffer(await objects.read('uploads', object))
  if (bytes.length !== size) throw storeErrors.image_unreadable()
  return bytes
}
