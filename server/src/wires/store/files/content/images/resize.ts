import type sharpModule from 'sharp'
import type { Sharp as SharpImage } from 'sharp'
import { rgbaToThumbHash } from 'thumbhash'

import { ApiError, errors } from '../../../../../base/errors.ts'
import { FairSemaphore } from '../../../../../base/fair-semaphore.ts'
import { onceResolved } from '../../../../../base/once.ts'
import { storeErrors } from '../../../errors.ts'
import { sourceFormat, type ImageFormat } from './image-formats.ts'

/** How an image fits into `width` and `height`: as `object-fit` of CSS, where `inside` is scale-down. */
export const FITS = ['cover', 'contain', 'inside'] as const

/** What was asked for, in pixels. At least one of `width` and `height` is given; both, unless `fit` is `inside`. */
export type Resizing = { width?: number; height?: number; fit: (typeof FITS)[number] }

/** The largest file that is read to be resized. */
export const LARGEST_IMAGE_BYTES = 50 * 1024 * 1024

/** Who asks for an image, and whether they still wait for it. */
export type ImageCaller = { name: string; signal?: AbortSignal }

/** What is done with an image while no other one is decoded. */
export type Decoding = {
  /**
   * Resizes an image without enlarging it; turns it as its EXIF orientation says, and leaves out its metadata. Of an animation,
   * the first image. What has too many pixels for AVIF becomes WebP.
   *
   * @param contentType one of `RESIZABLE`
   * @throws IMAGE_UNREADABLE, IMAGE_TOO_LARGE; UNAVAILABLE if `sharp` cannot be loaded
   */
  resize(
    source: Buffer,
    contentType: string,
    resizing: Resizing,
    format: ImageFormat,
  ): Promise<{ bytes: Buffer; format: ImageFormat }>
  /**
   * What the record of an image says of it.
   *
   * @param contentType one of `RESIZABLE`
   * @throws as `resize`
   */
  summarize(source: Buffer, contentType: string): Promise<ImageSummary>
}

/** The size of an image once it is turned, and a blurred preview: a ThumbHash (https://evanw.github.io/thumbhash/) in Base64. */
export type ImageSummary = { width: number; height: number; preview: string }

/** How many bytes of pixels an interlaced PNG may have: all of them are in memory at once. */
const INTERLACED_BYTES_MAX = 100_000_000
/** How many pixels of AVIF are encoded: 25 bytes of memory for each. */
const AVIF_PIXELS_MAX = 2048 * 2048
/** The largest image of which a ThumbHash is made. */
const HASHED_SIDE = 100
const LONGEST_SECONDS = 10
const WAIT_MS = 30_000
const WHITE = { r: 255, g: 255, b: 255 }
/** At this effort AVIF takes as long as WebP for half of its bytes; the default takes twenty times as long for 2 % less. */
const AVIF = { effort: 0, chromaSubsampling: '4:2:0' }

type Sharp = typeof sharpModule

/**
 * Decodes images, one at a time: each may take some hundred megabytes, and the processor is the same for all. Callers take turns,
 * so that those who ask for hundreds keep nobody out. `sharp` is loaded by the first of them, which takes 25 MB.
 */
export function createResizer() {
  const places = new FairSemaphore({
    total: 1,
    ofCaller: () => 1,
    waiting: { total: 1000, ofCaller: 100 },
    waitMs: WAIT_MS,
  })
  const load = onceResolved(loadSharp)
  const decoding: Decoding = {
    resize: async (...wanted) => resize(await load(), ...wanted),
    summarize: async (...image) => summarize(await load(), ...image),
  }

  return {
    /**
     * Runs a task that may decode images, as the only one.
     *
     * @throws TOO_MANY_CONCURRENT if the caller waits for too many; UNAVAILABLE if all together do, or it waited too long
     */
    async run<T>({ name, signal }: ImageCaller, task: (decoding: Decoding) => Promise<T>): Promise<T> {
      await places.take(name, 1, signal)
      try {
        return await task(decoding)
      } finally {
        places.give(name, 1)
      }
    },
  }
}

export type Resizer = ReturnType<typeof createResizer>

/** @throws UNAVAILABLE */
async function loadSharp(): Promise<Sharp> {
  try {
    const { default: sharp } = await import('sharp')
    sharp.concurrency(1)
    // It would remember the last results, up to 50 MB.
    sharp.cache(false)
    return sharp
  } catch (error) {
    throw errors.unavailable({ message: 'This server cannot resize images.', cause: error })
  }
}

async function resize(
  sharp: Sharp,
  source: Buffer,
  contentType: string,
  { width, height, fit }: Resizing,
  wanted: ImageFormat,
): Promise<{ bytes: Buffer; format: ImageFormat }> {
  return readable(contentType, async () => {
    const { image, size } = await open(sharp, source, contentType)
    const isLarge = pixelsOf(size, { width, height, fit }) > AVIF_PIXELS_MAX
    const format = wanted === 'avif' && isLarge ? 'webp' : wanted
    const isOpaque = format === 'jpeg'
    image
      .autoOrient()
      .resize({
        ...(width !== undefined && { width }),
        ...(height !== undefined && { height }),
        fit,
        withoutEnlargement: true,
        background: { ...WHITE, alpha: isOpaque ? 1 : 0 },
      })
      .timeout({ seconds: LONGEST_SECONDS })
    if (isOpaque) image.flatten({ background: WHITE })
    const bytes = format === 'avif' ? await toAvif(sharp, image) : await image.toFormat(format).toBuffer()
    return { bytes, format }
  })
}

/** Encodes AVIF once the decoder has ended: both at once take 80 MB more. */
async function toAvif(sharp: Sharp, image: SharpImage): Promise<Buffer> {
  const { data, info } = await image.raw({ depth: 'uchar' }).toBuffer({ resolveWithObject: true })
  const { width, height, channels } = info
  return sharp(data, { raw: { width, height, channels } })
    .avif(AVIF)
    .timeout({ seconds: LONGEST_SECONDS })
    .toBuffer()
}

async function summarize(sharp: Sharp, source: Buffer, contentType: string): Promise<ImageSummary> {
  return readable(contentType, async () => {
    const { image, size } = await open(sharp, source, contentType)
    const { data, info } = await image
      .autoOrient()
      .resize({ width: HASHED_SIDE, height: HASHED_SIDE, fit: 'inside', withoutEnlargement: true })
      .toColourspace('srgb')
      .ensureAlpha()
      .timeout({ seconds: LONGEST_SECONDS })
      .raw()
      .toBuffer({ resolveWithObject: true })
    const preview = Buffer.from(rgbaToThumbHash(info.width, info.height, data)).toString('base64')
    return { ...size, preview }
  })
}

type Size = { width: number; height: number }

/** Opens an image whose decoding takes no more memory than it may. @returns also its size, once it is turned */
async function open(sharp: Sharp, source: Buffer, contentType: string) {
  const { begins, maxPixels } = sourceFormat(contentType)!
  if (!begins(source)) throw storeErrors.image_unreadable()
  const image = sharp(source, { limitInputPixels: maxPixels, failOn: 'error' })
  const { format, isProgressive, width, height, channels, depth, autoOrient } = await image.metadata()
  const bytes = width * height * channels * (depth === 'ushort' ? 2 : 1)
  if (format === 'png' && isProgressive && bytes > INTERLACED_BYTES_MAX)
    throw storeErrors.image_too_large({
      message: `An interlaced PNG can be resized up to ${INTERLACED_BYTES_MAX / 1e6} million bytes of pixels: this one has more.`,
    })
  return { image, size: autoOrient }
}

/** How many pixels the result has at most. */
function pixelsOf(
  size: Size,
  {
    width = Infinity,
    height = Infinity,
    fit,
  }: { width: number | undefined; height: number | undefined; fit: Resizing['fit'] },
): number {
  if (fit !== 'inside') return width * height
  const scale = Math.min(1, width / size.width, height / size.height)
  return Math.round(size.width * scale) * Math.round(size.height * scale)
}

/** @throws IMAGE_UNREADABLE, IMAGE_TOO_LARGE in place of what `sharp` throws */
async function readable<T>(contentType: string, task: () => Promise<T>): Promise<T> {
  try {
    return await task()
  } catch (error) {
    if (error instanceof ApiError) throw error
    const { message } = error as Error
    if (message.includes('pixel limit'))
      throw storeErrors.image_too_large({
        message: `An image of this type can be resized up to ${sourceFormat(contentType)!.maxPixels / 1e6} million pixels: this one has more.`,
        cause: error,
      })
    if (message.startsWith('timeout')) throw storeErrors.image_too_large({ cause: error })
    throw storeErrors.image_unreadable({ cause: error })
  }
}
