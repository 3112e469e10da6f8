import type { Bar } from '../../../parts/chart.tsx'
import { Text } from '../../../parts/text.tsx'

const WIDTH = 100

/** Values one below the other, each with a bar: the table is the picture. */
export function Ranked(props: { title: string; bars: readonly Bar[]; text: (value: number) => string }) {
  const { title, bars, text } = props
  const most = Math.max(...bars.map(({ total = 0 }) => total), 0) || 1
  return (
    <table class="ranked">
      <caption class="quiet">{title}</caption>
      <tbody>
        {bars.map(({ label, total = 0 }) => (
          <tr key={label}>
            <th scope="row">
              <Text>{label}</Text>
            </th>
            <td class="ranked-bar">
              <svg viewBox={`0 0 ${WIDTH} 10`} preserveAspectRatio="none" aria-hidden="true">
                <rect width={Math.max(0, (total / most) * WIDTH)} height={10} />
              </svg>
            </td>
            <td class="number">{text(total)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
