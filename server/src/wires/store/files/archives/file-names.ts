const NAME_BYTES = 150

/** A name that every file system takes, in front of its ending and with it, such as `.txt`. */
export function plainNameOf(name: string): { stem: string; ending: string } {
  const plain = name.replaceAll(/[\p{Cc}\p{Cf}\\/:*?"<>|]/gu, '_').replace(/[. ]+$/, '')
  const ending = /\.\w{1,10}$/.exec(plain)?.[0] ?? ''
  const stem = plain.slice(0, plain.length - ending.length)
  return { stem: Buffer.from(stem).subarray(0, NAME_BYTES).toString().replaceAll('\uFFFD', ''), ending }
}

/**
 * Gives files names of which no two are equal, in either case: `a.txt`, `a (2).txt`.
 *
 * @returns the name for the next file of this one
 */
export function uniqueNames(): (name: string) => string {
  const taken = new Set<string>()
  const counts = new Map<string, number>()
  return (name) => {
    const { stem, ending } = plainNameOf(name)
    const first = stem + ending || '_'
    const whole = first.toLowerCase()
    for (let count = counts.get(whole) ?? 1; ; count++) {
      const free = count === 1 ? first : `${stem} (${count})${ending}`
      if (taken.has(free.toLowerCase())) continue
      taken.add(free.toLowerCase())
      counts.set(whole, count + 1)
      return free
    }
  }
}
