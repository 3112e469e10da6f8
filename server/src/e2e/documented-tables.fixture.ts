// What docs/operations.md says of tables, as data: tests compare it with databases.
import { readFile } from 'node:fs/promises'

const PAGE = new URL('../../../docs/operations.md', import.meta.url)
const SECTION = /^## What grows, and what is deleted when\n(.*?)^## /ms
const UNITS = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const

/** A row of the table: several tables of which the same is true. */
export type DocumentedTables = {
  readonly tables: readonly string[]
  readonly writtenBy: string
  readonly deleted: string
  /** The longest time that it names, in milliseconds. */
  readonly keptMs: number | undefined
  /** The most rows that it names as the newest ones, which are kept. */
  readonly newest: number | undefined
  /** Whether some of it is never deleted. */
  readonly isKept: boolean
  /** Whether it is deleted when the next row comes, and not by a job. */
  readonly isLazy: boolean
}

export async function documentedTables(): Promise<DocumentedTables[]> {
  const [, section = ''] = SECTION.exec(await readFile(PAGE, 'utf8')) ?? []
  return section.split('\n').flatMap((line) => {
    const cells = line.split('|').map((cell) => cell.trim())
    const tables = Array.from((cells[1] ?? '').matchAll(/`([a-z]+_\w+)`/g), ([, name]) => name!)
    if (tables.length === 0) return []
    const [writtenBy = '', deleted = ''] = cells.slice(4)
    const counts = Array.from(deleted.matchAll(/newest ([\d,]+)/g), ([, count]) =>
      Number(count!.replaceAll(',', '')),
    )
    return [
      {
        tables,
        writtenBy,
        deleted,
        keptMs: longestOf(deleted),
        newest: counts.length === 0 ? undefined : Math.max(...counts),
        isKept: /\bnever\b/.test(deleted),
        isLazy: deleted.includes('when the next one'),
      },
    ]
  })
}

function longestOf(text: string): number | undefined {
  const times = Array.from(
    text.matchAll(/\b(\d+) (minute|hour|day)s?\b/g),
    ([, count, unit]) => Number(count) * UNITS[unit as keyof typeof UNITS],
  )
  return times.length === 0 ? undefined : Math.max(...times)
}
