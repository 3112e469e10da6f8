// The examples of docs/client.md run; client/src/frontend.test.ts checks their types.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

import { loadConfig } from '../app.ts'
import type { Live, ClientWatch } from '../../../client/src/index.ts'
import { startApp } from '../testing/app.ts'
import { someEngine } from '../testing/engines.ts'
import { applicationFolder, blocksOf, importFile } from '../testing/examples.ts'
import { until } from '../testing/until.ts'

const STORAGE = `const entries = new Map()
export default { getItem: async (key) => entries.get(key) ?? null, setItem: async (key, value) => entries.set(key, value),
  removeItem: async (key) => entries.delete(key) }`

type Ran = {
  lines: string[]
  data: unknown[]
  user: { email: string }
  again: unknown
  bytes: Blob
  orders: number
  cheap: Live<object>
  watch: ClientWatch
}

someEngine((engine) => {
  test('the examples of docs/client.md run', async (t) => {
    const config = await loadConfig(fileURLToPath(new URL('../../../examples/shop/', import.meta.url)))
    const app = await startApp(t, engine, { config, sandbox: true })
    const { key } = await app.app.service('auth').keys.create('backend', ['store'])
    const blocks = await blocksOf('docs/client.md', 'ts')
    // Each declares the client of an application by itself.
    const isOwn = (block: string) => block.includes('loyalty')
    const [inferred, written] = blocks.filter(isOwn)
    const isTyped = (block: string) => block.includes('projects')
    const [typedConfig, typed] = blocks.filter(isTyped)
    const shared = `import localStorage from './storage.ts'
      const lines = []
      const console = { log: (...line) => void lines.push(line.join(' ')) }
      const location = { hash: '' }
      process.env.SIXWIRE_KEY = '${key}'\n`
    const main = blocks.filter((block) => !isOwn(block) && !isTyped(block)).join('\n')
    const at = (text: string) =>
      text
        .replaceAll('http://localhost:3000', app.url)
        .replaceAll("'@react-native-async-storage/async-storage'", "'./storage.ts'")
    const folder = await applicationFolder(t, {
      'storage.ts': STORAGE,
      'main.ts': at(
        `${shared}${main}\nexport { lines, data, total, user, again, unsubscribe, cheap, watch, bytes, orders }`,
      ),
      // They find the session of the other in the storage.
      'inferred.ts': at(`import localStorage from './storage.ts'\n${inferred!}\nexport { points }`),
      'sixwire.config.ts': typedConfig!,
      'typed.ts': at(`import localStorage from './storage.ts'\n${typed!}\nexport { house }`),
      'written.ts': at(`import localStorage from './storage.ts'\n${written!}\nexport { points }`),
    })
    const ran = (await importFile(join(folder, 'main.ts'))) as Ran
    assert.deepEqual(ran.data, [ran.again])
    assert.equal(ran.user.email, 'ada@example.com')
    assert.equal(await ran.bytes.text(), '…')
    assert.equal(ran.orders, 1)
    // These come when they come.
    const isChange = (line: string) => /cheap books$|is now|not of 1979/.test(line)
    await until(() => ran.lines.some((line) => line === '2 cheap books'))
    ran.cheap.close()
    ran.watch.close()
    const changes = ran.lines.filter(isChange)
    assert.equal(changes[0], '1 cheap books')
    assert.deepEqual(
      ran.lines.filter((line) => !isChange(line)),
      [
        'signed in as ada@example.com',
        'signed out',
        'signed in as ada@example.com',
        `"1" ${JSON.stringify(ran.again)}`,
        'This address has an account.',
        'The email address or the password is wrong.',
        'Momo',
        'The document has changed meanwhile.',
        'lent for 10',
      ],
    )
    for (const file of ['inferred.ts', 'written.ts'])
      assert.deepEqual({ ...(await importFile(join(folder, file))) }, { points: 100 })
    const { house } = (await importFile(join(folder, 'typed.ts'))) as { house: { title: string } }
    assert.equal(house.title, 'House')
  })
})
