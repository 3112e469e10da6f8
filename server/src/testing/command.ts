import { PassThrough } from 'node:stream'
import { mock } from 'node:test'

import { runCommand } from '../commands/run.ts'
import type { ProgramOptions } from './program.ts'

const OUTPUTS = ['log', 'error'] as const
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Runs a command of `sixwire` to its end in this process, for a tenth of what a program costs.
 * The working directory, the environment and the console of the process are its own meanwhile, and its standard input where
 * there is some for it.
 */
export async function runHere(
  words: readonly string[],
  { folder, environment = {}, input }: Partial<ProgramOptions> = {},
): Promise<{ code: number; output: string; errors: string }> {
  const printed = { log: '', error: '' }
  const replaced = OUTPUTS.map((name): { mock: { restore(): void } } =>
    mock.method(console, name, (line: string) => void (printed[name] += `${line}\n`)),
  )
  if (input !== undefined) {
    const stdin = new PassThrough().end(input)
    replaced.push(mock.getter(process, 'stdin', () => stdin))
  }
  const earlier = { folder: process.cwd(), environment: { ...process.env } }
  const listeners = SIGNALS.map((signal) => [signal, process.listeners(signal)] as const)
  if (folder !== undefined) process.chdir(folder)
  Object.assign(process.env, environment)
  try {
    const code = await runCommand(words)
    return { code, output: printed.log, errors: printed.error }
  } finally {
    for (const one of replaced) one.mock.restore()
    process.chdir(earlier.folder)
    // A file `.env` adds to it too.
    for (const name of Object.keys(process.env)) if (!(name in earlier.environment)) delete process.env[name]
    Object.assign(process.env, earlier.environment)
    // A command has them until its process ends.
    for (const [signal, before] of listeners)
      for (const listener of process.listeners(signal))
        if (!before.includes(listener)) process.removeListener(signal, listener)
  }
}
