/** The formats in which an image can be answered. */
export const IMAGE_FORMATS = ['avif', 'webp', 'jpeg', 'png'] as const
export type ImageFormat = (typeof IMAGE_FORMATS)[number]

export type SourceFormat = {
  /** Whether the bytes begin as this format: libvips chooses its reader by them, and it has readers for SVG and PDF. */
  begins: (bytes: Buffer) => boolean
  /** The format of the result if the client names none that is smaller. */
  output: ImageFormat
  maxPixels: number
}

const bytesAt = (bytes: Buffer, at: number, text: string): boolean =>
  bytes.toString('latin1', at, at + text.length) === text
const PIXELS = 50_000_000
const PNG: SourceFormat = {
  begins: (bytes) => bytesAt(bytes, 0, '\x89PNG'),
  output: 'png',
  maxPixels: PIXELS,
}

const SOURCES = new Map<string, SourceFormat>([
  ['image/jpeg', { begins: (bytes) => bytesAt(bytes, 0, '\xFF\xD8\xFF'), output: 'jpeg', maxPixels: PIXELS }],
  ['image/png', PNG],
  ['image/apng', PNG],
  [
    'image/webp',
    {
      begins: (bytes) => bytesAt(bytes, 0, 'RIFF') && bytesAt(bytes, 8, 'WEBP'),
      output: 'webp',
      maxPixels: 16_000_000,
    },
  ],
  ['image/gif', { begins: (bytes) => bytesAt(bytes, 0, 'GIF8'), output: 'webp', maxPixels: 16_000_000 }],
  // Its decoder takes some 130 MB and 12 bytes a pixel.
  ['image/avif', { begins: (bytes) => bytesAt(bytes, 4, 'ftypavi'), output: 'webp', maxPixels: 2048 * 2048 }],
])

/** The types of images that can be resized. */
export const RESIZABLE: readonly string[] = [...SOURCES.keys()]

/** What is known of the images of a type; undefined if they cannot be resized. */
export const sourceFormat = (contentType: string): SourceFormat | undefined => SOURCES.get(contentType)

/**
 * The smallest format that an `Accept` header names. Wildcards do not count: every client sends them.
 *
 * @returns undefined if it names neither AVIF nor WebP
 */
export function namedFormat(accept = ''): ImageFormat | undefined {
  const named = accept
    .toLowerCase()
    .split(',')
    .map((range) => range.split(';').map((part) => part.trim()))
    .filter(([, ...parameters]) => !parameters.some((one) => /^q=0(?:\.0*)?$/.test(one)))
    .map(([type]) => type)
  return (['avif', 'webp'] as const).find((format) => named.includes(`image/${format}`))
}
