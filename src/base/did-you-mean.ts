const FARTHEST = 2
const LETTERS_PER_SLIP = 3

/**
 * The end of an error about a name that does not exist: `: did you mean policy?` where a known name is near, else
 * nothing. Upper and lower case count as the same letter.
 */
export function didYouMean(name: string, known: Iterable<string>): string {
  const farthest = Math.min(FARTHEST, Math.floor(name.length / LETTERS_PER_SLIP))
  const [nearest] = [...known]
    .map((one) => ({ one, distance: editDistance(name.toLowerCase(), one.toLowerCase()) }))
    .filter(({ distance }) => distance <= farthest)
    .toSorted((a, b) => a.distance - b.distance)
  return nearest ? `: did you mean ${nearest.one}?` : ''
}

/** How many letters are to be put in, left out or replaced, or neighbours to be exchanged (Damerau, optimal string alignment). */
function editDistance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, column) => column)]
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = rows[i - 1]![j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      const isExchanged = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const exchanged = isExchanged ? rows[i - 2]![j - 2]! + 1 : Infinity
      row.push(Math.min(rows[i - 1]![j]! + 1, row[j - 1]! + 1, replaced, exchanged))
    }
    rows.push(row)
  }
  return rows[a.length]![b.length]!
}
