/** A colour as it is written: `#3b4cf0`. */
export const COLOR = '^#[0-9A-Fa-f]{6}$'

/** As far apart as text and its ground have to be: https://www.w3.org/TR/WCAG22/#contrast-minimum */
const READABLE = 4.5

type Rgb = readonly [red: number, green: number, blue: number]

const BLACK: Rgb = [0, 0, 0]
const WHITE: Rgb = [255, 255, 255]

/** The grounds of pages by day and by night that are nearest to text: `tokens.css` of the console. */
const DAY: Rgb = [233, 236, 245]
const NIGHT: Rgb = [39, 45, 58]

/** The colours of a page that are made of one: each by day and by night. */
export type Palette = Readonly<Record<'accent' | 'fill' | 'tint', [day: string, night: string]>>

/** White or black, whichever can be read better upon a colour. */
export const textOn = (color: string): '#ffffff' | '#000000' =>
  contrast(WHITE, rgbOf(color)) >= contrast(BLACK, rgbOf(color)) ? '#ffffff' : '#000000'

/**
 * What a page is coloured with: texts and lines in `accent` can be read on every ground, white can be read on `fill`, and
 * `accent` on `tint`. Of a colour that is too light or too dark a darker or lighter one is taken.
 */
export function paletteOf(color: string): Palette {
  const own = rgbOf(color)
  const [dayTint, nightTint] = [mixed(own, WHITE, 0.88), mixed(own, [21, 25, 33], 0.75)]
  const fill = hexOf(until(own, BLACK, [WHITE]))
  return {
    accent: [hexOf(until(own, BLACK, [DAY, dayTint])), hexOf(until(own, WHITE, [NIGHT, nightTint]))],
    fill: [fill, fill],
    tint: [hexOf(dayTint), hexOf(nightTint)],
  }
}

/** The colour nearest to one, on the way to black or white, that can be read with all others. */
function until(color: Rgb, end: Rgb, others: readonly Rgb[]): Rgb {
  for (let share = 0; share < 1; share += 0.02) {
    const one = mixed(color, end, share)
    if (others.every((other) => contrast(one, other) >= READABLE)) return one
  }
  return end
}

const mixed = (color: Rgb, end: Rgb, share: number): Rgb =>
  color.map((part, at) => Math.round(part + (end[at]! - part) * share)) as unknown as Rgb

/** https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio */
export function contrastOf(a: string, b: string): number {
  return contrast(rgbOf(a), rgbOf(b))
}

function contrast(a: Rgb, b: Rgb): number {
  const [lighter, darker] = [luminance(a), luminance(b)].toSorted((one, other) => other - one) as [
    number,
    number,
  ]
  return (lighter + 0.05) / (darker + 0.05)
}

/** https://www.w3.org/TR/WCAG22/#dfn-relative-luminance */
function luminance(color: Rgb): number {
  const [red, green, blue] = color.map((part) => {
    const share = part / 255
    return share <= 0.040_45 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  }) as [number, number, number]
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

const rgbOf = (color: string): Rgb =>
  [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16)) as unknown as Rgb

const hexOf = (color: Rgb): string => `#${color.map((part) => part.toString(16).padStart(2, '0')).join('')}`
