import { readFileSync } from 'node:fs'

const CHECK_MS = 1_000
// npm sets the title of its process; others are a script of Node.
const TITLE = /^(?:npm|npx|pnpm|yarn|bunx?)(?: |$)/
const SCRIPT = /[/\\](?:npm|npx|pnpm|yarn)(?:-cli)?(?:\.c?js)?$/

/**
 * Calls `end` when the package manager that started this process is gone: npx forwards no signal, so a server that it
 * started would go on alone. On Linux only. Any other parent may go: a shell, or the script of a deployment.
 */
export function onPackageManagerEnd(end: () => void): void {
  const manager = packageManager()
  if (manager === undefined) return
  const timer = setInterval(() => {
    if (isRunning(manager)) return
    clearInterval(timer)
    console.error('sixwire: the package manager that started this has ended, so this ends too')
    end()
  }, CHECK_MS)
  timer.unref()
}

/** The process that started this one, or the shell in which this one is the command. */
function packageManager(): number | undefined {
  // Whatever runs below npm has the variable, so it proves nothing.
  if (process.env['npm_command'] === undefined) return undefined
  try {
    const words = wordsOf(process.ppid)
    const pid = words[0] === 'sh' && words[1] === '-c' ? parentOf(process.ppid) : process.ppid
    const [title = '', script = ''] = wordsOf(pid)
    return TITLE.test(title) || (/(?:^|\/)node$/.test(title) && SCRIPT.test(script)) ? pid : undefined
  } catch {
    return undefined // it has ended already, or there is no /proc
  }
}

const wordsOf = (pid: number): string[] => readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')

/** https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html: the second field is a name, which may have parentheses. */
const parentOf = (pid: number): number =>
  Number(/^.*\) \S+ (\d+) /s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))![1])

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}
