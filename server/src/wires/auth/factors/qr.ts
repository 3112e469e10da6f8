import { onceResolved } from '../../../base/once.ts'

/** Light modules around a code (ISO/IEC 18004, section 6.3.8). */
const QUIET_ZONE = 4

const loadUqr = onceResolved(() => import('uqr'))

/** A QR code of a text, for pages and for terminals. */
export type QrCode = { svg: string; text: string }

/**
 * Draws a text as a QR code.
 *
 * @param title what a screen reader says; no markup
 * @returns `svg`: black on white whatever the page's colours are, and as large as its place; `text`: lines of half blocks, the
 *   light modules in the text's colour, so for light text on a dark background
 */
export async function qrCode(text: string, title: string): Promise<QrCode> {
  const { encode, renderUnicodeCompact } = await loadUqr()
  const { size, data } = encode(text, { border: QUIET_ZONE })
  return { svg: svgOf(data, size, title), text: renderUnicodeCompact(text, { border: QUIET_ZONE }) }
}

const svgOf = (rows: readonly (readonly boolean[])[], size: number, title: string): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size} ${size}" role="img" shape-rendering="crispEdges">` +
  `<title>${title}</title><path fill="#fff" d="M0 0h${size}v${size}H0z"/><path fill="#000" d="${pathOf(rows)}"/></svg>`

/** A rectangle for each run of dark modules in a row. */
const pathOf = (rows: readonly (readonly boolean[])[]): string =>
  rows
    .flatMap((row, y) =>
      Array.from(
        row
          .map((isDark) => (isDark ? '1' : '0'))
          .join('')
          .matchAll(/1+/g),
        ({ index, 0: run }) => `M${index} ${y}h${run.length}v1H${index}z`,
      ),
    )
    .join('')
