import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

import type { Failure } from './failures.ts'

const REPORTER = fileURLToPath(new URL('failures.ts', import.meta.url))

/**
 * Runs test modules, and once more, alone, each test file of which something failed.
 *
 * @param modules for the path of each module the paths of its test files
 * @param options those of `node --test`
 * @returns the exit code, and the lines that end the run: `flaky: FILE › TEST` for what failed only the first time,
 * `failed twice: FILE` for the rest, and `failed: MODULE › TEST` for what belongs to no test file
 */
export async function runTests(
  modules: ReadonlyMap<string, readonly string[]>,
  options: readonly string[],
): Promise<{ code: number; lines: string[] }> {
  const { code, failures } = await run([...modules.keys()], options)
  const testFiles = new Set([...modules.values()].flat())
  // A test can be written in a module that several test files share: then it is not known which one failed.
  const filesOf = ({ module, file }: Failure): readonly string[] =>
    testFiles.has(file) ? [file] : (modules.get(module) ?? [])
  const byFile = Map.groupBy(
    failures.flatMap((failure) => filesOf(failure).map((file) => ({ file, test: failure.test }))),
    ({ file }) => relative(process.cwd(), file),
  )
  // What a shared module does at the end is done again where a test that failed with it is run again.
  const rerunModules = new Set(failures.filter((one) => filesOf(one).length > 0).map(({ module }) => module))
  const ofNoFile = failures.filter((one) => filesOf(one).length === 0 && !rerunModules.has(one.module))
  const lines: string[] = []
  for (const [file, tests] of byFile) {
    process.stdout.write(`\nOnce more, alone: ${file}\n`)
    const again = await run([file], options)
    if (again.code === 0) lines.push(...tests.map(({ test }) => `flaky: ${file} › ${test}`))
    else lines.push(`failed twice: ${file}`)
  }
  lines.push(...ofNoFile.map(({ file, test }) => `failed: ${relative(process.cwd(), file)} › ${test}`))
  const isGreen = byFile.size > 0 && !lines.some((line) => line.startsWith('failed'))
  return { code: isGreen ? 0 : code, lines }
}

async function run(
  paths: readonly string[],
  options: readonly string[],
): Promise<{ code: number; failures: Failure[] }> {
  const folder = await mkdtemp(join(tmpdir(), 'sixwire-failures-'))
  const file = join(folder, 'failures')
  const reporters = ['spec', 'stdout', REPORTER, file].map(
    (value, at) => `--test-reporter${at % 2 === 0 ? '' : '-destination'}=${value}`,
  )
  const { NODE_TEST_CONTEXT: _, ...env } = process.env // of a test that calls this
  const runner = spawn(process.execPath, ['--test', ...options, ...reporters, ...paths], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env,
  })
  const [code] = (await once(runner, 'exit')) as [number | null]
  const lines = (await readFile(file, 'utf8')).trim().split('\n').filter(Boolean)
  await rm(folder, { recursive: true })
  return { code: code ?? 1, failures: lines.map((line) => JSON.parse(line) as Failure) }
}
