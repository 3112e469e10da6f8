import type sharpModule from 'sharp'

import { ApiError, errors } from '../../../base/errors.ts'
import { onceResolved } from '../../../base/once.ts'
import { createSemaphore } from '../../../base/semaphore.ts'
import { storeErrors } from '../errors.ts'

/** How an image fits into `width` and `height`: as `object-fit` of CSS, where `inside` is scale-down. */
export const FITS = ['cover', 'contain', 'inside'] as const

/** What was asked for, in pixels. At least one of `width` and `height` is given. */
export type Resizing = { width?: number; height?: number; fit: (typeof FITS)[number] }

/** The largest file that is read to be resized. */
export const LARGEST_IMAGE_BYTES = 50 * 1024 * 1024

type Format = {
  /** Whether the bytes begin as this format: libvips chooses its reader by them, and it has readers for SVG and PDF. */
  begins: (bytes: Buffer) => boolean
  /** The format of the result; GIF and AVIF become WebP, because encoding them takes seconds. */
  output: 'jpeg' | 'png' | 'webp'
  maxPixels: number
}

const bytesAt = (bytes: Buffer, at: number, text: string): boolean =>
  bytes.toString('latin1', at, at + text.length) === text
const PIXELS = 50_000_000
const PNG: Format = { begins: (bytes) => bytesAt(bytes, 0, '\x89PNG'), output: 'png', maxPixels: PIXELS }

const FORMATS = new Map<string, Format>([
  ['image/jpeg', { begins: (bytes) => bytesAt(bytes, 0, '\xFF\xD8\xFF'), output: 'jpeg', maxPixels: PIXELS }],
  ['image/png', PNG],
  ['image/apng', PNG],
  [
    'image/webp',
    {
      begins: (bytes) => bytesAt(bytes, 0, 'RIFF') && bytesAt(bytes, 8, 'WEBP'),
      output: 'webp',
      maxPixels: PIXELS,
    },
  ],
  ['image/gif', { begins: (bytes) => bytesAt(bytes, 0, 'GIF8'), output: 'webp', maxPixels: PIXELS }],
  // Its decoder takes some 130 MB and 12 bytes a pixel.
  ['image/avif', { begins: (bytes) => bytesAt(bytes, 4, 'ftypavi'), output: 'webp', maxPixels: 8_000_000 }],
])

/** The types of images that can be resized. */
export const RESIZABLE: readonly string[] = [...FORMATS.keys()]

/** The format of the result for an image of this type; undefined if it cannot be resized. */
export const outputOf = (contentType: string): Format['output'] | undefined =>
  FORMATS.get(contentType)?.output

/** How many bytes of pixels an interlaced PNG may have: all of them are in memory at once. */
const INTERLACED_BYTES_MAX = 100_000_000
const LONGEST_SECONDS = 10
const QUEUE = 100
const WHITE = { r: 255, g: 255, b: 255, alpha: 0 }

/**
 * Resizes images, one at a time: each may take some hundred megabytes, and the processor is the same for all.
 * `sharp` is loaded by the first of them, which takes 25 MB.
 */
export function createResizer() {
  const semaphore = createSemaphore({ limit: 1, queue: QUEUE, retryAfter: 5 })
  const loadSharp = onceResolved(async () => {
    const { default: sharp } = await import('sharp')
    sharp.concurrency(1)
    // It would remember the last results, up to 50 MB.
    sharp.cache(false)
    return sharp
  })

  const load = (): Promise<typeof sharpModule> =>
    loadSharp().catch((error: unknown) => {
      throw errors.unavailable({ message: 'This server cannot resize images.', cause: error })
    })

  async function resize(
    source: Buffer,
    contentType: string,
    { width, height, fit }: Resizing,
  ): Promise<Buffer> {
    const { begins, output, maxPixels } = FORMATS.get(contentType)!
    if (!begins(source)) throw storeErrors.image_unreadable()
    const sharp = await load()
    try {
      const image = sharp(source, { limitInputPixels: maxPixels, failOn: 'error' })
      const { format, isProgressive, width: across, height: down, channels, depth } = await image.metadata()
      const bytes = across * down * channels * (depth === 'ushort' ? 2 : 1)
      if (format === 'png' && isProgressive && bytes > INTERLACED_BYTES_MAX)
        throw storeErrors.image_too_large({
          message: `An interlaced PNG can be resized up to ${INTERLACED_BYTES_MAX / 1e6} million bytes of pixels: this one has more.`,
        })
      return await image
        .autoOrient()
        .resize({
          ...(width !== undefined && { width }),
          ...(height !== undefined && { height }),
          fit,
          withoutEnlargement: true,
          background: WHITE,
        })
        .timeout({ seconds: LONGEST_SECONDS })
        .toFormat(output)
        .toBuffer()
    } catch (error) {
      if (error instanceof ApiError) throw error
      const { message } = error as Error
      if (message.includes('pixel limit'))
        throw storeErrors.image_too_large({
          message: `An image of this type can be resized up to ${maxPixels / 1e6} million pixels: this one has more.`,
          cause: error,
        })
      if (message.startsWith('timeout')) throw storeErrors.image_too_large({ cause: error })
      throw storeErrors.image_unreadable({ cause: error })
    }
  }

  return {
    /**
     * Resizes an image without enlarging it; turns it as its EXIF orientation says, and leaves out its metadata. Of an
     * animation, the first image.
     *
     * @param read reads the source, once its time has come
     * @param contentType one of `RESIZABLE`
     * @throws IMAGE_UNREADABLE, IMAGE_TOO_LARGE; UNAVAILABLE if too many wait; what `read` throws
     */
    resize: (read: () => Promise<Buffer>, contentType: string, resizing: Resizing): Promise<Buffer> =>
      semaphore.run(async () => resize(await read(), contentType, resizing)),
  }
}
