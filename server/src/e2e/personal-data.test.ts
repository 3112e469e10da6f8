// What an installation has of one person: all of it is in the export, and after the deletion none of it is anywhere.
import assert from 'node:assert/strict'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'

import { identifier, readCatalogue } from '../db/catalogue.ts'
import { sql } from '../db/sql.ts'
import { defineWire } from '../kernel/wire/wire.ts'
import { startApp, type TestApp } from '../testing/app.ts'
import { eachEngine, endOfSuite, temporaryFolder } from '../testing/engines.ts'
import { until } from '../testing/until.ts'
import { readZip } from '../testing/zip.ts'
import { startReceiver } from '../testing/webhook-receiver.ts'

const PERSON = {
  id: 'quirina-0042-zweigelt',
  email: 'quirina.zweigelt@example.org',
  name: 'Quirina Zweigelt',
  phone: '+4915112349876',
  text: 'Zwetschgenknoedel',
}
const OTHERS = ['another@example.com', 'Rhabarberkompott']
const PASSWORD = 'correct horse battery'

/** What has the id afterwards, and nothing else of the person. */
const KEPT = [
  'onchain_wallets',
  'pay_ledger',
  'pay_transactions',
  'shop_orders',
  'sixwire_audit',
  'sixwire_counts',
  'sixwire_facet_counts',
]

const hasText = (bytes: Buffer, text: string): boolean =>
  bytes.toString('latin1').toLowerCase().includes(text.toLowerCase())

/** Where a text is: tables with their columns, and files. */
async function placesOf({ app }: TestApp, folder: string, text: string): Promise<string[]> {
  const places: string[] = []
  const [plain, hex] = [text.toLowerCase(), Buffer.from(text).toString('hex')]
  for (const { name, columns, isVirtual } of (await readCatalogue(app.db, app.db.dialect)).values()) {
    // The stand-ins of providers are other services.
    if (isVirtual || name.startsWith('sandbox_')) continue
    for (const { name: column } of columns) {
      const value = sql.literal(identifier(column))
      const isThere = sql`${sql.either({
        sqlite: sql`instr(lower(cast(${value} as text)), ${plain}) > 0 or instr(lower(hex(${value})), ${hex}) > 0`,
        postgres: sql`strpos(lower(${value}::text), ${plain}) > 0 or strpos(${value}::text, ${hex}) > 0`,
      })}`
      const [found] = await app.db.all(
        sql`select 1 as one from ${sql.literal(identifier(name))} where ${isThere} limit 1`,
      )
      if (found) places.push(name)
    }
  }
  for (const file of await readdir(folder, { recursive: true, withFileTypes: true }))
    if (
      file.isFile() &&
      !file.name.startsWith('sixwire.db') &&
      hasText(await readFile(join(file.parentPath, file.name)), text)
    )
      places.push(file.name)
  return [...new Set(places)].toSorted()
}

/** A wire of an application, with orders that stay and a note in them that does not. */
async function shopIn(folder: string) {
  await writeFile(
    join(folder, '001-shop.sql'),
    'create table shop_orders (id text primary key, owner text not null, note text, total bigint not null);',
  )
  return defineWire({
    name: 'shop',
    migrations: pathToFileURL(`${folder}/`),
    setup: () => ({
      routes: [],
      service: undefined,
      personalTables: {
        shop_orders: {
          about: 'orders',
          rows: ({ id }) => sql`owner = ${id}`,
          exported: { id: 'value', note: 'value', total: 'value' },
          deletion: { keeps: 'they are part of the accounts', clears: ['note'] },
        },
      },
    }),
  })
}

describe('the data of a person', () => {
  eachEngine((engine) => {
    const end = endOfSuite()
    let server: TestApp
    let folder: string
    let admin: { _id: string; token: string }
    let other: { _id: string; token: string }
    let token: string

    async function call(method: string, path: string, body?: unknown, by = token, headers = {}) {
      const answer = await server.request(method, path, { token: by, body, headers })
      assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`)
      return answer.body
    }
    async function send(path: string, body: FormData, by: string) {
      const headers = { authorization: `Bearer ${by}` }
      const answer = await fetch(server.url + path, { method: 'POST', body, headers })
      const text = await answer.text()
      assert.ok(answer.ok, text)
      return JSON.parse(text) as Record<string, unknown>
    }
    /** Resolves when all jobs of the erasure are over, the clock set forward to each of their times. */
    async function allErased(): Promise<void> {
      await until(async () => {
        const { app, clock } = server
        const waits = await app.db.get(sql`select 1 as one from sixwire_deliveries where state = 'waiting'`)
        const job = await app.db.get(
          sql<{ run_at: number }>`
            select run_at from sixwire_jobs where kind in ('sixwire.erase-person', 'store.merge-words')
            order by run_at limit 1`,
        )
        // It waits for its next time when all has been delivered.
        if (!waits && job && job.run_at > clock.now()) clock.advance(job.run_at - clock.now())
        return !job
      })
    }

    before(async () => {
      folder = await temporaryFolder(end)
      const receiver = await startReceiver(end)
      server = await startApp(end, engine, {
        sandbox: true,
        databaseUrl:
          engine.name === 'sqlite' ? `sqlite:${join(folder, 'sixwire.db')}` : await engine.migratedUrl(),
        environment: { DATA_DIR: folder },
        config: {
          auth: { accessTokenSeconds: 86_400 },
          wires: [(await shopIn(await temporaryFolder(end)))()],
          onchain: { chains: { ethereum: { rpcUrls: ['http://127.0.0.1:9'] } } },
          store: {
            collections: {
              notes: { read: 'user', search: ['text'], unique: ['slug'], hidden: ['score'] },
              comments: { relations: { note: { to: 'notes' } } },
              likes: { relations: { note: { to: 'notes', onDelete: 'cascade' } } },
            },
          },
          webhooks: [
            { name: 'crm', url: receiver.url, secret: receiver.secret, events: ['store.*', 'auth.user.*'] },
          ],
        },
      })
      admin = await server.register()
      await server.app.service('auth').users.update({ id: admin._id }, { role: 'admin' })
      other = await server.register(OTHERS[0])
      await importPerson()
      await useEverything()
    })

    /** With all that an import brings. */
    async function importPerson(): Promise<void> {
      const { id, email, name, phone, text } = PERSON
      const passwordHash = '$2b$04$0pj3sUZ2f7Fjc3mRyoGkXOTPhAvVyXYzwzTzrO4jQ2y1zCIhR8h3u'
      const user = {
        _id: id,
        email,
        emailVerified: true,
        name,
        phone,
        passwordHash,
        metadata: { motto: text },
        identities: [{ issuer: 'https://login.example', subject: text }],
      }
      const upload = new FormData()
      upload.append('file', new Blob([JSON.stringify(user)]), 'users.ndjson')
      const imported = await send('/auth/users/import', upload, admin.token)
      assert.equal(imported['created'], 1, JSON.stringify(imported))
      await server.app.service('auth').users.setPassword({ id }, PASSWORD)
      const signedIn = await server.request('POST', '/auth/login', {
        body: { email, password: PASSWORD },
        headers: { 'user-agent': text },
      })
      assert.equal(signedIn.status, 200, signedIn.text)
      token = signedIn.body.token
    }

    async function useEverything(): Promise<void> {
      const { id, email, phone, text } = PERSON
      const { db } = server.app
      const { _id: note } = await call('POST', '/store/notes', { text, slug: text }, token, {
        'idempotency-key': 'one',
      })
      await call('PATCH', `/store/notes/${note}`, { text: `${text} 2` })
      await call('PATCH', `/store/notes/${note}`, { score: 7 }, admin.token)
      const { _id: gone } = await call('POST', '/store/notes', { text, slug: 'gone' })
      await call('DELETE', `/store/notes/${gone}`)
      await call('POST', '/store/comments', { note, text: OTHERS[1] }, other.token)
      await call('POST', '/store/likes', { note }, other.token)
      await call('POST', '/store/notes', { text: OTHERS[1], slug: 'other' }, other.token)
      const upload = new FormData()
      upload.append('file', new Blob([text]), `${text}.txt`)
      upload.append('metadata', JSON.stringify({ text }))
      await send('/store/upload', upload, token)
      const body = `<p>${text}</p>`
      await call('POST', '/messaging/email', { to: email, subject: text, body }, admin.token)
      await call('POST', '/messaging/email', { to: [email, OTHERS[0]], subject: text, body }, admin.token)
      await call('POST', '/messaging/sms', { to: phone, body: text }, admin.token)
      const bought = await call('POST', '/pay/cardpay/checkout', {
        items: [{ name: 'Tea', amount: 1250, currency: 'eur' }],
        successUrl: 'https://shop.example/paid',
        cancelUrl: 'https://shop.example/',
        email,
        metadata: { text },
      })
      await call('POST', `/sandbox/api/cardpay/sessions/${bought.sessionId}/pay`)
      await until(
        async () => (await call('GET', `/pay/transactions/${bought.transactionId}`)).status === 'completed',
      )
      await call('POST', '/onchain/wallets', { name: text })
      await call('GET', `/auth/users/${id}`, undefined, admin.token)
      await call('PATCH', `/auth/users/${id}`, { name: `${PERSON.name} II` }, admin.token)
      await call('POST', `/auth/users/${id}/notes`, { text }, admin.token)
      // What takes a browser or an app.
      await db.batch([
        sql`insert into auth_totp (user_id, secret, last_step, created_at) values (${id}, 'sealed-secret', 1, 1)`,
        sql`insert into shop_orders (id, owner, note, total) values ('one', ${id}, ${text}, 7)`,
        sql`insert into auth_recovery_codes (user_id, salt, hash) values (${id}, 'salt', 'scrypt-hash')`,
        sql`insert into auth_known_devices (user_id, device_hash, last_used_at) values (${id}, 'device-hash', 1)`,
      ])
      await until(
        async () => (await call('GET', '/messaging/logs?status=queued', undefined, admin.token)).total === 0,
      )
      await until(
        async () =>
          (await db.all(sql`select 1 as one from sixwire_log where caller = ${id} limit 1`)).length > 0,
      )
    }

    test('is in the export, and nothing of others or that is secret', async () => {
      const { body: begun, status } = await server.request('GET', '/auth/me/export', { token })
      assert.deepEqual([status, begun.state], [202, 'running'])
      await until(async () => (await server.request('GET', '/auth/me/export', { token })).status === 200)
      const { url, size } = await call('GET', '/auth/me/export')
      const archive = Buffer.from(await (await fetch(url)).arrayBuffer())
      assert.equal(archive.length, size)
      const files = readZip(archive)
      assert.deepEqual(
        [...files.keys()].map((name) => name.replace(/files\/\w+-/, 'files/ID-')),
        [
          'README.txt',
          'shop/orders.ndjson',
          'store/documents/notes.ndjson',
          'store/files.ndjson',
          'pay/calls.ndjson',
          'pay/ledger.ndjson',
          'pay/events.ndjson',
          'pay/transactions.ndjson',
          'auth/users.ndjson',
          'auth/sessions.ndjson',
          'auth/identities.ndjson',
          'auth/phones.ndjson',
          'auth/totp.ndjson',
          'auth/notes.ndjson',
          'auth/active_hours.ndjson',
          'onchain/wallets.ndjson',
          'messaging/messages.ndjson',
          'sixwire/audit.ndjson',
          'sixwire/log.ndjson',
          `store/files/ID-${PERSON.text}.txt`,
        ],
      )
      files.delete('README.txt')
      const all = [...files].join('\n')
      for (const text of Object.values(PERSON)) assert.ok(all.includes(text), text)
      for (const text of [
        ...OTHERS,
        admin._id,
        other._id,
        'score',
        'hash',
        'sealed',
        'key_reference',
        '$2b$',
      ])
        assert.ok(!all.includes(text), text)
    })

    test('is told before a deletion, and is nowhere after it', async () => {
      const { erased, kept } = await call('GET', '/auth/me/deletion')
      const told = (of: { about: string; count: number }[]) => of.map(({ about }) => about)
      assert.deepEqual(told(erased), [
        'documents',
        'files',
        'the account',
        'sessions',
        'accounts at identity providers',
        'phone numbers',
        'authenticator apps',
        'notes of the staff',
        'hours of activity',
        'messages',
        'requests in the log',
        'stored answers to repeated requests',
        'events for webhooks',
        'exports of these data',
      ])
      assert.deepEqual(told(kept), [
        'orders',
        'captures and refunds',
        'entries of the ledger',
        'events of payment providers',
        'payments',
        'wallets',
        'entries of the audit log',
      ])
      assert.deepEqual(
        await call('GET', `/auth/users/${PERSON.id}/deletion`, undefined, admin.token).then((of) =>
          told(of.kept),
        ),
        told(kept),
      )
      const { _id: backup } = await call('POST', '/store/backup', {}, admin.token)
      await call('DELETE', '/auth/me', { password: PASSWORD })
      await allErased()
      const found: Record<string, string[]> = {}
      for (const [name, text] of Object.entries(PERSON)) found[name] = await placesOf(server, folder, text)
      assert.deepEqual(found, { id: KEPT, email: [], name: [], phone: [], text: [] })

      // A backup from before brings the records back, for a moment.
      await server.app.service('store').restores.restore({ id: backup })
      await allErased()
      assert.deepEqual(await placesOf(server, folder, PERSON.text), [])
      if (engine.name === 'postgres') return
      // What is deleted is written over: https://www.sqlite.org/pragma.html#pragma_secure_delete
      for (const name of (await readCatalogue(server.app.db, 'sqlite')).keys())
        if (name.startsWith('sandbox_'))
          await server.app.db.write(sql.literal(`delete from ${identifier(name)}`))
      await server.stop()
      const database = await readFile(join(folder, 'sixwire.db'))
      const { id: _, ...texts } = PERSON
      assert.deepEqual(
        Object.values(texts).filter((text) => hasText(database, text)),
        [],
      )
    })
  })
})
