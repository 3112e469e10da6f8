import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

/** A value over time: its whole, and its parts. Those with a tone are drawn in a colour of their own, from the bottom up. */
export type Bar = {
  label: string
  /** Undefined: it is not known. */
  total: number | undefined
  /** Of what is no part with one. */
  tone?: BarTone | undefined
  parts?: readonly { name: string; value: number; tone?: BarTone | undefined }[]
}

export type BarTone = 'warning' | 'bad'

type ChartProps = {
  /** What is shown: `Requests in each hour`. */
  title: string
  unit: string
  bars: readonly Bar[]
  /** Writes a number. Default: by the customs of the reader. */
  text?: ((value: number) => string) | undefined
  kind?: 'bars' | 'line'
  /** What is shown between the picture and the table. */
  children?: ComponentChildren
}

const HEIGHT = 100
const STEP = 10
const GAP = 2

/** Bars, or a line, in an SVG, with the numbers in a table behind it for those who do not see them or want them exactly. */
export function Chart({ kind = 'bars', ...props }: ChartProps) {
  const { title, bars, text = (value) => value.toLocaleString() } = props
  const id = useId()
  const highest = Math.max(...bars.map(({ total = 0 }) => total), 0)
  const most = highest || 1
  return (
    <figure class="chart">
      <svg
        viewBox={`0 0 ${bars.length * STEP} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-labelledby={id}
      >
        <title id={id}>{`${title}: at most ${text(highest)}`}</title>
        {kind === 'line' && <Area values={bars.map(({ total }) => total)} most={most} />}
        {bars.map((bar, at) => (
          <g key={at}>
            <title>{wordsOf(bar, props.unit, text)}</title>
            <rect class="hover" x={at * STEP} width={STEP} y={0} height={HEIGHT} />
            {kind === 'bars' && <Segments {...bar} most={most} x={at * STEP + GAP / 2} />}
          </g>
        ))}
      </svg>
      <figcaption>
        <span>{bars.at(0)?.label}</span>
        <span>{bars.at(-1)?.label}</span>
      </figcaption>
      {props.children}
      <Numbers {...props} text={text} />
    </figure>
  )
}

const wordsOf = (
  { label, total, parts = [] }: Bar,
  unit: string,
  text: (value: number) => string,
): string => {
  const words = parts.filter(({ value }) => value > 0).map(({ name, value }) => `${text(value)} ${name}`)
  return `${label}: ${[`${total === undefined ? 'not known' : text(total)} ${unit}`.trim(), ...words].join(', ')}`
}

/** The table behind a chart. */
function Numbers({
  title,
  unit,
  bars,
  text,
}: Required<Pick<ChartProps, 'title' | 'unit' | 'bars'>> & { text: (value: number) => string }) {
  const names = [...new Set(bars.flatMap(({ parts = [] }) => parts.map(({ name }) => name)))]
  return (
    <details>
      <summary>
        As a table<span class="quiet">: {title}</span>
      </summary>
      <div class="numbers" tabIndex={0} role="region" aria-label={title}>
        <table>
          <caption class="quiet">{title}</caption>
          <thead>
            <tr>
              <th scope="col">Time</th>
              <th scope="col" class="number">
                {unit || 'total'}
              </th>
              {names.map((name) => (
                <th key={name} scope="col" class="number">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {bars.map(({ label, total, parts = [] }, at) => (
              <tr key={at}>
                <th scope="row">{label}</th>
                <td class="number">{total === undefined ? '–' : text(total)}</td>
                {names.map((name) => (
                  <td key={name} class="number">
                    {text(parts.find((one) => one.name === name)?.value ?? 0)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  )
}

/** A line from the first value that is known, and what is below it. */
function Area({ values, most }: { values: readonly (number | undefined)[]; most: number }) {
  const y = (value: number): string => (HEIGHT - (value / most) * (HEIGHT - 6)).toFixed(1)
  const width = values.length * STEP
  const points = values.flatMap((value, at) =>
    value === undefined ? [] : [[at * STEP + STEP / 2, y(value)] as const],
  )
  const [first, last] = [points[0], points.at(-1)]
  if (!first || !last) return null
  const from = first[0] - STEP / 2
  const line = [[from, first[1]], ...points, [width, last[1]]].map((point) => point.join(',')).join(' ')
  return (
    <>
      <polygon class="area" points={`${from},${HEIGHT} ${line} ${width},${HEIGHT}`} />
      <polyline class="line" points={line} />
    </>
  )
}

function Segments(props: Pick<Bar, 'total' | 'parts' | 'tone'> & { most: number; x: number }) {
  const { total = 0, parts = [], tone: toneOfRest = 'plain', most, x } = props
  const heightOf = (value: number): number => (value === 0 ? 0 : Math.max(2, (value / most) * HEIGHT))
  let base = HEIGHT
  const width = STEP - GAP
  const rects = parts
    .filter(({ value, tone }) => value > 0 && tone)
    .map(({ name, value, tone }) => {
      const height = Math.min(heightOf(value), base)
      base -= height
      return <rect key={name} class={tone} x={x} width={width} y={base} height={height} />
    })
  const top = HEIGHT - Math.max(heightOf(total), HEIGHT - base)
  return (
    <>
      {base > top && <rect class={toneOfRest} x={x} width={width} y={top} height={base - top} rx={1} />}
      {rects}
    </>
  )
}
