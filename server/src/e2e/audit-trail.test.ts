// Every route of operators that changes something leaves exactly one entry in the audit log, made from the route table.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { before, test } from 'node:test'

import { sql } from '../db/sql.ts'
import { appForAll, PASSWORD } from '../testing/auth.ts'
import { someEngine } from '../testing/engines.ts'
import type { RequestOptions, TestApp } from '../testing/app.ts'

type Admin = { _id: string; token: string }
/** How a route is called so that it changes something, and the entry that it leaves. */
type Case = {
  action: string
  call: (app: TestApp, admin: Admin) => Promise<[path: string, options?: RequestOptions]>
}
/** Where a route is shown that needs a provider or a chain: the file names its action. */
type Shown = { action: string; file: string }

const newUser = async (app: TestApp): Promise<string> => (await app.register())._id
const ofUser =
  (path: string, options: RequestOptions = {}): Case['call'] =>
  async (app) => [`/auth/users/${await newUser(app)}${path}`, options]

let jobs = 0
const putJob = async ({ app }: TestApp): Promise<string> => {
  const id = `failed-${jobs++}`
  await app.db.write(sql`
    insert into sixwire_jobs (id, kind, payload, state, run_at, attempts, last_error, created_at)
    values (${id}, 'auth.notice', '{}', 'failed', 0, 9, 'no reason', 0)`)
  return id
}

async function putBackup(app: TestApp, { token }: Admin): Promise<string> {
  const { status, body, text } = await app.request('POST', '/store/backup', { token })
  assert.equal(status, 201, text)
  return body._id
}

async function putDocument(app: TestApp, { token }: Admin, collection: string): Promise<void> {
  const answered = await app.request('POST', `/store/${collection}`, { token, body: { title: 'Momo' } })
  assert.equal(answered.status, 201)
}

const FORM = { 'content-type': 'multipart/form-data; boundary=b' }
const importOf = (lines: string): string =>
  `--b\r\ncontent-disposition: form-data; name="file"; filename="a.ndjson"\r\n\r\n${lines}\r\n--b--\r\n`

const CASES: Readonly<Record<string, Case | Shown>> = {
  'POST /core/logs/faults/:id/resolve': {
    action: 'fault.resolved',
    file: 'wires/core/request-log/logs.test.ts',
  },
  'POST /core/jobs/:id/retry': {
    action: 'job.retried',
    call: async (app) => [`/core/jobs/${await putJob(app)}/retry`],
  },
  'POST /core/jobs/retry': {
    action: 'jobs.retried',
    call: async (app) => {
      await putJob(app)
      return ['/core/jobs/retry', { body: { filter: {} } }]
    },
  },
  'DELETE /core/jobs/:id': {
    action: 'job.discarded',
    call: async (app) => [`/core/jobs/${await putJob(app)}`],
  },
  'POST /core/webhooks/:name/enable': {
    action: 'webhook.enabled',
    call: async () => ['/core/webhooks/shop/enable'],
  },
  'POST /core/webhooks/deliveries/:id/retry': {
    action: 'delivery.retried',
    call: async (app) => {
      const row = await app.app.db.get<{ id: string }>(sql`select id from sixwire_deliveries limit 1`)
      return [`/core/webhooks/deliveries/${row!.id}/retry`]
    },
  },
  'POST /messaging/logs/:id/resend': { action: 'message.resent', file: 'wires/messaging/console.test.ts' },
  'POST /onchain/transactions/:hash/speed-up': {
    action: 'transaction.sped-up',
    file: 'wires/onchain/console.test.ts',
  },
  'POST /onchain/transactions/:hash/cancel': {
    action: 'transaction.cancelled',
    file: 'wires/onchain/console.test.ts',
  },
  'POST /auth/users': {
    action: 'user.created',
    call: async () => ['/auth/users', { body: { email: 'new@example.com', password: PASSWORD } }],
  },
  'POST /auth/users/import': {
    action: 'users.imported',
    call: async () => [
      '/auth/users/import',
      { raw: importOf('{"_id":"u-1","email":"imported@example.com"}'), headers: FORM },
    ],
  },
  'PATCH /auth/users/:id': { action: 'user.role-changed', call: ofUser('', { body: { role: 'viewer' } }) },
  'DELETE /auth/users/:id': { action: 'user.deleted', call: ofUser('') },
  'POST /auth/users/:id/unlock': { action: 'user.unlocked', call: ofUser('/unlock') },
  'POST /auth/users/:id/reset': { action: 'user.reset-sent', call: ofUser('/reset') },
  'POST /auth/users/:id/invite': {
    action: 'user.invited',
    call: async (app) => {
      const { users } = app.app.service('auth')
      const { id } = await users.create({ email: 'invited@example.com' })
      return [`/auth/users/${id}/invite`]
    },
  },
  'POST /auth/users/:id/verify': { action: 'user.verified', call: ofUser('/verify') },
  'POST /auth/users/:id/impersonate': {
    action: 'session.impersonated',
    call: ofUser('/impersonate', { body: { reason: 'the test of the audit log' } }),
  },
  'DELETE /auth/users/:id/sessions': { action: 'user.sessions-revoked', call: ofUser('/sessions') },
  'DELETE /auth/users/:id/sessions/:sid': {
    action: 'user.session-revoked',
    call: async (app) => {
      const id = await newUser(app)
      const row = await app.app.db.get<{ id: string }>(
        sql`select id from auth_sessions where user_id = ${id}`,
      )
      return [`/auth/users/${id}/sessions/${row!.id}`]
    },
  },
  'POST /auth/users/:id/notes': {
    action: 'note.created',
    call: ofUser('/notes', { body: { text: 'called' } }),
  },
  'DELETE /auth/users/:id/notes/:noteId': {
    action: 'note.deleted',
    call: async (app) => {
      const id = await newUser(app)
      await app.app.db.write(
        sql`insert into auth_notes (id, user_id, text, created_at) values ('note', ${id}, 'called', 1)`,
      )
      return [`/auth/users/${id}/notes/note`]
    },
  },
  'DELETE /auth/users/:id/factors': { action: 'user.factors-removed', call: ofUser('/factors') },
  'POST /auth/keys': {
    action: 'key.created',
    call: async () => ['/auth/keys', { body: { name: 'backend', scopes: ['store'] } }],
  },
  'DELETE /auth/keys/:id': {
    action: 'key.revoked',
    call: async (app) => [`/auth/keys/${(await app.app.service('auth').keys.create('a', ['pay'])).id}`],
  },
  'POST /pay/cardpay/refund': {
    action: 'payment.refunded',
    file: 'wires/pay/administration/administration.test.ts',
  },
  'POST /pay/walletpay/refund': {
    action: 'payment.refunded',
    file: 'wires/pay/administration/administration.test.ts',
  },
  'POST /pay/events/:id/replay': {
    action: 'payment-event.replayed',
    file: 'wires/pay/administration/administration.test.ts',
  },
  'POST /store/files/bulk': { action: 'files.deleted', file: 'wires/store/files/lists/file-bulk.test.ts' },
  'PATCH /core/settings': {
    action: 'settings.changed',
    file: 'wires/core/settings/settings.test.ts',
  },
  'POST /core/settings/versions/:version/restore': {
    action: 'settings.changed',
    file: 'wires/core/settings/settings.test.ts',
  },
  'PUT /store/collections': {
    action: 'collection.defined',
    call: async () => [
      '/store/collections',
      { body: { definitions: [{ name: 'together', definition: { read: 'public' } }] } },
    ],
  },
  'PUT /store/collections/:name': {
    action: 'collection.defined',
    call: async () => ['/store/collections/defined', { body: { read: 'public' } }],
  },
  'DELETE /store/collections/:name': {
    action: 'collection.definition-removed',
    call: async (app, admin) => {
      const body = { read: 'admin' }
      await app.request('PUT', '/store/collections/undefined', { token: admin.token, body })
      return ['/store/collections/undefined']
    },
  },
  'DELETE /store/:collection': {
    action: 'collection.dropped',
    call: async (app, admin) => {
      await putDocument(app, admin, 'dropped')
      return ['/store/dropped?documents=1']
    },
  },
  'POST /store/:collection/bulk': {
    action: 'documents.deleted',
    call: async (app, admin) => {
      await putDocument(app, admin, 'many')
      return ['/store/many/bulk', { body: { action: 'delete', filter: {}, expected: 1 } }]
    },
  },
  'POST /store/:collection/import': {
    action: 'documents.imported',
    call: async () => [
      '/store/imported/import?format=ndjson',
      { raw: importOf('{"title":"Momo"}'), headers: FORM },
    ],
  },
  // A GET each, and both hand out everything that a collection or the store holds.
  'GET /store/:collection/export': {
    action: 'documents.exported',
    call: async () => ['/store/books/export?format=ndjson'],
  },
  'GET /store/backups/:id/archive': {
    action: 'backup.downloaded',
    call: async (app, admin) => [`/store/backups/${await putBackup(app, admin)}/archive`],
  },
  'POST /store/backup': { action: 'backup.created', call: async () => ['/store/backup'] },
  'DELETE /store/backups/:id': {
    action: 'backup.deleted',
    call: async (app, admin) => [`/store/backups/${await putBackup(app, admin)}`],
  },
  'POST /store/backup/:id/restore': {
    action: 'backup.restored',
    call: async (app, admin) => [`/store/backup/${await putBackup(app, admin)}/restore`],
  },
}

someEngine((engine) => {
  const app = appForAll(engine, {
    environment: { SMTP_URL: 'smtp://127.0.0.1:9', MAIL_FROM: 'shop@example.com' },
    config: {
      webhooks: [
        {
          name: 'shop',
          url: 'http://localhost:9/',
          secret: `whsec_${Buffer.alloc(24, 1).toString('base64')}`,
          events: ['auth.user.*'],
        },
      ],
    },
  })
  let admin: Admin

  before(async () => {
    admin = await app().register()
  })

  test('every route of operators that changes something is named with its entry', () => {
    const changing = app().app.routes.flatMap(({ routes }) =>
      routes
        .filter(({ spec, method }) => {
          const isOfOperators = spec.access === 'operator' || spec.access === 'admin'
          return isOfOperators && method !== 'GET' && !spec.changesNothing
        })
        .map(({ key }) => key),
    )
    const named = Object.keys(CASES).filter((key) => !key.startsWith('GET '))
    assert.deepEqual(changing.toSorted(), named.toSorted())
  })

  for (const [key, one] of Object.entries(CASES))
    test(`${key} leaves ${one.action}`, async () => {
      if ('file' in one) {
        const text = await readFile(new URL(`../${one.file}`, import.meta.url), 'utf8')
        assert.ok(text.includes(one.action), `${one.file} shows no ${one.action}`)
        return
      }
      const [path, options] = await one.call(app(), admin)
      const [{ last }] = (await app().app.db.all<{ last: string }>(
        sql`select coalesce(max(id), '') as last from sixwire_audit`,
      )) as [{ last: string }]
      const [method] = key.split(' ') as [string]
      const { status, text } = await app().request(method, path, { token: admin.token, ...options })
      assert.ok(status >= 200 && status < 300, `${status} ${text.slice(0, 300)}`)
      const entries = await app().app.db.all<{ action: string; actor_id: string; route: string }>(sql`
        select action, actor_id, route from sixwire_audit where id > ${last} order by id`)
      assert.deepEqual(entries, [{ action: one.action, actor_id: admin._id, route: key }])
    })
})
