// What the tests see of the processes that decode images, on Linux.
import { readFileSync } from 'node:fs'

import { until } from '../../../../../testing/until.ts'

const textOf = (path: string): string => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return '' // the process has ended
  }
}

/** The processes that a server has started to decode images. */
export const decodersOf = (server: number): number[] =>
  textOf(`/proc/${server}/task/${server}/children`)
    .split(' ')
    .filter((pid) => textOf(`/proc/${pid}/cmdline`).includes('decoder-process'))
    .map(Number)

/** Whether a process runs; one that has ended may wait for its parent. */
export const isRunning = (pid: number): boolean => /^State:\s+[^ZX\s]/m.test(textOf(`/proc/${pid}/status`))

/** The processor time that a process has used: utime and stime of proc_pid_stat(5). */
function ticksOf(pid: number): number {
  const stat = textOf(`/proc/${pid}/stat`)
  const [utime, stime] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11)
  return Number(utime) + Number(stime)
}

const BUSY_TICKS = 5 // 50 ms

/** Resolves once the process has worked on what `begin` begins. */
export async function untilBusy<T>(pid: number, begin: () => Promise<T>): Promise<{ answer: Promise<T> }> {
  const before = ticksOf(pid)
  const answer = begin()
  await until(() => ticksOf(pid) >= before + BUSY_TICKS)
  return { answer }
}

/** The memory of a process in bytes: what is in memory of it, and how much of that no other process has too. */
export function memoryOf(pid: number): { resident: number; own: number } {
  const rollup = textOf(`/proc/${pid}/smaps_rollup`)
  const sizeOf = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(rollup)?.[1] ?? 0) * 1024
  return { resident: sizeOf('Rss'), own: sizeOf('Private_Clean') + sizeOf('Private_Dirty') }
}
