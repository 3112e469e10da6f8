// Counts what the tests of a run start, for the lines that `npm test` ends with: it is what a run costs most of.
import type { ChildProcess } from 'node:child_process'
import { subscribe } from 'node:diagnostics_channel'
import { appendFileSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'

/** The environment variable that names the file of the counts; `global.ts` sets it for a whole run. */
export const COUNTS_VARIABLE = 'TEST_COUNTS'

type Kind = 'servers in the process of a test' | 'SQLite databases' | 'PostgreSQL databases' | ProgramKind
type ProgramKind = 'Node programs' | 'browsers' | 'EVM nodes' | 'other programs'

const counts = new Map<Kind, number>()

/** Counts one more of a kind. */
export function countStart(kind: Kind): void {
  counts.set(kind, (counts.get(kind) ?? 0) + 1)
}

function kindOf({ spawnfile }: ChildProcess): ProgramKind {
  const name = basename(spawnfile ?? '')
  if (/^(?:node|npm|npx)\b/.test(name)) return 'Node programs'
  if (/chrom/i.test(name)) return 'browsers'
  return name.startsWith('anvil') ? 'EVM nodes' : 'other programs'
}

/** Counts the programs that this process starts, and writes all its counts down when it ends. */
export function keepCounts(): void {
  const file = process.env[COUNTS_VARIABLE]
  if (file === undefined) return
  const children: ChildProcess[] = []
  // Its name is known a moment later.
  subscribe('child_process', (message) => {
    children.push((message as { process: ChildProcess }).process)
  })
  process.on('exit', () => {
    for (const child of children) countStart(kindOf(child))
    const lines = Array.from(counts, ([kind, count]) => `${count} ${kind}\n`)
    appendFileSync(file, lines.join(''))
  })
}

/** What all processes of a run have counted, in one line: `120 Node programs, 3 browsers`. */
export function totalCounts(path: string): string {
  const totals = new Map<string, number>()
  for (const line of readFileSync(path, 'utf8').split('\n').filter(Boolean)) {
    const [count, ...kind] = line.split(' ')
    totals.set(kind.join(' '), (totals.get(kind.join(' ')) ?? 0) + Number(count))
  }
  if (totals.size === 0) return 'nothing'
  return [...totals]
    .toSorted(([, a], [, b]) => b - a)
    .map(([kind, count]) => `${count} ${kind}`)
    .join(', ')
}
