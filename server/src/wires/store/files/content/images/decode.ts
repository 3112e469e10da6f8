import type sharpModule from 'sharp'
import type { Metadata, Sharp as SharpImage } from 'sharp'
import { rgbaToThumbHash } from 'thumbhash'

import { ApiError, errors } from '../../../../../base/errors.ts'
import { storeErrors } from '../../../errors.ts'
import { sourceFormat, type ImageFormat } from './image-formats.ts'
import type { ImageSummary, Resizing } from './image-tasks.ts'
import { release } from './release.ts'

/** How much of a progressive JPEG or an interlaced PNG may be in memory. */
const WHOLE_BYTES_MAX = 75_000_000
/** How many pixels are encoded as AVIF or WebP: each takes 25 bytes of memory, and 43 with an alpha channel. */
const PIXELS_MAX = 2048 * 2048
const ALPHA_PIXELS_MAX = 2_500_000
/** The largest image of which a ThumbHash is made. */
const HASHED_SIDE = 100
const LONGEST_SECONDS = 10
const WHITE = { r: 255, g: 255, b: 255 }
/** At this effort AVIF takes as long as WebP for half of its bytes; the default takes twenty times as long for 2 % less. */
const AVIF = { effort: 0, chromaSubsampling: '4:2:0' }

export type Sharp = typeof sharpModule

/** @throws UNAVAILABLE */
export async function loadSharp(): Promise<Sharp> {
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

/**
 * @param source is released as soon as it is decoded
 * @throws IMAGE_UNREADABLE, IMAGE_TOO_LARGE
 */
export async function resize(
  sharp: Sharp,
  source: Buffer,
  contentType: string,
  resizing: Resizing,
  wanted: ImageFormat,
): Promise<{ bytes: Buffer; format: ImageFormat }> {
  return readable(contentType, async () => {
    const { image, size, hasAlpha } = await open(sharp, source, contentType)
    const { width, height, fit } = resizing
    const hasAlphaOut = wanted !== 'jpeg' && (hasAlpha || fit === 'contain')
    const isLarge = pixelsOf(size, resizing) > (hasAlphaOut ? ALPHA_PIXELS_MAX : PIXELS_MAX)
    image
      .autoOrient()
      .resize({
        ...(width !== undefined && { width }),
        ...(height !== undefined && { height }),
        fit,
        withoutEnlargement: true,
        background: { ...WHITE, alpha: hasAlphaOut ? 0 : 1 },
      })
      .timeout({ seconds: LONGEST_SECONDS })
    if (wanted === 'jpeg') image.flatten({ background: WHITE })
    if (wanted === 'png' || (isLarge && hasAlphaOut))
      return { bytes: await image.png().toBuffer(), format: 'png' }
    // The best tables of JPEG need all of the image in memory.
    if (wanted === 'jpeg' || isLarge)
      return { bytes: await image.jpeg({ optimizeCoding: !isLarge }).toBuffer(), format: 'jpeg' }
    return { bytes: await encode(sharp, source, image, wanted), format: wanted }
  })
}

/** Encodes AVIF or WebP once the decoder has ended: both at once take more memory. */
async function encode(
  sharp: Sharp,
  source: Buffer,
  image: SharpImage,
  format: 'avif' | 'webp',
): Promise<Buffer> {
  const { data, info } = await image.raw({ depth: 'uchar' }).toBuffer({ resolveWithObject: true })
  release(source)
  const { width, height, channels } = info
  return sharp(data, { raw: { width, height, channels } })
    .toFormat(format, format === 'avif' ? AVIF : {})
    .timeout({ seconds: LONGEST_SECONDS })
    .toBuffer()
}

/** @throws as `resize` */
export async function summarize(sharp: Sharp, source: Buffer, contentType: string): Promise<ImageSummary> {
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
  const metadata = await image.metadata()
  if (wholeBytes(metadata) > WHOLE_BYTES_MAX)
    throw storeErrors.image_too_large({
      message: `A progressive JPEG or an interlaced PNG can be resized up to ${WHOLE_BYTES_MAX / 1e6} million bytes once it is unpacked: this one has more.`,
    })
  return { image, size: metadata.autoOrient, hasAlpha: metadata.hasAlpha }
}

/** How much of the image the reader has in memory at once, beside some rows: all of it if its rows come in several passes. */
function wholeBytes({
  format,
  isProgressive,
  width,
  height,
  channels,
  depth,
  chromaSubsampling,
}: Metadata): number {
  const samples = width * height * (chromaSubsampling === '4:2:0' ? 1.5 : channels)
  if (!isProgressive) return 0
  // Coefficients of JPEG have 16 bits.
  if (format === 'jpeg') return 2 * samples
  return format === 'png' ? samples * (depth === 'ushort' ? 2 : 1) : 0
}

/** How many pixels the result has at most. */
function pixelsOf(size: Size, { width = Infinity, height = Infinity, fit }: Resizing): number {
  if (fit !== 'inside') return width * height
  const scale = Math.min(1, width / size.width, height / size.height)
  return Math.round(size.width * scale) * Math.round(size.height * scale)
}

const millions = (count: number): number => Number((count / 1e6).toFixed(1))

/** @throws IMAGE_UNREADABLE, IMAGE_TOO_LARGE in place of what `sharp` throws */
async function readable<T>(contentType: string, task: () => Promise<T>): Promise<T> {
  try {
    return await task()
  } catch (error) {
    if (error instanceof ApiError) throw error
    const { message } = error as Error
    if (message.includes('pixel limit'))
      throw storeErrors.image_too_large({
        message: `An image of this type can be resized up to ${millions(sourceFormat(contentType)!.maxPixels)} million pixels: this one has more.`,
        cause: error,
      })
    if (message.startsWith('timeout')) throw storeErrors.image_too_large({ cause: error })
    throw storeErrors.image_unreadable({ cause: error })
  }
}
