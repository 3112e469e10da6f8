import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'

import { loadConfig } from './app.ts'
import { temporaryFolder } from './testing/engines.ts'
import { LIBRARY } from './testing/program.ts'

describe('the configuration file', () => {
  let count = 0
  /** Loads a file with these lines; each has a folder of its own, since Node keeps what it has imported. */
  async function load(t: TestContext, text: string, name = 'sixwire.config.ts') {
    const folder = await temporaryFolder(t)
    await writeFile(join(folder, name), text)
    await writeFile(join(folder, 'other.ts'), `export const broken${++count}: number = ((\n`)
    return loadConfig(folder)
  }
  const line = (pattern: RegExp) => (error: Error) => {
    assert.equal(error.name, 'StartError', String(error.stack))
    assert.match(error.message, pattern)
    assert.doesNotMatch(error.message, /\n/)
    return true
  }

  test('need not be there', async (t) => {
    assert.deepEqual(await loadConfig(await temporaryFolder(t)), {})
  })

  for (const name of ['sixwire.config.ts', 'sixwire.config.js', 'sixwire.config.mjs'])
    test(`may be called ${name}`, async (t) => {
      assert.deepEqual(await load(t, `export default { port: 4000 }`, name), { port: 4000 })
    })

  for (const [other, names, pattern] of [
    ['sixwire.config.cjs', [], /^sixwire\.config\.cjs: this file is not read: name it sixwire\.config\.ts$/],
    ['sixwire.config.js', ['sixwire.config.ts'], /^sixwire\.config\.js: .*as there is sixwire\.config\.ts/],
  ] as const)
    test(`stops the start if it is ${[other, ...names].join(' beside ')}`, async (t) => {
      const folder = await temporaryFolder(t)
      for (const name of [other, ...names]) await writeFile(join(folder, name), 'export default {}')
      await assert.rejects(loadConfig(folder), line(pattern))
    })

  for (const [what, text, pattern] of [
    ['exports nothing', `export const x = 1`, /^sixwire\.config\.ts: export default defineConfig/],
    ['exports a list', `export default []`, /^sixwire\.config\.ts: export default defineConfig/],
    ['throws nothing', `throw null`, /^sixwire\.config\.ts: null was thrown$/],
    ['throws a text', `throw 'no'`, /^sixwire\.config\.ts: "no" was thrown$/],
    [
      'calls a function of ours with nothing',
      `import { defineWire } from '${LIBRARY}'\nexport default { wires: [defineWire()()] }`,
      /^sixwire\.config\.ts: TypeError: .* \(sixwire\.config\.ts:2:\d+\)$/,
    ],
    ['exports a function', `export default () => ({})`, /^sixwire\.config\.ts: export default defineConfig/],
    ['is no TypeScript', `export default {`, /^sixwire\.config\.ts: SyntaxError: .*\(sixwire\.config\.ts:1/],
    [
      'imports what is not there',
      `import './not-there.ts'`,
      /^sixwire\.config\.ts: Error: Cannot find module/,
    ],
    ['imports what is broken', `import './other.ts'`, /^sixwire\.config\.ts: SyntaxError: .* \(other\.ts:\d/],
    [
      'throws',
      `\nexport default { port: Number(missing.port) }`,
      /^sixwire\.config\.ts: ReferenceError: missing is not defined \(sixwire\.config\.ts:2:/,
    ],
    [
      'has syntax that can not be stripped',
      `enum A { B }\nexport default {}`,
      /^sixwire\.config\.ts: .*enum/,
    ],
  ] as const)
    test(`that ${what} is told in one line`, async (t) => {
      await assert.rejects(load(t, text), line(pattern))
    })
})
