import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'

import { temporaryFolder } from './engines.ts'

const RERUN = new URL('rerun.ts', import.meta.url).href
const FILES = {
  'shared.mjs': `
    import { existsSync, writeFileSync } from 'node:fs'
    import { test } from 'node:test'
    export const failFirst = (name) => {
      const mark = new URL(name, import.meta.url)
      if (existsSync(mark)) return
      writeFileSync(mark, '')
      throw new Error('the first time')
    }
    export const define = (name) => test('of a shared module', () => failFirst(name))`,
  'good.test.mjs': `
    import { test } from 'node:test'
    test('passes', () => {})`,
  'flaky.test.mjs': `
    import { describe, test } from 'node:test'
    import { failFirst } from './shared.mjs'
    describe('a suite', () => {
      test('passes', () => {})
      test('fails once', () => failFirst('one'))
      test('has parts', (t) => t.test('a part', () => failFirst('two')))
    })`,
  'shares.test.mjs': `import { define } from './shared.mjs'; define('three')`,
  'exits.test.mjs': `
    import { failFirst } from './shared.mjs'
    try { failFirst('four') } catch { process.exit(1) }`,
  'broken.test.mjs': `
    import { test } from 'node:test'
    test('always fails', () => { throw new Error('again') })`,
  'hook.mjs': `
    import { after } from 'node:test'
    import { failFirst } from './shared.mjs'
    after(() => failFirst('five'))`,
  'hooks.test.mjs': `
    import { test } from 'node:test'
    import './hook.mjs'
    import { failFirst } from './shared.mjs'
    test('uses what a shared hook ends', () => failFirst('six'))`,
  'end.mjs': `
    import { after } from 'node:test'
    after(() => { throw new Error('at the end') })`,
  'ended.mjs': `import './good.test.mjs'; import './end.mjs'`,
  'late.test.mjs': `
    import { test } from 'node:test'
    import { failFirst } from './shared.mjs'
    test('fails once', () => failFirst('seven'))`,
  'hooked.mjs': `import './hooks.test.mjs'`,
  'batch.mjs': `import './good.test.mjs'; import './flaky.test.mjs'`,
}

test('a file that fails is run once more, alone: what passes then is told as flaky, what fails twice is red', async (t) => {
  const folder = await temporaryFolder(t)
  for (const [name, text] of Object.entries(FILES)) await writeFile(join(folder, name), text)
  const run = async (modules: Record<string, string[]>): Promise<unknown> => {
    const paths = Object.entries(modules).map(([module, files]) => [
      join(folder, module),
      files.map((file) => join(folder, file)),
    ])
    const script = `
      import { runTests } from ${JSON.stringify(RERUN)}
      const ended = await runTests(new Map(${JSON.stringify(paths)}), ['--test-concurrency=2'])
      process.stdout.write('\\n' + JSON.stringify(ended))`
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--input-type=module', '--eval', script],
      { cwd: folder },
    )
    return JSON.parse(stdout.slice(stdout.lastIndexOf('\n')))
  }

  const chance = {
    'batch.mjs': ['good.test.mjs', 'flaky.test.mjs'],
    'shares.test.mjs': ['shares.test.mjs'],
    'exits.test.mjs': ['exits.test.mjs'],
    'hooked.mjs': ['hooks.test.mjs'],
  }
  assert.deepEqual(await run(chance), {
    code: 0,
    lines: [
      'flaky: flaky.test.mjs › a suite › fails once',
      'flaky: flaky.test.mjs › a suite › has parts › a part',
      'flaky: exits.test.mjs › (the whole file)',
      'flaky: hooks.test.mjs › uses what a shared hook ends',
      'flaky: shares.test.mjs › of a shared module',
    ],
  })
  assert.deepEqual(await run(chance), { code: 0, lines: [] })
  assert.deepEqual(await run({ 'ended.mjs': ['good.test.mjs'], 'late.test.mjs': ['late.test.mjs'] }), {
    code: 1,
    lines: ['flaky: late.test.mjs › fails once', 'failed: end.mjs › (the whole file)'],
  })
  assert.deepEqual(
    await run({ 'good.test.mjs': ['good.test.mjs'], 'broken.test.mjs': ['broken.test.mjs'] }),
    {
      code: 1,
      lines: ['failed twice: broken.test.mjs'],
    },
  )
})
