/** A line of two texts that are compared: in both, or in one of them. */
export type DiffLine = { kind: 'same' | 'removed' | 'added'; text: string }

/** Lines that differ, with those around them; `from` is the number of lines that are left out before it. */
export type Hunk = { skipped: number; lines: readonly DiffLine[] }

// Beyond, what differs is shown as removed and added whole: the work grows with its square.
const EDITS_MAX = 1_000
const CONTEXT = 3

/**
 * Compares two texts line by line: E. W. Myers, "An O(ND) Difference Algorithm and Its Variations", 1986.
 * Lines that both begin or end with cost nothing.
 */
export function diffLines(before: string, after: string): readonly DiffLine[] {
  const [one, other] = [before.split('\n'), after.split('\n')]
  const shorter = Math.min(one.length, other.length)
  let head = 0
  while (head < shorter && one[head] === other[head]) head++
  let tail = 0
  while (tail < shorter - head && one.at(-1 - tail) === other.at(-1 - tail)) tail++
  return [
    ...one.slice(0, head).map(same),
    ...middle(one.slice(head, one.length - tail), other.slice(head, other.length - tail)),
    ...one.slice(one.length - tail).map(same),
  ]
}

const same = (text: string): DiffLine => ({ kind: 'same', text })
const removed = (text: string): DiffLine => ({ kind: 'removed', text })
const added = (text: string): DiffLine => ({ kind: 'added', text })

function middle(one: readonly string[], other: readonly string[]): DiffLine[] {
  if (one.length === 0 || other.length === 0) return [...one.map(removed), ...other.map(added)]
  const trace: Int32Array[] = []
  const reach = Math.min(EDITS_MAX, one.length + other.length)
  // How far each diagonal gets with so many edits; diagonal k is at k + reach + 1.
  const furthest = new Int32Array(2 * reach + 3)
  for (let edits = 0; edits <= reach; edits++) {
    trace.push(furthest.slice(reach + 1 - edits - 1, reach + 1 + edits + 2))
    for (let k = -edits; k <= edits; k += 2) {
      const at = k + reach + 1
      const isDown = k === -edits || (k !== edits && furthest[at - 1]! < furthest[at + 1]!)
      let x = isDown ? furthest[at + 1]! : furthest[at - 1]! + 1
      while (x < one.length && x - k < other.length && one[x] === other[x - k]) x++
      furthest[at] = x
      if (x >= one.length && x - k >= other.length) return walkBack(trace, one, other)
    }
  }
  return [...one.map(removed), ...other.map(added)]
}

/** The way through the trace, from its end. Each row of it is of the diagonals -edits-1 to edits+1. */
function walkBack(
  trace: readonly Int32Array[],
  one: readonly string[],
  other: readonly string[],
): DiffLine[] {
  const lines: DiffLine[] = []
  let [x, y] = [one.length, other.length]
  for (let edits = trace.length - 1; edits >= 0; edits--) {
    const row = trace[edits]!
    const at = (k: number): number => row[k + edits + 1]!
    const k = x - y
    const isDown = k === -edits || (k !== edits && at(k - 1) < at(k + 1))
    const from = isDown ? k + 1 : k - 1
    const startX = edits === 0 ? 0 : at(from)
    const startY = edits === 0 ? 0 : startX - from
    while (x > startX && y > startY && x > 0 && y > 0 && one[x - 1] === other[y - 1]) {
      lines.push(same(one[--x]!))
      y--
    }
    if (edits === 0) break
    if (isDown) lines.push(added(other[--y]!))
    else lines.push(removed(one[--x]!))
  }
  return lines.toReversed()
}

/** What differs, with three lines before and after; empty if nothing does. */
export function hunksOf(lines: readonly DiffLine[]): readonly Hunk[] {
  const hunks: { skipped: number; lines: DiffLine[] }[] = []
  let shownTo = 0
  for (let at = 0; at < lines.length; at++) {
    if (lines[at]!.kind === 'same') continue
    const from = Math.max(shownTo, at - CONTEXT)
    let hunk = hunks.at(-1)
    if (!hunk || from > shownTo) hunks.push((hunk = { skipped: from - shownTo, lines: [] }))
    const to = Math.min(lines.length, at + CONTEXT + 1)
    hunk.lines.push(...lines.slice(from, to))
    // What is shown behind a change can be changed itself.
    shownTo = to
    while (at + 1 < shownTo) {
      at++
      if (lines[at]!.kind === 'same') continue
      const end = Math.min(lines.length, at + CONTEXT + 1)
      hunk.lines.push(...lines.slice(shownTo, end))
      shownTo = end
    }
  }
  return hunks
}
