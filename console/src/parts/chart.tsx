import { useId } from 'preact/hooks'

/** A bar: its whole value, and the parts of it that are drawn in colours of their own, from the bottom up. */
export type Bar = {
  label: string
  total: number
  parts?: readonly { name: string; value: number; tone: 'warning' | 'bad' }[]
}

const HEIGHT = 100
const STEP = 10
const GAP = 2

/**
 * Bars in an SVG, with the numbers in a table behind it for those who do not see them or want them exactly.
 *
 * @param props.title what is counted: `Requests in each hour`
 */
export function Bars({ title, unit, bars }: { title: string; unit: string; bars: readonly Bar[] }) {
  const id = useId()
  const most = Math.max(1, ...bars.map(({ total }) => total))
  const names = [...new Set(bars.flatMap(({ parts = [] }) => parts.map(({ name }) => name)))]
  return (
    <figure class="chart">
      <svg
        viewBox={`0 0 ${bars.length * STEP} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-labelledby={id}
      >
        <title id={id}>{`${title}: at most ${most.toLocaleString()}`}</title>
        {bars.map(({ label, total, parts = [] }, at) => (
          <g key={label}>
            <title>{`${label}: ${[`${total.toLocaleString()} ${unit}`, ...parts.map(({ name, value }) => `${value.toLocaleString()} ${name}`)].join(', ')}`}</title>
            <rect class="hover" x={at * STEP} width={STEP} y={0} height={HEIGHT} />
            <Segments total={total} parts={parts} most={most} x={at * STEP + GAP / 2} />
          </g>
        ))}
      </svg>
      <figcaption>
        <span>{bars.at(0)?.label}</span>
        <span>{bars.at(-1)?.label}</span>
      </figcaption>
      <details>
        <summary>As a table</summary>
        <div class="numbers" tabIndex={0} role="region" aria-label={title}>
          <table>
            <caption class="quiet">{title}</caption>
            <thead>
              <tr>
                <th scope="col">Time</th>
                <th scope="col" class="number">
                  {unit}
                </th>
                {names.map((name) => (
                  <th key={name} scope="col" class="number">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {bars.map(({ label, total, parts = [] }) => (
                <tr key={label}>
                  <th scope="row">{label}</th>
                  <td class="number">{total.toLocaleString()}</td>
                  {names.map((name) => (
                    <td key={name} class="number">
                      {(parts.find((one) => one.name === name)?.value ?? 0).toLocaleString()}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </details>
    </figure>
  )
}

function Segments(props: { total: number; parts: NonNullable<Bar['parts']>; most: number; x: number }) {
  const { total, parts, most, x } = props
  const heightOf = (value: number): number => (value === 0 ? 0 : Math.max(2, (value / most) * HEIGHT))
  let base = HEIGHT
  const width = STEP - GAP
  const rects = parts
    .filter(({ value }) => value > 0)
    .map(({ name, value, tone }) => {
      const height = Math.min(heightOf(value), base)
      base -= height
      return <rect key={name} class={tone} x={x} width={width} y={base} height={height} />
    })
  const top = HEIGHT - Math.max(heightOf(total), HEIGHT - base)
  return (
    <>
      {base > top && <rect class="plain" x={x} width={width} y={top} height={base - top} rx={1} />}
      {rects}
    </>
  )
}

/** A line without axes, for the shape of what the number beside it says. */
export function Sparkline({ title, values }: { title: string; values: readonly number[] }) {
  const most = Math.max(...values, 0)
  const y = (value: number): number => (most === 0 ? 28 : 28 - (value / most) * 26)
  const points = values.map(
    (value, at) => `${(at / Math.max(1, values.length - 1)) * 100},${y(value).toFixed(1)}`,
  )
  return (
    <svg class="spark" viewBox="0 0 100 30" preserveAspectRatio="none" role="img" aria-label={title}>
      <polyline points={points.join(' ')} />
    </svg>
  )
}
