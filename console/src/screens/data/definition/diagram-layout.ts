/*
 * The layout of a diagram: boxes in columns, so that arrows lead to the right where they can.
 */

export type Arrow = { readonly from: string; readonly to: string; readonly field: string }
export type Box = { readonly name: string; readonly x: number; readonly y: number }
export type Curve = Arrow & {
  /** A path of SVG. */
  readonly path: string
  readonly labelX: number
  readonly labelY: number
}
export type Layout = {
  readonly boxes: readonly Box[]
  readonly curves: readonly Curve[]
  readonly width: number
  readonly height: number
}

export const BOX_WIDTH = 168
export const BOX_HEIGHT = 40
const GAP_X = 132
const GAP_Y = 30
const MARGIN = 16
/** How many boxes without arrows stand in a row below the others. */
const APART_IN_ROW = 4

/** Which column each box is in: behind all that lead to it; arrows that would close a circle do not count. */
function columnsOf(names: readonly string[], arrows: readonly Arrow[]): ReadonlyMap<string, number> {
  const columns = new Map<string, number>()
  const path = new Set<string>()
  const visit = (name: string, column: number): void => {
    if (path.has(name) || (columns.get(name) ?? -1) >= column) return
    columns.set(name, column)
    path.add(name)
    for (const { from, to } of arrows) if (from === name && to !== name) visit(to, column + 1)
    path.delete(name)
  }
  const isLedTo = new Set(arrows.filter(({ from, to }) => from !== to).map(({ to }) => to))
  for (const name of names) if (!isLedTo.has(name)) visit(name, 0)
  // What is in a circle that nothing leads to.
  for (const name of names) if (!columns.has(name)) visit(name, 0)
  return columns
}

/** The rows of each column: near to what leads there. */
function rowsOf(columns: ReadonlyMap<string, number>, arrows: readonly Arrow[]): ReadonlyMap<string, number> {
  const rows = new Map<string, number>()
  const byColumn = Map.groupBy(columns.keys(), (name) => columns.get(name)!)
  for (const column of [...byColumn.keys()].toSorted((a, b) => a - b)) {
    const weight = (name: string): number => {
      const before = arrows.flatMap(({ from, to }) =>
        to === name && rows.has(from) ? [rows.get(from)!] : [],
      )
      return before.length === 0 ? 0 : before.reduce((sum, one) => sum + one, 0) / before.length
    }
    const sorted = byColumn.get(column)!.toSorted((a, b) => weight(a) - weight(b) || (a < b ? -1 : 1))
    for (const [row, name] of sorted.entries()) rows.set(name, row)
  }
  return rows
}

/** Places collections and the arrows between them. Arrows to what is not among the names are left out. */
export function layoutOf(names: readonly string[], all: readonly Arrow[]): Layout {
  const known = new Set(names)
  const arrows = all.filter(({ from, to }) => known.has(from) && known.has(to))
  const linked = names.filter((name) => arrows.some(({ from, to }) => from === name || to === name))
  const columns = columnsOf(linked, arrows)
  const rows = rowsOf(columns, arrows)
  const top = linked.length === 0 ? 0 : Math.max(...rows.values()) + 1
  const apart = names.filter((name) => !columns.has(name))
  const at = (column: number, row: number) => ({
    x: MARGIN + column * (BOX_WIDTH + GAP_X),
    y: MARGIN + row * (BOX_HEIGHT + GAP_Y),
  })
  // Close to each other, as no arrow needs the room.
  const apartAt = (i: number) => ({
    x: MARGIN + (i % APART_IN_ROW) * (BOX_WIDTH + GAP_Y),
    y: at(0, top + Math.floor(i / APART_IN_ROW)).y,
  })
  const boxes = [
    ...linked.map((name) => ({ name, ...at(columns.get(name)!, rows.get(name)!) })),
    ...apart.map((name, i) => ({ name, ...apartAt(i) })),
  ]
  const boxOf = (name: string) => boxes.find((one) => one.name === name)!
  return {
    boxes,
    curves: arrows.map((arrow, i) =>
      curveOf(arrow, boxOf(arrow.from), boxOf(arrow.to), placeAmong(arrows, i)),
    ),
    width: Math.max(...boxes.map(({ x }) => x + BOX_WIDTH), 0) + MARGIN + (hasLoop(arrows) ? GAP_X / 2 : 0),
    height: Math.max(...boxes.map(({ y }) => y + BOX_HEIGHT), 0) + MARGIN,
  }
}

const hasLoop = (arrows: readonly Arrow[]): boolean => arrows.some(({ from, to }) => from === to)

/** The number of an arrow among those between the same two boxes, in either direction. */
function placeAmong(arrows: readonly Arrow[], at: number): number {
  const pair = ({ from, to }: Arrow) => [from, to].toSorted().join(' ')
  return arrows.slice(0, at).filter((one) => pair(one) === pair(arrows[at]!)).length
}

/** From the right side of a box to the left side of another one; back, or to itself, around it. */
function curveOf(arrow: Arrow, from: Box, to: Box, place: number): Curve {
  const shift = place * 16
  const [x1, y1] = [from.x + BOX_WIDTH, from.y + BOX_HEIGHT / 2]
  if (from.x < to.x) {
    const [x2, y2] = [to.x, to.y + BOX_HEIGHT / 2]
    const middle = (x1 + x2) / 2
    // Below the boxes that it passes.
    const bow = shift * 2 + (x2 - x1 > GAP_X ? (BOX_HEIGHT + GAP_Y) * 0.75 : 0)
    const path = `M${x1} ${y1} C${middle} ${y1 + bow} ${middle} ${y2 + bow} ${x2 - 2} ${y2}`
    return { ...arrow, path, labelX: middle, labelY: (y1 + y2) / 2 - 6 + bow * 0.75 }
  }
  const [x2, y2] = [to.x + BOX_WIDTH, to.y + BOX_HEIGHT / 2 + (from === to ? 12 : 6)]
  const out = Math.max(x1, x2) + 46 + shift
  const path = `M${x1} ${y1 - 6} C${out} ${y1 - 12} ${out} ${y2 + 6} ${x2 + 2} ${y2}`
  return { ...arrow, path, labelX: Math.max(x1, x2) + 30 + shift, labelY: (y1 + y2) / 2 - 14 + shift }
}
