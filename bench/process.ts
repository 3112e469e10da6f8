import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

const START_LIMIT_MS = 300_000
const STOP_LIMIT_MS = 10_000
const TICK_MS = 10
const SAMPLE_MS = 20

/** A process of the bench that listens on a port. It ends with the bench. */
export type Listener = {
  readonly pid: number
  /** From the start of the process until it was ready. */
  readonly startMs: number
  stop(): Promise<void>
}

/**
 * Starts a program, of Node unless another one is named, and waits until it is ready.
 *
 * @param log the file for what it prints
 * @throws Error with the end of the log if it does not start
 */
export async function startListener(
  args: readonly string[],
  {
    cwd,
    env,
    log,
    program = process.execPath,
  }: { cwd: string; env: NodeJS.ProcessEnv; log: string; program?: string },
  isReady: () => Promise<boolean>,
): Promise<Listener> {
  const output = openSync(log, 'a')
  const begun = performance.now()
  const child = spawn(program, args, { cwd, env, stdio: ['ignore', output, output] })
  closeSync(output)
  const kill = () => child.kill('SIGKILL')
  process.on('exit', kill)
  const ended = once(child, 'exit').then(() => process.off('exit', kill))
  for (; !(await isReady().catch(() => false)); await delay(3)) {
    const isOver = child.exitCode !== null || child.signalCode !== null
    if (isOver || performance.now() - begun > START_LIMIT_MS)
      throw new Error(`${args[0]} did not start. Its log ends:\n${readFileSync(log, 'utf8').slice(-2000)}`)
  }
  return {
    pid: child.pid!,
    startMs: performance.now() - begun,
    async stop() {
      child.kill('SIGTERM')
      const late = setTimeout(kill, STOP_LIMIT_MS)
      await ended
      clearTimeout(late)
    },
  }
}

/** The process, and those that it has started: the workers of a server. */
export const processesOf = (pid: number): number[] => [
  pid,
  ...(read(pid, `task/${pid}/children`).match(/\d+/g) ?? []).map(Number),
]

/** Resident memory of a process in MB: the most it ever had, and what it has now; NaN without Linux's /proc. */
export function memoryOf(pid: number): { peak: number; now: number } {
  // https://man7.org/linux/man-pages/man5/proc_pid_status.5.html
  const status = read(pid, 'status')
  const megabytes = (field: string) =>
    Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) / 1024
  return { peak: megabytes('VmHWM'), now: megabytes('VmRSS') }
}

/** The memory of a process in MB, of which each page counts by its share if other processes have it too (PSS). */
export const shareOfMemory = (pid: number): number =>
  Number(/^Pss:\s+(\d+) kB$/m.exec(read(pid, 'smaps_rollup'))?.[1]) / 1024

/** Milliseconds of processor time that a process and its workers have used; NaN without Linux's /proc. */
export const processorMs = (pid: number): number =>
  processesOf(pid).reduce((total, one) => total + ownProcessorMs(one), 0)

function ownProcessorMs(pid: number): number {
  // https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html: after a name in brackets, fields 14 and 15 are the times.
  const stat = read(pid, 'stat')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS
}

/** Counts the threads of Node's pool that run or are ready to, in a process and its workers, until `ended`. @returns their mean */
export async function busyPoolThreads(pid: number, ended: Promise<unknown>): Promise<number> {
  let isOver = false
  const end = () => void (isOver = true)
  ended.then(end, end) // the caller sees a rejection
  const stats = processesOf(pid).flatMap((one) =>
    readdirSync(`/proc/${one}/task`).map((thread) => [one, `task/${thread}/stat`] as const),
  )
  const pool = stats.filter(([one, file]) => read(one, file).includes('(libuv-worker)'))
  let [busy, samples] = [0, 0]
  for (; !isOver; samples++, await delay(SAMPLE_MS))
    busy += pool.filter(([one, file]) => / R /.test(read(one, file))).length
  return busy / samples
}

/** Waits until the process was idle for 300 ms: work left over from a round must not cost the next one. */
export async function idle(pid: number): Promise<void> {
  const until = performance.now() + 60_000
  for (let quiet = 0, before = processorMs(pid); quiet < 3 && performance.now() < until;) {
    await delay(100)
    const now = processorMs(pid)
    quiet = now - before > TICK_MS ? 0 : quiet + 1
    before = now
  }
}

function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}
