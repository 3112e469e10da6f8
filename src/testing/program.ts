import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { symlink, writeFile, mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

import { temporaryFolder, type Ending } from './engines.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const PROGRAM = join(ROOT, 'bin/sixwire.js')

/** What `import … from 'sixwire'` means, for a file outside of this checkout. */
export const LIBRARY = pathToFileURL(join(ROOT, 'src/index.ts')).href

export type Program = {
  readonly pid: number
  /** Everything printed so far. */
  output(): string
  errors(): string
  /** Resolves with the first match in what is printed, looking from `after` on; rejects where the program ends before. */
  until(pattern: RegExp, after?: number): Promise<RegExpExecArray>
  /** Where the server listens, once it says so. */
  url(): Promise<string>
  signal(name: NodeJS.Signals): void
  /** The exit code, or the signal that ended it. */
  ended: Promise<number | NodeJS.Signals>
}

export type ProgramOptions = {
  folder: string
  environment?: Record<string, string>
}

/** Runs the real `sixwire` in a folder, with nothing of this environment but what programs need. */
export function startProgram(ending: Ending, words: readonly string[], options: ProgramOptions): Program {
  const { PATH, HOME, TMPDIR } = process.env
  const child = spawn(process.execPath, [PROGRAM, ...words], {
    cwd: options.folder,
    env: { PATH, HOME, TMPDIR, PORT: '0', LOG_LEVEL: 'info', ...options.environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  let errors = ''
  const waiting = new Set<() => void>()
  const look = (): void => waiting.forEach((one) => one())
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
    look()
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text
    look()
  })
  let over = false
  const ended = once(child, 'close').then(([code, signal]) => {
    over = true
    look()
    return (code ?? signal) as number | NodeJS.Signals
  })
  ending.after(async () => {
    child.kill('SIGKILL')
    await ended
  })

  function until(pattern: RegExp, after = 0): Promise<RegExpExecArray> {
    return new Promise((resolve, reject) => {
      function check(): void {
        const found = pattern.exec(output.slice(after))
        if (!found && !over) return
        waiting.delete(check)
        if (found) resolve(found)
        else
          reject(
            new Error(`the program ended before it printed ${pattern}. It printed:\n${output}\n${errors}`),
          )
      }
      waiting.add(check)
      check()
    })
  }

  return {
    pid: child.pid!,
    output: () => output,
    errors: () => errors,
    until,
    async url() {
      const [, port] = await until(/runs at http:\/\/localhost:(\d+)/)
      return `http://127.0.0.1:${port}`
    },
    signal: (name) => void child.kill(name),
    ended,
  }
}

/** Runs a command to its end. */
export async function runProgram(
  ending: Ending,
  words: readonly string[],
  options: ProgramOptions,
): Promise<{ code: number | NodeJS.Signals; output: string; errors: string }> {
  const program = startProgram(ending, words, options)
  const code = await program.ended
  return { code, output: program.output(), errors: program.errors() }
}

/** An application's folder, in which `import … from 'sixwire'` means this checkout. */
export async function applicationFolder(ending: Ending, files: Record<string, string>): Promise<string> {
  const folder = await temporaryFolder(ending)
  await mkdir(join(folder, 'node_modules'))
  await symlink(ROOT, join(folder, 'node_modules/sixwire'), 'dir')
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), text)
  }
  return folder
}
