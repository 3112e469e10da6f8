// A mixed load over all wires, as one simulated installation has it: accounts come and go, and so does what they make.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'

import sharp from 'sharp'

import { route } from '../http/route.ts'
import { createServer } from '../base/node-http.ts'
import { Type } from '../base/schema.ts'
import type { Config } from '../app.ts'
import { defineWire } from '../kernel/wire/wire.ts'
import type { TestApp, TestAnswer } from '../testing/app.ts'
import { startApp } from '../testing/app.ts'
import { createBrowser } from '../testing/browser.ts'
import type { Ending, Engine } from '../testing/engines.ts'
import { webhookSecret } from '../testing/webhook-receiver.ts'
import { upload } from '../wires/store/files/files.fixture.ts'
import { append, create } from '../wires/store/files/resumable/resumable.fixture.ts'

/** How many accounts, documents and files there are at most: each new one takes the place of the oldest. */
const [PEOPLE, DOCUMENTS, FILES] = [12, 60, 20]
const PASSWORD = 'correct horse battery'
const SHOP = { successUrl: 'https://shop.example/paid', cancelUrl: 'https://shop.example/' }

type Person = { _id: string; email: string; token: string; refreshToken: string; ip: string }
type Owned = { _id: string; owner: Person }

export type Load = {
  readonly app: TestApp
  /** Below 1, and the same numbers for the same seed. */
  readonly random: () => number
  readonly calls: { count: number }
  readonly people: Person[]
  readonly documents: Owned[]
  readonly files: Owned[]
  readonly streams: AbortController[]
  readonly key: string
  admin: Person
  keeper: Person
  wallet: string
}

/** A wire whose one route fails unexpectedly. */
const faulty = defineWire({
  name: 'faulty',
  setup: () => ({
    service: undefined,
    routes: [
      route(
        'GET /faulty/:kind',
        {
          summary: 'Fail',
          access: 'public',
          params: Type.Object({ kind: Type.String() }),
          reply: { 200: Type.Null() },
        },
        ({ params: { kind } }) => {
          throw new Error(`a fault of kind ${kind}`)
        },
      ),
    ],
  }),
})

/** Starts a server whose every wire is used, and the accounts that are there all the time. */
export async function startLoad(
  ending: Ending,
  engine: Engine,
  { seed, dataDir, databaseUrl }: { seed: number; dataDir: string; databaseUrl: string },
): Promise<Load> {
  const hooks = await startSink(ending)
  const config: Config = {
    auth: { accessTokenSeconds: 10_800 },
    store: {
      backups: { every: '1h', keep: 3 },
      collections: {
        notes: {
          read: 'user',
          create: 'user',
          search: ['text'],
          hidden: ['score'],
        },
        comments: { create: 'user', relations: { note: { to: 'notes', onDelete: 'cascade' } } },
      },
    },
    schedule: { digest: { cron: '*/15 * * * *', run: async () => undefined } },
    webhooks: [{ name: 'crm', url: hooks, secret: webhookSecret(), events: ['store.*', 'auth.user.*'] }],
    wires: [faulty()],
  }
  const app = await startApp(ending, engine, {
    sandbox: true,
    databaseUrl,
    config,
    environment: {
      DATA_DIR: dataDir,
      LOG_LEVEL: 'error',
      SIXWIRE_RATE_LIMITS: 'on',
      TRUST_PROXY: '1',
    },
  })
  const random = generator(seed)
  const { key } = await app.app.service('auth').keys.create('growth', ['*'])
  const load: Omit<Load, 'admin' | 'keeper' | 'wallet'> = {
    app,
    random,
    calls: { count: 0 },
    people: [],
    documents: [],
    files: [],
    streams: [],
    key,
  }
  const admin = await join(load, 'admin@example.com')
  await app.app.service('auth').users.update({ id: admin._id }, { role: 'admin' })
  const keeper = await join(load, 'keeper@example.com')
  const wallet = await call(load, 'POST /onchain/wallets', { by: keeper, body: { name: 'Till' } })
  const { _id, address } = wallet.body as { _id: string; address: string }
  await call(load, 'POST /sandbox/api/chains/ethereum/pay', { body: { to: address, amount: '1000' } })
  return Object.assign(load, { admin, keeper, wallet: _id })
}

/** A receiver of webhooks that remembers none. @returns its address */
async function startSink(ending: Ending): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(204).end())
  }).listen(0, '127.0.0.1')
  ending.after(async () => {
    server.closeAllConnections()
    await new Promise<unknown>((resolve) => server.close(resolve))
  })
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`
}

/** Mulberry32: https://gist.github.com/tommyettinger/46a874533244883189143505d203312c */
function generator(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

type Context = Pick<Load, 'app' | 'random' | 'calls'>
type CallOptions = {
  by?: Person | string
  body?: unknown
  headers?: Record<string, string>
  /** The statuses that are right. Default: those below 300. */
  status?: number
}

const number = ({ random }: Pick<Load, 'random'>, below: number): number => Math.floor(random() * below)
const pick = <T>(load: Pick<Load, 'random'>, all: readonly T[]): T => all[number(load, all.length)]!
const textOf = (load: Pick<Load, 'random'>, letters: number): string =>
  Array.from({ length: letters }, () => number(load, 36).toString(36)).join('')

async function call(load: Context, name: string, options: CallOptions = {}): Promise<TestAnswer> {
  const { by, body, headers, status } = options
  const [method = '', path = ''] = name.split(' ')
  const answer = await load.app.request(method, path, {
    body,
    token: typeof by === 'string' ? by : by?.token,
    headers: {
      // The sandbox answers nobody behind a proxy.
      ...(!path.startsWith('/sandbox') && {
        'x-forwarded-for': typeof by === 'object' ? by.ip : addressOf(load),
      }),
      'user-agent': 'growth',
      ...headers,
    },
  })
  const isRight = status === undefined ? answer.status < 300 : answer.status === status
  assert.ok(isRight, `${name} answered ${answer.status}: ${answer.text.slice(0, 500)}`)
  load.calls.count++
  return answer
}

const addressOf = (load: Pick<Load, 'random'>): string =>
  `198.${18 + number(load, 2)}.${number(load, 256)}.${number(load, 256)}`

async function join(load: Context, email: string): Promise<Person> {
  const ip = addressOf(load)
  const { body } = await call(load, 'POST /auth/register', {
    body: { email, password: PASSWORD },
    headers: { 'x-forwarded-for': ip },
  })
  const { user, token, refreshToken } = body
  return { _id: user._id, email, token, refreshToken, ip }
}

async function signIn(load: Context, { _id, email, ip }: Person): Promise<Person> {
  const { body } = await call(load, 'POST /auth/login', {
    body: { email, password: PASSWORD },
    headers: { 'x-forwarded-for': ip },
  })
  return { _id, email, ip, token: body.token, refreshToken: body.refreshToken }
}

async function signInAgain(load: Context, person: Person): Promise<Person> {
  await call(load, 'POST /auth/logout', { by: person })
  return signIn(load, person)
}

/** What happens in one step of simulated time. @param step counts from 0; there are `perHour` in an hour */
export async function runStep(load: Load, step: number, perHour: number): Promise<void> {
  const isEvery = (steps: number, at = 0): boolean => step % steps === at % steps
  if (isEvery(perHour)) {
    load.admin = await signInAgain(load, load.admin)
    load.keeper = await signInAgain(load, load.keeper)
  }
  await accounts(load, step)
  await documents(load, step)
  await files(load, step)
  await streams(load)
  if (isEvery(2)) await messages(load)
  if (isEvery(2, 1)) await payments(load)
  await call(load, `GET /faulty/${number(load, 1_000_000)}`, { status: 500 })
  await call(load, 'GET /nowhere', { status: 404 })
  if (isEvery(perHour, 1)) await chains(load)
  if (isEvery(perHour, 2)) await operators(load, Math.floor(step / perHour))
  if (isEvery(perHour, 3)) await identities(load)
  if (isEvery(perHour, 4)) await images(load)
}

async function accounts(load: Load, step: number): Promise<void> {
  const { people } = load
  const email = `person${step}-${textOf(load, 6)}@example.com`
  const newcomer = await join(load, email)
  people.push(newcomer)
  await call(load, 'POST /auth/login', { body: { email, password: 'wrong' }, status: 401 })
  const absent = { email: `nobody-${textOf(load, 8)}@example.com`, password: PASSWORD }
  await call(load, 'POST /auth/login', { body: absent, status: 401 })
  const second = await signIn(load, newcomer)
  if (step % 2 === 0) await call(load, 'POST /auth/logout', { by: second })
  const one = pick(load, people)
  const { body } = await call(load, 'POST /auth/refresh', { body: { refreshToken: one.refreshToken } })
  Object.assign(one, { token: body.token, refreshToken: body.refreshToken })
  await call(load, 'GET /auth/me', { by: one })
  if (step % 3 === 0) {
    const to = pick(load, people)
    await call(load, 'POST /auth/forgot-password', { body: { email: to.email } })
    await call(load, 'POST /auth/magic-link', { body: { email: to.email } })
    await call(load, 'POST /auth/totp', { by: newcomer })
    await call(load, 'POST /auth/passkeys/options', { by: newcomer, body: {} })
    await call(load, 'POST /auth/change-email', { by: newcomer, body: { email: `new-${email}` } })
    const phone = `+1650555${String(1000 + (step % 9000))}`
    await call(load, 'POST /auth/phone', { by: newcomer, body: { phone } })
    await call(load, 'GET /core/overview', { by: newcomer, status: 403 })
  }
  if (people.length <= PEOPLE) return
  const gone = people.shift()!
  if (step % 2 === 0) await call(load, `DELETE /auth/users/${gone._id}`, { by: load.key })
  else await call(load, 'DELETE /auth/me', { by: await signIn(load, gone), body: { password: PASSWORD } })
  for (const list of [load.documents, load.files])
    list.splice(0, list.length, ...list.filter(({ owner }) => owner !== gone))
}

async function documents(load: Load, step: number): Promise<void> {
  for (let count = 0; count < 3; count++) {
    const owner = pick(load, load.people)
    const words = Array.from({ length: 6 }, () => textOf(load, 3)).join(' ')
    const note = { text: words, rank: number(load, 1000) }
    const { body } = await call(load, 'POST /store/notes', {
      by: owner,
      body: note,
      headers: count === 0 ? { 'idempotency-key': `note-${step}` } : {},
    })
    load.documents.push({ _id: body._id, owner })
    await call(load, 'POST /store/comments', { by: owner, body: { note: body._id, text: words } })
  }
  const { _id, owner } = pick(load, load.documents)
  await call(load, `PATCH /store/notes/${_id}`, { by: owner, body: { rank: number(load, 1000) } })
  await call(load, `GET /store/notes/${_id}`, { by: owner })
  const filter = encodeURIComponent(JSON.stringify({ rank: { $gt: number(load, 1000) } }))
  await call(load, `GET /store/notes?filter=${filter}&sort=rank&limit=10`, { by: owner })
  await call(load, `GET /store/notes?search=${textOf(load, 3)}`, { by: owner })
  const field = textOf(load, 4)
  await call(load, 'POST /store/notes/query', { by: owner, body: { filter: { [field]: number(load, 9) } } })
  await call(load, 'GET /store/notes/aggregate?by=rank&limit=5', { by: owner })
  await call(load, 'POST /store/notes', { body: {}, status: 401 })
  while (load.documents.length > DOCUMENTS) {
    const old = load.documents.shift()!
    await call(load, `DELETE /store/notes/${old._id}`, { by: old.owner })
  }
}

async function files(load: Load, step: number): Promise<void> {
  const { app } = load
  const owner = pick(load, load.people)
  const { status, body, text } = await upload(app, owner.token, { bytes: textOf(load, 3_000) })
  assert.equal(status, 201, text)
  load.files.push({ _id: body._id, owner })
  await call(load, `GET /store/files/${body._id}/content`, { by: owner })
  if (step % 3 === 0) {
    const half = Buffer.alloc(5_000, step)
    const path = await create(app, owner.token, 10_000)
    const appended = await append(app, owner.token, path, { offset: 0, bytes: half })
    assert.equal(appended.status, 204, appended.text)
    if (step % 2 === 0) await append(app, owner.token, path, { offset: 5_000, bytes: half })
    await call(load, 'POST /store/upload-links', { by: owner, body: { expiresIn: 600 } })
  }
  while (load.files.length > FILES) {
    const old = load.files.shift()!
    await call(load, `DELETE /store/files/${old._id}`, { by: old.owner })
  }
}

/** Those that were opened three steps ago end. */
async function streams(load: Load): Promise<void> {
  const open = async (path: string, token: string): Promise<void> => {
    const controller = new AbortController()
    const response = await fetch(load.app.url + path, {
      headers: { authorization: `Bearer ${token}` },
      signal: controller.signal,
    })
    assert.equal(response.status, 200, path)
    load.streams.push(controller)
    // It ends here, or with its account.
    void response.body!.pipeTo(new WritableStream()).catch(() => undefined)
  }
  await open('/store/changes?collection=notes', pick(load, load.people).token)
  await open('/core/logs/stream', load.key)
  while (load.streams.length > 6) load.streams.shift()!.abort()
}

async function messages(load: Load): Promise<void> {
  const { key, people } = load
  const [to, subject, body] = [pick(load, people).email, textOf(load, 10), textOf(load, 400)]
  await call(load, 'POST /messaging/email', { by: key, body: { to, subject, body } })
  const phone = `+1650555${1000 + number(load, 9000)}`
  await call(load, 'POST /messaging/sms', { by: key, body: { to: phone, body: textOf(load, 30) } })
  await call(load, 'POST /messaging/whatsapp', { by: key, body: { to: phone, body: textOf(load, 30) } })
}

async function payments(load: Load): Promise<void> {
  const buyer = pick(load, load.people)
  const items = [{ name: 'Tea', amount: 500 + number(load, 5000), currency: 'eur' }]
  const checkout = { by: buyer, body: { items, ...SHOP, metadata: { note: textOf(load, 8) } } }
  await call(load, 'POST /pay/cardpay/checkout', checkout)
  const { body: card } = await call(load, 'POST /pay/cardpay/checkout', checkout)
  await call(load, `POST /sandbox/api/cardpay/sessions/${card.sessionId}/pay`, { body: {} })
  const order = {
    by: buyer,
    body: {
      amount: 10 + number(load, 90),
      currency: 'EUR',
      returnUrl: SHOP.successUrl,
      cancelUrl: SHOP.cancelUrl,
    },
  }
  await call(load, 'POST /pay/walletpay/order', order)
  const { body: wallet } = await call(load, 'POST /pay/walletpay/order', order)
  await call(load, `POST /sandbox/api/walletpay/orders/${wallet.orderId}/approve`, { body: {} })
  await call(load, `POST /pay/walletpay/capture/${wallet.orderId}`, { by: buyer })
  await call(load, 'POST /pay/walletpay/refund', {
    by: load.key,
    body: { transactionId: wallet.transactionId, amount: 5 },
  })
  await call(load, 'GET /pay/transactions', { by: buyer })
}

async function chains(load: Load): Promise<void> {
  const { keeper, wallet } = load
  const to = '0x000000000000000000000000000000000000dEaD'
  await call(load, 'POST /onchain/transactions', {
    by: keeper,
    body: { walletId: wallet, to, value: '0.01' },
  })
  const { body } = await call(load, 'POST /pay/onchain/payment', {
    by: keeper,
    body: { amount: '12.50', token: 'USDC', chain: 'ethereum' },
  })
  await call(load, `POST /sandbox/api/chains/requests/${body._id}/pay`)
  await call(load, 'POST /pay/onchain/payment', {
    by: keeper,
    body: { amount: '1', token: 'USDC', chain: 'ethereum' },
  })
  await call(load, 'POST /sandbox/api/chains/ethereum/mine', { body: { blocks: 30 } })
  const owner = pick(load, load.people)
  await call(load, 'POST /onchain/wallets', { by: owner, body: { name: textOf(load, 6) } })
}

async function operators(load: Load, hour: number): Promise<void> {
  const person = pick(load, load.people)
  const by = (load.admin = await signInAgain(load, load.admin))
  await call(load, `PATCH /auth/users/${person._id}`, { by, body: { name: textOf(load, 8) } })
  await call(load, `POST /auth/users/${person._id}/notes`, { by, body: { text: textOf(load, 50) } })
  await call(load, `POST /auth/users/${person._id}/impersonate`, { by, body: { reason: 'a question' } })
  await call(load, 'GET /auth/me/export', { by: load.people.at(-1)! })
  await call(load, 'GET /core/overview', { by })
  await call(load, 'GET /core/series?range=24h', { by })
  await call(load, 'GET /core/logs/faults', { by })
  await call(load, 'GET /metrics', { by: load.key })
  await call(load, 'GET /auth/audit', { by })
  await call(load, 'GET /store/notes/export', { by })
  const key = await call(load, 'POST /auth/keys', { by, body: { name: textOf(load, 8), scopes: ['store'] } })
  await call(load, 'GET /store/notes', { by: key.body.key })
  await call(load, `DELETE /auth/keys/${key.body._id}`, { by })
  const definition = { read: 'public', create: 'user' }
  if (hour % 4 === 0) {
    const schema = { type: 'object', properties: { size: { type: 'number', maximum: 1000 + hour } } }
    await call(load, 'PUT /store/collections/parcels', { by, body: { ...definition, schema } })
    await call(load, 'POST /store/parcels', { by, body: { size: 1 } })
  }
}

/** Signs in at an identity provider with a new account, which is deleted at once, and gives up another sign-in. */
async function identities(load: Load): Promise<void> {
  const browser = createBrowser()
  // The name by which the provider leads back: cookies are of it.
  const origin = load.app.url.replace('127.0.0.1', 'localhost')
  const { url } = await browser.visit(`${origin}/auth/idpa`)
  const invent = { name: textOf(load, 6), email: `${textOf(load, 9)}@example.com`, verified: true }
  const approved = await call(load, 'POST /sandbox/api/idpa/approve', { body: { url: url.href, invent } })
  const { fragment } = await browser.visit(approved.body.redirect)
  const me = await call(load, 'GET /auth/me', { by: fragment['token']! })
  await call(load, `DELETE /auth/users/${me.body.user._id}`, { by: load.key })
  await browser.visit(`${origin}/auth/idpb`)
}

async function images(load: Load): Promise<void> {
  const owner = pick(load, load.people)
  const background = { r: number(load, 256), g: number(load, 256), b: number(load, 256) }
  const bytes = await sharp({ create: { width: 300, height: 200, channels: 3, background } })
    .png()
    .toBuffer()
  const { status, body, text } = await upload(load.app, owner.token, {
    bytes: new Uint8Array(bytes),
    name: 'a.png',
    type: 'image/png',
  })
  assert.equal(status, 201, text)
  load.files.push({ _id: body._id, owner })
  await call(load, `GET /store/files/${body._id}/content?width=150`, { by: owner })
}

/** Nobody is left but the administrator and the one with the wallet. */
export async function endLoad(load: Load): Promise<void> {
  for (const stream of load.streams.splice(0)) stream.abort()
  for (const { _id } of load.people.splice(0)) await call(load, `DELETE /auth/users/${_id}`, { by: load.key })
  for (const one of [load.admin, load.keeper]) await call(load, 'POST /auth/logout', { by: one })
}
