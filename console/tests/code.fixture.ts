// Runs the texts of calls in the languages that are on this machine, as a reader would.
import assert from 'node:assert/strict'
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import type { SampleCall } from '../src/code/call.ts'
import { languages } from '../src/code/languages.ts'
import { until } from '../../server/src/testing/until.ts'

const CLIENT = new URL('../../client/src/index.ts', import.meta.url).href

type Runner = {
  readonly language: string
  readonly skip: string | false
  readonly command: readonly string[]
  readonly file: string
}

const missing = (program: string): string | false =>
  spawnSync(program, ['--version'], { stdio: 'ignore' }).error ? `there is no ${program} here` : false

/** What runs each language here, and why one is skipped. */
export const runners: readonly Runner[] = [
  { language: 'curl', skip: missing('curl'), command: ['sh'], file: 'call.sh' },
  {
    language: 'typescript',
    skip: false,
    command: [process.execPath, '--conditions=sixwire-source'],
    file: 'call.ts',
  },
  { language: 'python', skip: missing('python3'), command: ['python3'], file: 'call.py' },
]

/** The text of a call in a language. */
export async function codeOf(language: string, call: SampleCall): Promise<string> {
  const { load } = languages.find(({ name }) => name === language)!
  return (await load()).default(call)
}

/** A TypeScript text that finds the client of this checkout. */
export const withClient = (text: string): string =>
  text.replaceAll("'sixwire-client'", JSON.stringify(CLIENT))

export type RunningCode = {
  output: () => string
  /** Resolves once the output matches. */
  says: (pattern: RegExp) => Promise<void>
  /** Resolves with all output; fails if the program failed. */
  ended: Promise<string>
  kill: () => Promise<void>
}

/** Starts a text in a folder, with an access token in the environment. */
export async function startCode(
  runner: Runner,
  text: string,
  { folder, token, file = runner.file }: { folder: string; token: string; file?: string },
): Promise<RunningCode> {
  await writeFile(join(folder, file), withClient(text))
  const [program, ...options] = runner.command as [string, ...string[]]
  const child: ChildProcess = spawn(program, [...options, file], {
    cwd: folder,
    // A group of its own, so that a shell ends with what it runs.
    detached: true,
    env: { PATH: process.env['PATH'], TOKEN: token, PYTHONUNBUFFERED: '1', PYTHONIOENCODING: 'utf-8' },
  })
  let output = ''
  let errors = ''
  child.stdout!.setEncoding('utf8').on('data', (part: string) => (output += part))
  child.stderr!.setEncoding('utf8').on('data', (part: string) => (errors += part))
  const closed = once(child, 'close') as Promise<[number | null]>
  return {
    output: () => output,
    says: async (pattern) => {
      await until(() => {
        assert.equal(errors, '', text)
        return pattern.test(output)
      })
    },
    ended: closed.then(([code]) => {
      if (code !== null) assert.equal(code, 0, `${text}\n\n${output}\n${errors}`)
      return output
    }),
    kill: async () => {
      if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid!, 'SIGKILL')
      await closed
    },
  }
}
