import type { ImageFormat } from './image-formats.ts'

/** How an image fits into `width` and `height`: as `object-fit` of CSS, where `inside` is scale-down. */
export const FITS = ['cover', 'contain', 'inside'] as const

/** What was asked for, in pixels. At least one of `width` and `height` is given; both, unless `fit` is `inside`. */
export type Resizing = { width?: number; height?: number; fit: (typeof FITS)[number] }

/** The size of an image once it is turned, and a blurred preview: a ThumbHash (https://evanw.github.io/thumbhash/) in Base64. */
export type ImageSummary = { width: number; height: number; preview: string }

/** What the process that decodes images is asked for, together with the bytes of one. */
export type ImageTask =
  | { kind: 'resize'; contentType: string; resizing: Resizing; format: ImageFormat }
  | { kind: 'summarize'; contentType: string }

/** What the process says, without how much memory it takes. */
export type ImageOutcome =
  /** Before its first task. */
  | { kind: 'ready' }
  /** The bytes of the image are with it. */
  | { kind: 'resize'; format: ImageFormat }
  | { kind: 'summarize'; summary: ImageSummary }
  /** `message` is for the client, `reason` for the log. */
  | { kind: 'failure'; code: FailureCode; message: string; reason: string }

export type FailureCode = 'IMAGE_TOO_LARGE' | 'IMAGE_UNREADABLE' | 'UNAVAILABLE'

/** `grownBytes`: how much more memory the process takes than before its first task. */
export type ImageAnswer = ImageOutcome & { grownBytes: number }
