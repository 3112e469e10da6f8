import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

export type Memory = { peakMB: number; nowMB: number }

// https://man7.org/linux/man-pages/man5/proc_pid_status.5.html and proc_pid_stat.5.html
function read(pid: number, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return undefined // no Linux, or the process is gone
  }
}

/** Resident memory of a process: the most it ever had, and what it has now. Linux only. */
export function memoryOf(pid: number): Memory | undefined {
  const status = read(pid, 'status')
  if (status === undefined) return undefined
  const megabytes = (field: string) =>
    Math.round(Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) / 1024)
  return { peakMB: megabytes('VmHWM'), nowMB: megabytes('VmRSS') }
}

/** Processor time that a process has used, in clock ticks (10 ms). */
function ticksOf(pid: number): number {
  const stat = read(pid, 'stat')
  if (stat === undefined) return 0
  // The second field is the name in brackets and may hold spaces; user and system time are the 14th and 15th.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return Number(fields[11]) + Number(fields[12])
}

/** Resolves when the process has been idle for 300 ms: work left over from a round must not cost the next one. */
export async function idle(pid: number): Promise<void> {
  const until = Date.now() + 60_000
  for (let quiet = 0, before = ticksOf(pid); quiet < 3 && Date.now() < until;) {
    await delay(100)
    const now = ticksOf(pid)
    quiet = now - before <= 1 ? quiet + 1 : 0
    before = now
  }
}
