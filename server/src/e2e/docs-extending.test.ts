// The examples of docs/extending.md run.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'

import { loadConfig, type Config } from '../app.ts'
import { openDatabase } from '../db/open.ts'
import { sql } from '../db/sql.ts'
import { startApp } from '../testing/app.ts'
import { stillClock } from '../testing/clock.ts'
import { someEngine, temporaryFolder } from '../testing/engines.ts'
import { applicationFolder, blocksOf, importFile } from '../testing/examples.ts'
import { until } from '../testing/until.ts'

someEngine((engine) => {
  test('the wire of docs/extending.md greets', async (t) => {
    const blocks = await blocksOf('docs/extending.md', 'ts')
    const functions = blocks.find((block) => block.includes('greetings_initials'))
    const withFunctions = "sqliteFunctions: new URL('./sqlite-functions.ts', import.meta.url),\n  setup"
    const folder = await applicationFolder(t, {
      'greetings/index.ts': blocks[1]!.replace('setup', withFunctions),
      'greetings/sqlite-functions.ts': functions!,
      'greetings/migrations/001-none.sql': 'create table greetings (id text primary key);',
      'sixwire.config.ts': `
        import { defineConfig } from 'sixwire'
        import { greetings } from './greetings/index.ts'
        export default defineConfig({ wires: [greetings({ word: 'Welcome' })] })`,
    })
    const config: Config = await loadConfig(folder)
    const app = await startApp(t, engine, { config })
    const { token } = await app.register()
    const { body } = await app.request('GET', '/greetings/Ada', { token })
    assert.deepEqual(body, { text: 'Welcome, Ada!' })
    const client = blocks.find((block) => block.includes('createClient'))!
    await writeFile(
      join(folder, 'call.ts'),
      `import { createClient } from '${import.meta.resolve('sixwire/client')}'
      const token = '${token}'
      ${client.replace('http://localhost:3000', app.url)}
      export { text }`,
    )
    assert.equal((await importFile(join(folder, 'call.ts')))['text'], 'Welcome, Ada!')
    if (app.app.db.dialect === 'sqlite')
      assert.deepEqual(await app.app.db.get(sql`select greetings_initials('Ada Lovelace') as initials`), {
        initials: 'AL',
      })
  })

  test('the wire of docs/extending.md takes a picture, and an event that is signed', async (t) => {
    const wire = (await blocksOf('docs/extending.md', 'ts')).find((block) =>
      block.includes("name: 'pictures'"),
    )
    const pictures = await temporaryFolder(t)
    const folder = await applicationFolder(t, {
      'pictures.ts': wire!,
      'sixwire.config.ts': `
        import { defineConfig } from 'sixwire'
        import { pictures } from './pictures.ts'
        export default defineConfig({ wires: [pictures({ folder: ${JSON.stringify(pictures)}, secret: 's' })] })`,
    })
    const config: Config = await loadConfig(folder)
    const app = await startApp(t, engine, { config })
    const { token } = await app.register()
    const upload = async (title: string) => {
      const body = new FormData()
      body.set('file', new File(['cat'], 'cat.png'))
      body.set('title', title)
      const headers = { authorization: `Bearer ${token}` }
      return fetch(`${app.url}/pictures`, { method: 'POST', headers, body })
    }
    const answered = await upload('A cat')
    assert.equal(answered.status, 201)
    const { id, title } = (await answered.json()) as { id: string; title: string }
    assert.equal(title, 'A cat')
    assert.equal((await upload('x'.repeat(101))).status, 400)
    assert.deepEqual(await readdir(pictures), [id])
    assert.equal(await readFile(join(pictures, id), 'utf8'), 'cat')
    const signature = createHmac('sha256', 's').update('{}').digest('hex')
    for (const [raw, status] of [
      ['{}', 200],
      ['{ }', 403],
    ] as const) {
      const event = { raw, headers: { 'x-signature': signature } }
      assert.equal((await app.request('POST', '/pictures/hook', event)).status, status)
    }
  })

  test('the screen of docs/extending.md is shown, with its figure', async (t) => {
    const wire = (await blocksOf('docs/extending.md', 'ts')).find((block) =>
      block.includes("name: 'tickets'"),
    )!
    const folder = await applicationFolder(t, {
      'tickets/index.ts': wire,
      'tickets/migrations/001-tickets.sql':
        "create table tickets (id text primary key, subject text not null, state text not null default 'open', reason text);",
      'sixwire.config.ts': `
        import { defineConfig } from 'sixwire'
        import { tickets } from './tickets/index.ts'
        export default defineConfig({ wires: [tickets()] })`,
    })
    const config: Config = await loadConfig(folder)
    const app = await startApp(t, engine, { config })
    const { token } = await app.register()
    await app.app.db.write(sql`insert into tickets (id, subject) values ('a', 'Broken cup')`)
    const { body } = await app.request('GET', '/core/screens', { token })
    const [screen] = body.screens
    assert.deepEqual(
      [screen.key, screen.filters[0].options, screen.columns[1], screen.actions[0].from],
      ['_id', ['open', 'closed'], { field: 'state', title: 'Status', kind: 'choice' }, { id: '_id' }],
    )
    const { body: overview } = await app.request('GET', '/core/overview', { token })
    assert.ok(
      overview.figures.some(
        ({ name, value }: { name: string; value: unknown }) => name === 'open-tickets' && value === 1,
      ),
    )
    const closed = await app.request('POST', '/tickets/a/close', { token, body: { reason: 'mended' } })
    assert.deepEqual(closed.body, { closed: true })
  })

  test('the variables of docs/extending.md set the options of its wire', async (t) => {
    const wire = (await blocksOf('docs/extending.md', 'ts')).find((block) => block.includes('shipping'))!
    const folder = await applicationFolder(t, {
      'shipping/index.ts': `import { defineWire, Type } from 'sixwire'\n${wire}`,
      'sixwire.config.ts': `
        import { defineConfig } from 'sixwire'
        import { shipping } from './shipping/index.ts'
        export default defineConfig({ wires: [shipping({ depots: { bonn: { urls: ['https://c'] } } })] })`,
    })
    const config: Config = await loadConfig(folder)
    const environment = {
      BERLIN_DEPOT_URLS: 'https://a,https://b',
      BONN_DEPOT_URLS: 'https://d',
      SHIPPING_MAX_KILOGRAMS: '5',
    }
    const app = await startApp(t, engine, { config, environment })
    assert.deepEqual(app.app.service('shipping' as 'store'), {
      berlin: { urls: ['https://a', 'https://b'] },
      bonn: { urls: ['https://d'] },
    })
  })

  test('the schedule of docs/extending.md runs once, on two servers', async (t) => {
    const schedule = (await blocksOf('docs/extending.md', 'ts')).find((block) => block.includes('cron:'))!
    const folder = await applicationFolder(t, { 'sixwire.config.ts': schedule })
    const config: Config = await loadConfig(folder)
    // A Friday, a minute before its time in Zurich.
    const clock = stillClock(Date.UTC(2027, 6, 2, 4, 59))
    const databaseUrl = await engine.migratedUrl()
    const servers = [
      await startApp(t, engine, { config, clock, databaseUrl }),
      await startApp(t, engine, { config, clock, databaseUrl }),
    ]
    const log = () => servers.map((one) => one.log()).join('')
    const sent = () =>
      [...log().matchAll(/"due":"(.{24})","msg":"the digest is sent"/g)].map(([, due]) => due)
    clock.advance(60_000)
    await until(() => sent().length === 1)
    // One that is still claimed when the clock jumps behind its lease would run again.
    const db = await openDatabase(databaseUrl)
    t.after(() => db.close())
    await until(async () => !(await db.get(sql`select id from sixwire_jobs where claimed_by is not null`)))
    clock.advance(3 * 86_400_000)
    await until(() => sent().length === 2)
    assert.deepEqual(new Set(sent()), new Set(['2027-07-02T05:00:00.000Z', '2027-07-05T05:00:00.000Z']))
  })
})
