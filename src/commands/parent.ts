import { readFileSync } from 'node:fs'

const CHECK_MS = 1_000

/**
 * Calls `end` when the package manager that started this process is gone: npx forwards no signal, so a server that it
 * started would go on alone.
 */
export function onPackageManagerEnd(end: () => void): void {
  if (process.env['npm_command'] === undefined) return
  const watched = [process.ppid, ...shellsParent(process.ppid)]
  const timer = setInterval(() => {
    if (watched.every(isRunning)) return
    clearInterval(timer)
    end()
  }, CHECK_MS)
  timer.unref()
}

/** npm starts a command in `sh -c`, which some shells keep between. */
function shellsParent(pid: number): number[] {
  try {
    if (!readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('sh\0-c\0')) return []
    // The second field is a name, which may have blanks and parentheses. https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
    const [, parent] = /^.*\) \S+ (\d+) /s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? []
    return parent === undefined ? [] : [Number(parent)]
  } catch {
    // No /proc: macOS, where `sh` becomes the command.
    return []
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}
