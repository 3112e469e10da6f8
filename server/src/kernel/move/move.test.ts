// What a person sees of a move, through HTTP and the command: the same answers before and after, and work that goes on.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'

import { createApp, type AppOptions } from '../../app.ts'
import { systemClock } from '../../base/clock.ts'
import { sql } from '../../db/sql.ts'
import { runHere } from '../../testing/command.ts'
import { startApp, type StartOptions, type TestApp } from '../../testing/app.ts'
import { eachEngine, endOfSuite, temporaryFolder } from '../../testing/engines.ts'
import { freePort } from '../../testing/free-port.ts'
import { startTestNode, type TestNode } from '../../testing/node.ts'
import { TEST_SECRET } from '../../testing/templates.ts'
import { until } from '../../testing/until.ts'
import { moveDatabase } from './move.ts'
import { startReceiver, type WebhookReceiver } from '../../testing/webhook-receiver.ts'

/** What opens the application beside its server. */
const inFolder = ({ environment, databaseUrl, config }: StartOptions): AppOptions => ({
  config: config!,
  environment: { ...environment, DATABASE_URL: databaseUrl },
  folder: environment!['DATA_DIR']!,
})

type Person = Awaited<ReturnType<TestApp['register']>>

/** Everything that is asked before and after, as the administrator. */
const READS = [
  '/auth/users',
  '/auth/keys',
  '/auth/audit?limit=100',
  '/auth/sessions',
  '/.well-known/jwks.json',
  '/messaging/logs',
  '/onchain/wallets',
  '/pay/transactions',
  '/pay/events',
  '/core/webhooks',
  '/console/state',
  '/store/files',
  '/store/files/usage',
  '/store/books?sort=-year&limit=7',
  '/store/books?filter={"year":{"$gte":1980}}&sort=year',
  '/store/books?search=momo',
  '/store/books?filter={"isbn":"5"}',
  '/store/backups',
]

// Reads that the audit log tells of, which are refused during a move.
const AUDITED = ['/pay/transactions.csv', '/store/books/export']

async function answersOf(
  app: TestApp,
  { token }: Person,
  paths: readonly string[],
): Promise<Record<string, string>> {
  const answers: Record<string, string> = {}
  for (const path of paths) {
    const { status, text } = await app.request('GET', path, { token })
    assert.equal(status, 200, `${path}: ${text}`)
    answers[path] = text
  }
  return answers
}

describe('an installation that is moved', () => {
  eachEngine((from) =>
    eachEngine((to) => {
      if (from.name === to.name) return
      const end = endOfSuite()
      let options: StartOptions
      let old: TestApp
      let app: TestApp
      let admin: Person
      let user: Person
      let key: string
      let receiver: WebhookReceiver
      let node: TestNode
      let pending: { id: string; reference: string }
      let hash: string
      let url: string
      let answers: Record<string, string>
      let cursor: string
      let wallet: { _id: string; address: `0x${string}` }
      const more: string[] = []

      const call = async (on: TestApp, route: string, body?: unknown, token = admin.token) => {
        const [method = '', path = ''] = route.split(' ')
        const answer = await on.request(method, path, { token, body })
        assert.ok(answer.status < 300, `${route}: ${answer.text}`)
        return answer.body
      }
      const poll = async (
        on: TestApp,
        after = '',
      ): Promise<{ cursor: string; changes: { event: string }[] }> => {
        const path = `/store/changes?collection=books${after && `&cursor=${after}`}`
        return (
          await on.request('GET', path, { token: admin.token, headers: { accept: 'application/json' } })
        ).body
      }
      const sixwire = (words: readonly string[], databaseUrl: string) =>
        runHere(words, {
          folder: options.environment!['DATA_DIR']!,
          environment: { ...options.environment, DATABASE_URL: databaseUrl },
        })

      before(async () => {
        receiver = await startReceiver(end)
        receiver.answer = 503
        node = await startTestNode(end)
        const port = String(await freePort())
        options = {
          sandbox: true,
          databaseUrl: await from.freshUrl(),
          environment: { DATA_DIR: await temporaryFolder(end), PORT: port, SIXWIRE_SECRET: TEST_SECRET },
          config: {
            auth: { accessTokenSeconds: 86_400 },
            onchain: { chains: { ethereum: { rpcUrls: [node.url], confirmations: 1, pollMs: 50 } } },
            store: {
              indexes: { books: ['year'] },
              collections: { books: { search: ['title'], unique: ['isbn'] } },
            },
            webhooks: [
              { name: 'crm', url: receiver.url, secret: receiver.secret, events: ['store.*', 'auth.user.*'] },
            ],
          },
        }
        await writeFile(
          join(options.environment!['DATA_DIR']!, 'sixwire.config.mjs'),
          `export default ${JSON.stringify(options.config)}`,
        )
        old = await startApp(end, from, options)
        admin = await old.register()
        user = await old.register('reader@example.com')
        await old.app.service('auth').users.update({ id: admin._id }, { role: 'admin' })
        await call(old, 'PATCH /core/settings', { version: 0, values: { name: 'Pottery' } })
        await until(async () => (await call(old, 'GET /core/settings')).inForce)
        ;({ key } = await old.app.service('auth').keys.create('till', ['*']))
        for (let n = 0; n < 20; n++)
          more.push(
            `/store/books/${(await call(old, 'POST /store/books', { title: `Momo ${n}`, year: 1970 + n, isbn: String(n) }))._id}`,
          )
        const upload = new FormData()
        upload.append('file', new Blob(['the bytes of a file']), 'a.txt')
        const uploaded = await fetch(`${old.url}/store/upload`, {
          method: 'POST',
          body: upload,
          headers: { authorization: `Bearer ${user.token}` },
        })
        const { _id: file } = (await uploaded.json()) as { _id: string }
        more.push(`/store/files/${file}`, `/store/files/${file}/content`)
        await call(old, 'POST /messaging/email', { to: 'x@example.com', subject: 'Hi', body: '<p>Hi</p>' })
        // With those that ask to verify the two addresses.
        await until(async () => (await call(old, 'GET /messaging/logs?status=sent')).total === 3)
        wallet = await call(old, 'POST /onchain/wallets', { name: 'Till' })
        await node.client.setBalance({ address: wallet.address, value: 10n ** 20n })
        await node.client.setAutomine(false)
        ;({ hash } = await call(old, 'POST /onchain/transactions', {
          walletId: wallet._id,
          to: `0x${'11'.repeat(20)}`,
          value: '1.5',
        }))
        const { transactionId } = await call(old, 'POST /pay/cardpay/checkout', {
          items: [{ name: 'Tea', amount: 1250, currency: 'eur' }],
          successUrl: 'https://shop.example/paid',
          cancelUrl: 'https://shop.example/',
        })
        const { reference } = await call(old, `GET /pay/transactions/${transactionId}`)
        pending = { id: transactionId, reference }
        cursor = (await poll(old)).cursor
        const page = await call(old, 'GET /store/books?sort=-year&limit=7')
        more.push(
          `/store/books?sort=-year&limit=7&cursor=${page.nextCursor}`,
          `/pay/transactions/${transactionId}`,
        )
      })

      test('goes on reading and refuses writes while its rows are copied, and writes again once the move is stopped', async () => {
        const stop = new AbortController()
        const other = await createApp({
          ...inFolder(options),
          standIns: false,
          logTo: { write: () => undefined },
        })
        end.after(() => other.close())
        const moving = moveDatabase(
          { db: other.db, clock: systemClock, tablesOf: (dialect) => other.tablesOf(dialect) },
          {
            to: await to.freshUrl(),
            drainMs: 0,
            signal: stop.signal,
            onProgress: () => undefined,
            async whenClosed() {
              await answersOf(old, admin, [...READS, ...more])
              const refused = await Promise.all([
                old.request('POST', '/store/books', { token: admin.token, body: { title: 'Too late' } }),
                old.request('PATCH', more[0]!, { token: admin.token, body: { title: 'Too late' } }),
                old.request('DELETE', more[0]!, { token: admin.token }),
                old.request('POST', '/auth/login', { body: { email: user.email, password: user.password } }),
                old.request('POST', '/auth/refresh', { body: { refreshToken: user.refreshToken } }),
                old.request('POST', '/messaging/email', {
                  token: admin.token,
                  body: { to: 'x@example.com', subject: 'Too late', body: 'x' },
                }),
              ])
              assert.deepEqual(
                refused.map(({ status, headers, body }) => [
                  status,
                  headers.get('retry-after'),
                  body.error.code,
                ]),
                refused.map(() => [503, '5', 'UNAVAILABLE']),
              )
              stop.abort()
            },
          },
        )
        await assert.rejects(moving)
        const { _id } = await call(old, 'POST /store/books', {
          title: 'In time',
          year: 2000,
          isbn: 'in time',
        })
        more.push(`/store/books/${_id}`)
      })

      test('answers the same from the other database, and the old one takes no writes any more', async () => {
        const published = sql<{
          n: number
        }>`select count(*) as n from sixwire_deliveries where type = 'store.books.created'`
        await until(async () => (await old.app.db.get<{ n: number }>(published))!.n === 21)
        const exported = await answersOf(old, admin, AUDITED)
        answers = await answersOf(old, admin, [...READS, ...more])
        url = await to.freshUrl()
        const moved = await sixwire(['move', '--to', url, '--wait', '0'], options.databaseUrl!)
        assert.equal(moved.code, 0, moved.errors)
        assert.match(
          moved.output,
          /^[\d,]+ rows of \d+ tables are in \S+, and were compared\.\nSet DATABASE_URL to it/,
        )
        assert.equal(
          (await old.request('POST', '/store/books', { token: admin.token, body: {} })).status,
          503,
        )
        assert.deepEqual(await answersOf(old, admin, [...READS, ...more]), answers)
        await old.stop()
        await assert.rejects(
          startApp(end, from, {
            ...options,
            sandbox: false,
            environment: { ...options.environment, PORT: '0' },
          }),
          {
            message: /^DATABASE_URL: the data was moved to \S+ at \S+: set DATABASE_URL to it/,
          },
        )
        app = await startApp(end, to, { ...options, databaseUrl: url })
        // Words are indexed anew after the start.
        await until(async () => {
          const { status } = await app.request('GET', '/store/books?search=momo', { token: admin.token })
          return status !== 503
        })
        assert.deepEqual(await answersOf(app, admin, [...READS, ...more]), answers)
        assert.deepEqual(await answersOf(app, admin, AUDITED), exported)
      })

      test('lets everybody in as before: by tokens, passwords and keys', async () => {
        assert.equal((await app.request('GET', '/auth/me', { token: user.token })).status, 200)
        await call(app, 'POST /auth/refresh', { refreshToken: user.refreshToken })
        await call(app, 'POST /auth/login', { email: user.email, password: user.password })
        await call(app, 'GET /store/books', undefined, key)
      })

      test('keeps rules of its data: unique fields, indexes, counts and words', async () => {
        const taken = await app.request('POST', '/store/books', { token: admin.token, body: { isbn: '5' } })
        assert.equal(taken.status, 409)
        const { total } = await call(app, 'GET /store/books')
        await call(app, 'POST /store/books', { title: 'Momo again', year: 1, isbn: 'new' })
        assert.equal((await call(app, 'GET /store/books')).total, total + 1)
        assert.equal((await call(app, 'GET /store/books?search=again')).total, 1)
        const { plan } = await call(app, 'GET /store/books/explain?sort=year&limit=1')
        assert.match(JSON.stringify(plan), /index/)
      })

      test('tells a follower of changes to begin again', async () => {
        assert.deepEqual(
          (await poll(app, cursor)).changes.map(({ event }) => event),
          ['reset'],
        )
      })

      test('completes a payment that was pending', async () => {
        await call(app, `POST /sandbox/api/cardpay/sessions/${pending.reference}/pay`, {})
        await until(
          async () => (await call(app, `GET /pay/transactions/${pending.id}`)).status === 'completed',
        )
      })

      test('sends a transaction that was in the line once', async () => {
        await node.client.setAutomine(true)
        await node.client.mine({ blocks: 3 })
        await until(async () => {
          app.clock.advance(500)
          return (await call(app, `GET /onchain/transactions/${hash}`)).status === 'confirmed'
        })
        assert.equal(await node.client.getTransactionCount({ address: wallet.address }), 1)
      })

      test('delivers each event that was waiting once', async () => {
        const waiting = new Set(receiver.attempts.map(({ id }) => id))
        receiver.answer = 204
        await until(() => {
          // More at once would end the calls under way.
          app.clock.advance(2_000)
          return [...waiting].every((id) => receiver.events.some((event) => event.id === id))
        })
        const created = receiver.ofType('store.books.created').map(({ data }) => data['_id'])
        assert.equal(created.length, new Set(created).size)
        assert.ok(created.length >= 21)
      })
    }),
  )
})
