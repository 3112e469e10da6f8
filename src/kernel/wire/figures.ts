import { within } from '../../base/within.ts'

const READ_LIMIT_MS = 2_000

/** A figure on the first page of the console: how many accounts there are, or when the last backup was made. */
export type Figure = {
  /** In small letters, with hyphens between words: `unverified-accounts`. */
  readonly name: string
  readonly title: string
  /** What the value is: `time` is ISO 8601, `bytes` and `count` are numbers. */
  readonly kind: 'count' | 'bytes' | 'time' | 'text'
  /** Whether a value above 0, or of a time none, needs attention. */
  readonly isWarning?: boolean
  /** One query that grows slowly with the data, at most; null if there is no value. */
  read(): Promise<number | string | null>
}

/** A figure with its value, and the wire that it is from. */
export type ShownFigure = Omit<Figure, 'read'> & { wire: string; value: number | string | null }

/** Reads all figures; those that fail or take longer than 2 seconds are left out. */
export async function readFigures(
  figures: readonly { readonly wire: string; readonly figure: Figure }[],
): Promise<ShownFigure[]> {
  const shown = await Promise.all(
    figures.map(async ({ wire, figure }) => {
      const { name, title, kind, isWarning } = figure
      try {
        const value = await within(READ_LIMIT_MS, () => figure.read())
        return [{ wire, name, title, kind, ...(isWarning !== undefined && { isWarning }), value }]
      } catch {
        return []
      }
    }),
  )
  return shown.flat()
}
