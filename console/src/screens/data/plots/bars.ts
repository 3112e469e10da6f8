import type { Bar } from '../../../parts/chart.tsx'
import { six } from '../../../parts/session.ts'
import type { GridQuery } from '../documents.ts'
import type { SavedPlot } from '../views.ts'

export const MEASURES: readonly (readonly [SavedPlot['measure'], string])[] = [
  ['count', 'Number of documents'],
  ['sum', 'Sum'],
  ['average', 'Average'],
]

export const SLOTS: readonly (readonly [SavedPlot['slot'], string])[] = [
  ['', 'Each value'],
  ['hour', 'Each hour'],
  ['day', 'Each day'],
  ['week', 'Each week'],
  ['month', 'Each month'],
]

/** How many a collection may have. */
export const PLOTS_MAX = 3
const TIMES_MAX = 60
const VALUES_MAX = 12

/** What a plot shows, in words: `Sum of price by day of createdAt`. */
export function titleOf({ measure, field, by, slot }: SavedPlot): string {
  const what = measure === 'count' ? 'Documents' : `${measure === 'sum' ? 'Sum' : 'Average'} of ${field}`
  return `${what} by ${slot ? `${slot} of ` : ''}${by}`
}

export type PlotBars = { bars: Bar[]; hasMore: boolean }

/** Asks the server for the bars: the newest times, or the values that most documents have. */
export async function loadBars(
  collection: string,
  plot: SavedPlot,
  { filter, search }: Pick<GridQuery, 'filter' | 'search'>,
  signal: AbortSignal,
): Promise<PlotBars> {
  const { measure, field, by, slot } = plot
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions()
  const { data, more } = await six.call('GET /store/:collection/aggregate', {
    params: { collection },
    query: {
      by: slot ? `${by}:${slot}` : by,
      ...(measure !== 'count' && { [measure]: field }),
      ...(filter && { filter }),
      ...(search && { search }),
      timeZone,
      sort: slot ? '-by' : '-count',
      limit: slot ? TIMES_MAX : VALUES_MAX,
    },
    signal,
  })
  const groups = data.map((group) => ({
    key: group.by[by],
    total: measure === 'count' ? group.count : (group[measure]?.[field!] ?? 0),
  }))
  return { bars: slot ? barsOfTimes(groups, slot) : groups.map(barOfValue), hasMore: more }
}

type Group = { key: unknown; total: number }

const barOfValue = ({ key, total }: Group): Bar => ({
  label: key === null ? 'none' : typeof key === 'string' ? key : JSON.stringify(key),
  total,
})

const FORMATS = {
  hour: new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', hour: '2-digit' }),
  day: new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', year: '2-digit' }),
  week: new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', year: '2-digit' }),
  month: new Intl.DateTimeFormat(undefined, { month: 'short', year: 'numeric' }),
} as const

/** Bars of times in their order, those without documents as well; the newest ones, if they are too many. */
function barsOfTimes(groups: readonly Group[], slot: keyof typeof FORMATS): Bar[] {
  const totals = new Map(
    groups.flatMap(({ key, total }) => (typeof key === 'string' ? [[Date.parse(key), total]] : [])),
  )
  const times = [...totals.keys()]
  if (times.length === 0) return []
  const oldest = Math.min(...times)
  const bars: Bar[] = []
  for (let at = Math.max(...times); at >= oldest && bars.length < TIMES_MAX; at = before(at, slot))
    bars.unshift({ label: FORMATS[slot].format(new Date(at)), total: totals.get(at) ?? 0 })
  return bars
}

/** The beginning of the slot before another one, by the clocks of the browser. */
function before(ms: number, slot: keyof typeof FORMATS): number {
  if (slot === 'hour') return ms - 3_600_000
  const at = new Date(ms)
  const [year, month, day] = [at.getFullYear(), at.getMonth(), at.getDate()]
  if (slot === 'month') return new Date(year, month - 1, 1).getTime()
  return new Date(year, month, day - (slot === 'week' ? 7 : 1)).getTime()
}
