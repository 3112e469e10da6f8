import type { ByteRange } from '../../objects/storage.ts'

// More than a client needs, and fewer than make an answer much larger than the file.
const MOST_RANGES = 16

/**
 * The ranges of a `Range` header, RFC 9110 section 14.2: in the order of the header; or, if some overlap, joined and in the
 * order of the file.
 *
 * @param size of the whole file in bytes
 * @returns undefined if the header is to be ignored: it is not valid, has another unit or too many ranges, or the file is empty
 */
export function rangesOf(
  header: string | undefined,
  size: number,
): readonly ByteRange[] | 'unsatisfiable' | undefined {
  const [, list] = /^bytes=(.*)$/i.exec(header ?? '') ?? []
  if (list === undefined || size === 0) return undefined
  const specs = list
    .split(',', MOST_RANGES * 4)
    .map((one) => one.trim())
    .filter((one) => one !== '')
  if (specs.length === 0 || specs.length > MOST_RANGES) return undefined
  const ranges: ByteRange[] = []
  for (const spec of specs) {
    const [, first, last] = /^(\d*)-(\d*)$/.exec(spec) ?? []
    if (first === undefined || last === undefined || (first === '' && last === '')) return undefined
    if (first !== '' && last !== '' && Number(last) < Number(first)) return undefined
    const start = first === '' ? Math.max(0, size - Number(last)) : Number(first)
    const end = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1)
    if (start <= end) ranges.push({ start, end })
  }
  return ranges.length === 0 ? 'unsatisfiable' : joined(ranges)
}

function joined(ranges: readonly ByteRange[]): readonly ByteRange[] {
  const sorted = ranges.toSorted((a, b) => a.start - b.start)
  const apart: ByteRange[] = []
  for (const range of sorted) {
    const before = apart.at(-1)
    if (before && range.start <= before.end) before.end = Math.max(before.end, range.end)
    else apart.push({ ...range })
  }
  return apart.length === ranges.length ? ranges : apart
}

export const lengthOf = ({ start, end }: ByteRange): number => end - start + 1
