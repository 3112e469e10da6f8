import { bytes } from '../../parts/text.tsx'
import type { Bar, BarTone } from '../../parts/chart.tsx'
import type { Api } from '../../../../client/src/index.ts'

type SeriesPage = Api['GET /core/series']['reply']

type Series = SeriesPage['series'][number]
type Part = Series['parts'][number]

/** What one tile shows: a series, or one currency of it. */
export type SeriesTile = {
  name: string
  title: string
  kind: Series['kind']
  opens: string | undefined
  unit: string
  total: string
  totalBefore: string
  /** By how much it changed, as a part of what was before; undefined if nothing was before. */
  change: number | undefined
  /** Whether more of it is worse. */
  isWorse: boolean
  isEmpty: boolean
  /** Whether there was none in the time before. */
  isNew: boolean
  /** Whether it is known how many there were before. */
  isComparable: boolean
  bars: readonly Bar[]
  /** The totals of its parts, if it has several. */
  parts: readonly { name: string; total: string; tone: BarTone | undefined }[]
  text: (value: number) => string
}

const MORE_IS_WORSE: ReadonlySet<string> = new Set(['errors', 'refunds', 'jobs', 'chain-lag'])
const TONES: Readonly<Record<string, BarTone>> = { failed: 'bad', bounced: 'bad', refused: 'warning' }
const CURRENCY = /^[A-Z]{3}$/
/** More currencies would hide the rest; the table of payments has all. */
const CURRENCIES_MAX = 4

/** What an owner asks first; others come behind. */
const ORDER = [
  'revenue',
  'refunds',
  'active-users',
  'sign-ups',
  'messages',
  'requests',
  'errors',
  'stored-bytes',
  'jobs',
  'chain-lag',
]
const placeOf = ({ name }: Series): number => (ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length)

/** The tiles of all series: one each, and of money one for each currency, the largest first. */
export function tilesOf({ slots, series }: SeriesPage): SeriesTile[] {
  const isByHour = slots.length === 24
  const labels = slots.map((at) => labelOf(at, isByHour))
  return series
    .toSorted((a, b) => placeOf(a) - placeOf(b))
    .flatMap((one) => {
      if (one.unit !== 'money') return [tileOf(one, one.parts, one.title, labels)]
      const largest = one.parts.toSorted(
        (a, b) => b.values.filter(isSome).length - a.values.filter(isSome).length,
      )
      if (largest.length === 0) return [tileOf(one, [], one.title, labels)]
      return largest
        .slice(0, CURRENCIES_MAX)
        .map((part) => tileOf(one, [part], `${one.title}, ${part.part}`, labels))
    })
}

const isSome = (value: string | null): boolean => value !== '0' && value !== null

const hourOf = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' })
const dayOf = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' })
const labelOf = (at: string, isByHour: boolean): string => (isByHour ? hourOf : dayOf).format(new Date(at))

function tileOf(
  series: Series,
  parts: readonly Part[],
  title: string,
  labels: readonly string[],
): SeriesTile {
  const write = writerOf(series.unit, parts[0])
  const [total, before] = [sumOf(parts, 'total'), sumOf(parts, 'before')]
  const named = parts.filter(({ part }) => part !== '' && parts.length > 1)
  return {
    name: series.name,
    title,
    kind: series.kind,
    opens: series.opens,
    unit: series.unit === 'blocks' ? 'blocks' : '',
    total: write(total),
    totalBefore: write(before),
    change: before > 0n ? Number(total - before) / Number(before) : undefined,
    isWorse: MORE_IS_WORSE.has(series.name),
    isEmpty: total === 0n && before === 0n && !parts.some(({ values }) => values.some(isSome)),
    isNew: before === 0n,
    isComparable: parts.every((part) => part.before !== null),
    bars: labels.map((label, at) => ({
      label,
      total: parts.some(({ values }) => values[at] !== null)
        ? parts.reduce((sum, { values }) => sum + Number(values[at]), 0)
        : undefined,
      tone: parts.length === 1 ? TONES[parts[0]!.part] : undefined,
      parts: named.map(({ part, values }) => ({ name: part, value: Number(values[at]), tone: TONES[part] })),
    })),
    parts: named
      .filter(({ total: one }) => isSome(one))
      .map(({ part, total: one }) => ({ name: part, total: write(BigInt(one)), tone: TONES[part] })),
    text: (value) => write(BigInt(Math.round(value))),
  }
}

const sumOf = (parts: readonly Part[], field: 'total' | 'before'): bigint =>
  parts.reduce((sum, part) => sum + BigInt(part[field] ?? 0), 0n)

/** How whole numbers of a unit are written. */
function writerOf(unit: Series['unit'], part: Part | undefined): (value: bigint) => string {
  if (unit === 'bytes') return (value) => bytes(Number(value))
  if (unit !== 'money' || !part) return (value) => value.toLocaleString()
  const exponent = part.exponent ?? 2
  const currency = part.part.split(' ')[0]!
  const digits = {
    minimumFractionDigits: Math.min(exponent, 2),
    maximumFractionDigits: Math.min(exponent, 8),
  }
  const format = CURRENCY.test(currency)
    ? new Intl.NumberFormat(undefined, { style: 'currency', currency, ...digits })
    : new Intl.NumberFormat(undefined, digits)
  const suffix = CURRENCY.test(currency) ? '' : ` ${currency}`
  // As text, which is exact.
  return (value) => format.format(decimalOf(value, exponent) as Intl.StringNumericLiteral) + suffix
}

function decimalOf(value: bigint, exponent: number): string {
  const digits = (value < 0n ? -value : value).toString().padStart(exponent + 1, '0')
  const at = digits.length - exponent
  return `${value < 0n ? '-' : ''}${digits.slice(0, at)}${exponent > 0 ? `.${digits.slice(at)}` : ''}`
}
