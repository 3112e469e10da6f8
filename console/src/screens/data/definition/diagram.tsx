import { href } from '../../../parts/router.tsx'
import { BOX_HEIGHT, BOX_WIDTH, layoutOf, type Arrow } from './diagram-layout.ts'

const NAME_MAX = 20
const LABEL_MAX = 18

const cut = (text: string, max: number): string => (text.length > max ? `${text.slice(0, max - 1)}…` : text)

/** Collections as boxes, their relations as arrows with the name of the field. The table beside it says the same. */
export function Diagram(props: { names: readonly string[]; arrows: readonly Arrow[]; current?: string }) {
  const { boxes, curves, width, height } = layoutOf(props.names, props.arrows)
  return (
    <div class="diagram" tabIndex={0} role="region" aria-label="Diagram of the relations">
      <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`}>
        <defs>
          <marker
            id="arrow-head"
            viewBox="0 0 8 8"
            refX="7"
            refY="4"
            markerWidth="8"
            markerHeight="8"
            orient="auto"
          >
            <path d="M0 0L8 4L0 8z" />
          </marker>
        </defs>
        {/* The table has them for readers of a screen reader. */}
        <g aria-hidden="true">
          {curves.map(({ from, field, path, labelX, labelY }) => (
            <g key={`${from} ${field}`} class="relation">
              <path d={path} marker-end="url(#arrow-head)" />
              <text x={labelX} y={labelY} text-anchor="middle">
                {cut(field, LABEL_MAX)}
              </text>
            </g>
          ))}
        </g>
        {boxes.map(({ name, x, y }) => (
          <a key={name} href={href(['data', name])} class={name === props.current ? 'current' : undefined}>
            <title>{name}</title>
            <rect x={x} y={y} width={BOX_WIDTH} height={BOX_HEIGHT} rx="8" />
            <text x={x + BOX_WIDTH / 2} y={y + BOX_HEIGHT / 2 + 5} text-anchor="middle">
              {cut(name, NAME_MAX)}
            </text>
          </a>
        ))}
      </svg>
    </div>
  )
}
