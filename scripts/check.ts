// `npm run check`: runs its parts, two at a time, and prints the output of those that fail.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { delimiter } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const BIN = fileURLToPath(new URL('../node_modules/.bin', import.meta.url))
const AT_ONCE = 2

const PARTS = [
  'oxlint',
  'tsc --checkers 1', // each checker more looks at the same types once more
  'tsc -p console',
  'tsc -p sandbox/page',
  'oxfmt --check',
  'node scripts/floors.ts',
  'node scripts/factories.ts',
  'node scripts/unique-types.ts',
  // Last, when little runs beside it: on a busy machine work in the background falls into the requests that it traces.
  'node --conditions=sixwire-source scripts/walks.ts --check',
]

/** Runs a command to its end. @returns its exit code, or the signal that ended it, and its output */
async function run(command: string): Promise<{ code: number | NodeJS.Signals; output: string }> {
  const [program = '', ...words] = command.split(' ')
  const child = spawn(program === 'node' ? process.execPath : program, words, {
    cwd: ROOT,
    env: { ...process.env, PATH: `${BIN}${delimiter}${process.env['PATH']}` },
    shell: process.platform === 'win32', // the programs of packages are scripts there
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals]
  return { code: code ?? signal, output }
}

/**
 * Runs all commands, two at a time.
 *
 * @param print is called with a line for each that passed, and with the output of each that failed
 * @returns how many failed
 */
export async function runParts(commands: readonly string[], print: (text: string) => void): Promise<number> {
  const pending = [...commands]
  let failures = 0
  async function work(): Promise<void> {
    for (let command = pending.shift(); command !== undefined; command = pending.shift()) {
      const start = performance.now()
      const { code, output } = await run(command)
      const seconds = ((performance.now() - start) / 1_000).toFixed(1)
      if (code !== 0) failures++
      print(
        code === 0
          ? `passed in ${seconds} s: ${command}\n`
          : `failed with ${code} in ${seconds} s: ${command}\n${output}\n`,
      )
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return failures
}

if (import.meta.main) {
  const failures = await runParts(PARTS, (text) => process.stdout.write(text))
  if (failures > 0) process.stdout.write(`${failures} of ${PARTS.length} parts failed.\n`)
  process.exitCode = failures > 0 ? 1 : 0
}
