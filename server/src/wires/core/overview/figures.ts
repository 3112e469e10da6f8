import { within } from '../../../base/within.ts'
import type { Figure } from '../../../kernel/wire/figure.ts'

const READ_LIMIT_MS = 2_000

/** A figure with its value, and the wire that it is from. */
export type ShownFigure = Omit<Figure, 'read'> & { wire: string; value: number | string | null }

/** Reads all figures; those that fail or take longer than 2 seconds are left out. */
export async function readFigures(
  figures: readonly { readonly wire: string; readonly figure: Figure }[],
): Promise<ShownFigure[]> {
  const values = await Promise.all(
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
  return values.flat()
}
