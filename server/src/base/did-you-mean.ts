const DISTANCE_MAX = 2
const LETTERS_PER_TYPO = 3

/**
 * The end of an error about a name that does not exist: `: did you mean policy?` if a candidate is similar, otherwise
 * an empty text. Ignores case.
 */
export function didYouMean(name: string, candidates: Iterable<string>): string {
  const distanceMax = Math.min(DISTANCE_MAX, Math.floor(name.length / LETTERS_PER_TYPO))
  const [nearest] = [...candidates]
    .map((one) => ({ one, distance: editDistance(name.toLowerCase(), one.toLowerCase()) }))
    .filter(({ distance }) => distance <= distanceMax)
    .toSorted((a, b) => a.distance - b.distance)
  return nearest ? `: did you mean ${nearest.one}?` : ''
}

/** The number of letters to insert, delete or replace, or of neighbours to swap (Damerau, optimal string alignment). */
function editDistance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, column) => column)]
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const replacement = rows[i - 1]![j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      const isSwap = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const swap = isSwap ? rows[i - 2]![j - 2]! + 1 : Infinity
      row.push(Math.min(rows[i - 1]![j]! + 1, row[j - 1]! + 1, replacement, swap))
    }
    rows.push(row)
  }
  return rows[a.length]![b.length]!
}
