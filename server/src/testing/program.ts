import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

import { temporaryFolder, type Ending } from './engines.ts'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
export const PROGRAM = join(ROOT, 'server/bin/sixwire.js')

/** What `import … from 'sixwire'` means, for a file outside of this checkout. */
export const LIBRARY = pathToFileURL(join(ROOT, 'server/src/index.ts')).href

export type Program = {
  readonly pid: number
  /** Everything printed so far. */
  output(): string
  /** The same by whole lines. */
  lines(): string[]
  errors(): string
  /** Resolves with the first match in the output, looking from `after` on; rejects if the program ends before. */
  until(pattern: RegExp, after?: number): Promise<RegExpExecArray>
  /** Where the server listens, once it says so. */
  url(): Promise<string>
  /** Ends what the program reads from its standard input. */
  endInput(): void
  /** Reads no more of what the program prints, as `head` does. */
  closeOutput(): void
  signal(name: NodeJS.Signals): void
  /** Sends SIGKILL and resolves when the program is gone. */
  kill: () => Promise<void>
  /** The exit code, or the signal that ended it. */
  ended: Promise<number | NodeJS.Signals>
}

export type ProgramOptions = {
  folder: string
  environment?: Record<string, string>
  /** All that the program reads from its standard input. */
  input?: string
}

/** Runs the real `sixwire` in a folder, with nothing of this environment but what programs need. */
export const startProgram = (ending: Ending, words: readonly string[], options: ProgramOptions): Program =>
  startNode(ending, [PROGRAM, ...words], options)

/** The URL of a file of `server/src/` as a string literal, for the text of a script. */
export const urlLiteral = (path: string): string =>
  JSON.stringify(new URL(`../${path}`, import.meta.url).href)

export type ScriptOptions = Partial<ProgramOptions> & {
  words?: readonly string[]
  nodeOptions?: readonly string[]
}

/** Runs the text of a module likewise; in a temporary folder if none is named. */
export async function startScript(
  ending: Ending,
  text: string,
  { folder, environment = {}, words = [], nodeOptions = [] }: ScriptOptions = {},
): Promise<Program> {
  const cwd = folder ?? (await temporaryFolder(ending))
  const file = join(cwd, `script-${randomUUID()}.mjs`)
  await writeFile(file, text)
  return startNode(ending, [...nodeOptions, file, ...words], { folder: cwd, environment })
}

/** Runs Node likewise with other words. */
export function startNode(
  ending: Ending,
  words: readonly string[],
  { folder, environment, input }: ProgramOptions,
): Program {
  // With the cache of compiled modules a process starts in a third of the time.
  const { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE } = process.env
  const child = spawn(process.execPath, words, {
    cwd: folder,
    env: { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE, PORT: '0', LOG_LEVEL: 'info', ...environment },
    stdio: 'pipe',
  })
  if (input !== undefined) child.stdin.end(input)
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
  async function kill(): Promise<void> {
    child.kill('SIGKILL')
    await ended
  }
  ending.after(kill)

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
    lines: () => output.split('\n').slice(0, -1),
    errors: () => errors,
    until,
    async url() {
      const [, port] = await until(/runs at http:\/\/localhost:(\d+)/)
      return `http://127.0.0.1:${port}`
    },
    endInput: () => void child.stdin.end(),
    closeOutput: () => void child.stdout.destroy(),
    kill,
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

/** An application's folder. */
export async function applicationFolder(ending: Ending, files: Record<string, string>): Promise<string> {
  const folder = await temporaryFolder(ending)
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), text)
  }
  return folder
}
