// What others have is not in the export of a person, and stays when the person is erased.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { pathToFileURL } from 'node:url'

import { sql, type Sql } from '../db/sql.ts'
import type { DataSubject } from '../kernel/wire/personal-data.ts'
import { defineWire, type ConfiguredWire } from '../kernel/wire/wire.ts'
import { startApp, type TestApp } from '../testing/app.ts'
import { eachEngine, temporaryFolder, type Engine } from '../testing/engines.ts'
import { until } from '../testing/until.ts'
import { readZip } from '../testing/zip.ts'

async function startWithAdmin(t: TestContext, engine: Engine, wires: ConfiguredWire[] = []) {
  const server = await startApp(t, engine, {
    sandbox: true,
    environment: { DATA_DIR: await temporaryFolder(t) },
    config: { wires },
  })
  const { _id, token } = await server.register()
  await server.app.service('auth').users.update({ id: _id }, { role: 'admin' })
  return { server, token }
}

/** A wire that makes a column null which cannot be null. */
async function shopIn(folder: string): Promise<ConfiguredWire> {
  await writeFile(
    join(folder, '001-shop.sql'),
    'create table shop_orders (id text primary key, owner text not null);',
  )
  const keptOrders = {
    rows: ({ id }: DataSubject) => sql`owner = ${id}`,
    deletion: { keeps: 'orders are part of the accounts', clears: ['owner'] },
  }
  return defineWire({
    name: 'shop',
    migrations: pathToFileURL(`${folder}/`),
    setup: () => ({ routes: [], service: undefined, personalTables: { shop_orders: keptOrders } }),
  })()
}

const PASSWORD = 'correct horse battery'

/** A job that has failed, which an erasure searches for the person. */
const failedJobSql = (id: string, text: string, at: number): Sql => sql`
  insert into sixwire_jobs (id, kind, payload, state, run_at, attempts, created_at)
  values (${id}, 'test', ${JSON.stringify({ text })}, 'failed', 1, 1, ${at})`

const jobsLeft = async ({ app }: TestApp): Promise<string[]> =>
  (await app.db.all(sql<{ id: string }>`select id from sixwire_jobs where kind = 'test' order by id`)).map(
    ({ id }) => id,
  )

const erasureOf = ({ app }: TestApp) =>
  app.db.get(
    sql<{ run_at: number; last_error: string | null }>`
      select run_at, last_error from sixwire_jobs where kind = 'sixwire.erase-person'`,
  )

async function deleteUser(server: TestApp, token: string, id: string): Promise<void> {
  const deleted = await server.request('DELETE', `/auth/users/${id}`, { token })
  assert.equal(deleted.status, 200, deleted.text)
}

/** Resolves when the erasure has looked for all once more, an hour later. */
const allErased = (server: TestApp): Promise<void> =>
  until(async () => {
    const job = await erasureOf(server)
    if (job && job.run_at > server.clock.now()) server.clock.advance(job.run_at - server.clock.now())
    return job === undefined
  })

async function importUser({ url }: TestApp, token: string, user: object): Promise<void> {
  const body = new FormData()
  body.append('file', new Blob([JSON.stringify(user)]), 'users.ndjson')
  const headers = { authorization: `Bearer ${token}` }
  const answer = await fetch(`${url}/auth/users/import`, { method: 'POST', headers, body })
  assert.equal(answer.status, 200, await answer.text())
}

eachEngine((engine) => {
  test('an address that was never verified shows and erases nothing', async (t) => {
    const { server, token } = await startWithAdmin(t, engine)
    const email = 'guest@example.com'
    const sent = await server.request('POST', '/messaging/email', {
      token,
      body: { to: email, subject: 'Rhabarberkompott', body: 'Text' },
    })
    assert.equal(sent.status, 200, sent.text)
    const bought = await server.request('POST', '/pay/cardpay/checkout', {
      token,
      body: {
        items: [{ name: 'Tea', amount: 1250, currency: 'eur' }],
        successUrl: 'https://shop.example/paid',
        cancelUrl: 'https://shop.example/',
        email,
        metadata: { text: 'Rhabarberkompott' },
      },
    })
    assert.ok(bought.status < 300, bought.text)
    const intruder = await server.register(email)
    const exported = () => server.request('GET', '/auth/me/export', { token: intruder.token })
    await until(async () => (await exported()).status === 200)
    const { url } = (await exported()).body as { url: string }
    const files = readZip(Buffer.from(await (await fetch(url)).arrayBuffer()))
    assert.ok(files.has('auth/users.ndjson'))
    assert.ok(![...files].join('\n').includes('Rhabarberkompott'))
    await deleteUser(server, token, intruder._id)
    assert.equal((await fetch(url)).status, 404)
    await allErased(server)
    const { db } = server.app
    const [payment] = await db.all(sql<{ email: string }>`select email from pay_transactions`)
    assert.equal(payment?.email, email)
    assert.equal((await db.all(sql`select id from messaging_messages where subject is not null`)).length, 1)
  })

  test('what names another person, or the next one of an address, is not erased', async (t) => {
    const { server, token } = await startWithAdmin(t, engine)
    const { clock } = server
    await importUser(server, token, { _id: '17', email: 'ann@x.co', emailVerified: true })
    await server.app.db.batch([
      failedJobSql('of ann', 'to ann@x.co', clock.now()),
      failedJobSql('of joann', 'to joann@x.com', clock.now()),
      failedJobSql('of nobody', 'invoice 17 of 2017', clock.now()),
      failedJobSql('of the next ann', 'to ann@x.co', clock.now() + 60_000),
    ])
    await deleteUser(server, token, '17')
    await allErased(server)
    assert.deepEqual(await jobsLeft(server), ['of joann', 'of nobody', 'of the next ann'])
  })

  test('what an administrator did to others keeps its reason', async (t) => {
    const { server, token } = await startWithAdmin(t, engine)
    const { _id } = await server.register()
    const reason = 'Ticket 4711'
    const begun = await server.request('POST', `/auth/users/${_id}/impersonate`, { token, body: { reason } })
    assert.equal(begun.status, 201, begun.text)
    const gone = await server.request('DELETE', '/auth/me', { token, body: { password: PASSWORD } })
    assert.equal(gone.status, 200, gone.text)
    await allErased(server)
    const entries = await server.app.db.all(
      sql`select reason, ip from sixwire_audit where target = ${`user:${_id}`} and reason is not null`,
    )
    assert.deepEqual(entries, [{ reason, ip: null }])
  })

  test('a table that cannot be erased does not keep the others', async (t) => {
    const shop = await shopIn(await temporaryFolder(t))
    const { server, token } = await startWithAdmin(t, engine, [shop])
    const { _id } = await server.register()
    await server.app.db.batch([
      sql`insert into shop_orders (id, owner) values ('one', ${_id})`,
      failedJobSql('of the person', _id, server.clock.now()),
    ])
    await deleteUser(server, token, _id)
    await until(async () => (await jobsLeft(server)).length === 0)
    await until(async () => (await erasureOf(server))?.last_error?.startsWith('shop_orders: ') ?? false)
  })
})
