// Every route, driven from its own description with what no client should send.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { Agent } from 'node:http'
import { before, test } from 'node:test'

import fc from 'fast-check'

import { systemClock } from '../base/clock.ts'
import { Type } from '../base/schema.ts'
import { sql } from '../db/sql.ts'
import { form, multipart, raw } from '../http/bodies.ts'
import { route } from '../http/route.ts'
import { defineWire } from '../kernel/wire/wire.ts'
import { startApp, type TestApp } from '../testing/app.ts'
import { someEngine, endOfSuite } from '../testing/engines.ts'
import { exchange, type Exchanged } from '../testing/exchange.ts'
import { percentEncoded } from '../testing/hostile.ts'
import { isLongRun, sample } from '../testing/long-run.ts'
import { startTestNode, type TestNode } from '../testing/node.ts'
import { startMailServer } from '../testing/mail-server.ts'
import {
  AUTHORIZATION,
  drafts,
  inputsOf,
  plainBody,
  plainDraft,
  readOperations,
  takesJson,
  type Draft,
  type OpenapiOperation,
} from '../testing/operations.ts'
import { createBank } from '../wires/pay/bank.fixture.ts'
import { RETURN_URLS, URLS } from '../wires/pay/pay.fixture.ts'
import { environmentOf, startTextServer } from '../wires/messaging/providers.fixture.ts'
import { upload, uploadAll } from '../wires/store/files/files.fixture.ts'

const RUNS_PER_INPUT = isLongRun ? 300 : 2 // on each engine
const ROUNDS = 25 // at most, until one is answered with a success
/** Each success of these makes and reads whole archives. */
const SLOW = new Set(['POST /store/backup', 'DELETE /store/backups/{id}', 'POST /store/backup/{id}/restore'])
const LONGEST_REFUSAL = 20_000 // characters: a refusal is not a way to have the server send much
// More than the server reads of one request's head is refused before any route is found.
const LONGEST_HEAD = 12_000

// The path is that of the fault, of which the first one is named.
const BAD_BODIES: [what: string, body: string, path: string][] = [
  ['nothing', '', '/body'],
  ['blanks', ' \n\t', '/body'],
  ['no JSON', '{"email":', '/body'],
  ['JSON with something behind it', '{} {}', '/body'],
  ['JSON as people write it', "{email: 'a'}", '/body'],
  ['null', 'null', '/body'],
  ['text', '"{}"', '/body'],
  ['a number', '1', '/body'],
  // Some routes take an array, but of one element at least.
  ['an empty array', '[]', '/body'],
  ['a key twice', '{"a":1,"b":{},"a":1}', '/body/a'],
  ['a key twice, once with an escape', '{"a":{"b":1,"\\u0062":1}}', '/body/a/b'],
  ['the prototype', '{"__proto__":{"role":"admin"}}', '/body/__proto__'],
  ['a prototype within', '{"a":[{"__proto__":1}]}', '/body/a/0/__proto__'],
  ['a constructor', '{"constructor":{"prototype":{"role":"admin"}}}', '/body/constructor'],
  ['half a surrogate pair', '{"email":"\\ud800@example.com"}', '/body/email'],
  ['half a surrogate pair as a key', '{"a":{"\\udc00":1}}', '/body/a/\ufffd'],
  ['U+0000', '{"password":"a\\u0000b"}', '/body/password'],
  ['U+0000 in a key', '{"\\u0000":1}', '/body/\u0000'],
  ['a number beyond a double', '{"n":-1e999}', '/body/n'],
  ['an integer that a double would change', '{"n":9007199254740993}', '/body/n'],
  ['65 levels', `{"a":${'['.repeat(64)}${']'.repeat(64)}}`, `/body/a${'/0'.repeat(63)}`],
  ['5,000 levels that never end', `{"a":${'[{"b":'.repeat(2500)}`, `/body/a${'/0/b'.repeat(31)}/0`],
]
const WRONG_VALUES = [
  null,
  true,
  0,
  1.5,
  'text',
  [],
  ['a@example.com'],
  {},
  { $ne: null },
  { $gt: '' },
  { length: 8 },
]
const WRONG_VALUES_PER_FIELD = 3
const typeOf = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value

/** Values of other types than a field has; none for a field of any type. */
const wrongValues = (type: string | readonly string[] | undefined): unknown[] =>
  type === undefined
    ? []
    : WRONG_VALUES.filter(
        (value) => ![type].flat().includes(typeOf(value)) && !(Number.isInteger(value) && type === 'integer'),
      )

// What these take stands in a mail or an SMS, so nothing that is made up gets past their first look.
const BY_MAIL = new Set([
  'POST /auth/reset-password',
  'POST /auth/verify-magic-link',
  'POST /auth/verify-code',
  'POST /auth/phone/verify',
  'POST /auth/verify-email',
  'POST /auth/verify-email-change',
  'POST /auth/undo-email-change',
  // Nobody has a number without them.
  'DELETE /auth/phone',
])

// What these take is signed by an authenticator, or is the id of a passkey, which only such a signature creates.
const OF_AUTHENTICATORS = new Set([
  'POST /auth/passkeys/sign-in',
  'POST /auth/passkeys',
  'PATCH /auth/passkeys/{id}',
  'DELETE /auth/passkeys/{id}',
])

// What these take is a code of an app that has a secret, a challenge, or the id of a device that was trusted with one.
const OF_SECOND_FACTORS = new Set([
  'POST /auth/totp/verify',
  'DELETE /auth/totp',
  'POST /auth/recovery-codes',
  'POST /auth/second-factor',
  'POST /auth/second-factor/passkey-options',
  'DELETE /auth/devices/{id}',
  // Takes exactly one of four proofs.
  'POST /auth/confirm',
])

// What these take is the id of an account or key, the proof of an administrator, or a link of the log.
const OF_ADMINISTRATORS = new Set([
  'GET /auth/users/{id}',
  'PATCH /auth/users/{id}',
  'DELETE /auth/users/{id}',
  'GET /auth/users/{id}/deletion',
  'GET /auth/users/{id}/export',
  'GET /auth/exports/{id}',
  'POST /auth/users/import',
  'POST /auth/users/{id}/unlock',
  'POST /auth/users/{id}/reset',
  'POST /auth/users/{id}/invite',
  'POST /auth/users/{id}/verify',
  'POST /auth/users/{id}/impersonate',
  'GET /auth/users/{id}/timeline',
  'GET /auth/users/{id}/notes',
  'POST /auth/users/{id}/notes',
  'DELETE /auth/users/{id}/notes/{noteId}',
  'GET /auth/users/{id}/sessions',
  'DELETE /auth/users/{id}/sessions',
  'DELETE /auth/users/{id}/sessions/{sid}',
  'DELETE /auth/users/{id}/factors',
  'POST /auth/keys',
  'DELETE /auth/keys/{id}',
  'POST /auth/first-admin',
])

// What these take is a transaction that is in no block, and blocks are made at once here.
const OF_UNMINED = new Set([
  'POST /onchain/transactions/{hash}/cancel',
  'POST /onchain/transactions/{hash}/speed-up',
])

const STREAM = '/store/changes'
// A stream of events only.
const ENDLESS = '/core/logs/stream'

// Here are no webhooks, and nothing is delivered.
const OF_WEBHOOKS = new Set([
  'POST /core/webhooks/{name}/enable',
  'POST /core/webhooks/deliveries/{id}/retry',
])

/** What needs a token of a sign-in, or a record that no test makes here: others show that they succeed. */
const OF_OTHER_TESTS = new Set([
  'PATCH /core/settings',
  'POST /core/settings/versions/{version}/restore',
  'POST /console/session',
  'PUT /store/collections',
  'PUT /store/collections/{name}',
  'DELETE /store/collections/{name}',
  'POST /core/logs/faults/{id}/resolve',
  'POST /core/jobs/retry',
  'GET /core/jobs/{id}',
  'DELETE /core/jobs/{id}',
  'POST /core/jobs/{id}/retry',
  'GET /messaging/logs/{id}',
  'GET /messaging/logs/{id}/content',
  'POST /messaging/logs/{id}/resend',
  'POST /messaging/email/template',
  'GET /messaging/templates/{name}',
  'POST /messaging/templates/{name}/preview',
  'GET /messaging/preview',
  'POST /auth/users',
  'GET /pay/summary',
  'GET /store/changes',
  'GET /pay/events',
  'GET /pay/events/{id}',
  'POST /pay/events/{id}/replay',
  'POST /store/files/bulk',
  'POST /store/upload-links/{id}',
  'GET /store/upload-links/{id}',
  'DELETE /store/upload-links/{id}',
  'POST /store/uploads',
  'GET /store/uploads/{id}',
  'PATCH /store/uploads/{id}',
  'DELETE /store/uploads/{id}',
  'POST /store/batch',
  'PUT /store/{collection}',
  'PATCH /store/{collection}',
  'POST /store/{collection}/bulk',
  'POST /store/{collection}/import',
])

const isNeverDone = (operation: OpenapiOperation): boolean =>
  BY_MAIL.has(operation.key) ||
  OF_AUTHENTICATORS.has(operation.key) ||
  OF_SECOND_FACTORS.has(operation.key) ||
  OF_ADMINISTRATORS.has(operation.key) ||
  OF_UNMINED.has(operation.key) ||
  OF_WEBHOOKS.has(operation.key) ||
  OF_OTHER_TESTS.has(operation.key) ||
  isSigned(operation)

/** Whether nothing made up gets past the look at the signature of a provider. */
const isSigned = (operation: OpenapiOperation): boolean =>
  !takesJson(operation) && [...operation.codes.values()].some((codes) => codes.has('INVALID_SIGNATURE'))

/** A route for each kind of body that is no JSON. */
const kinds = defineWire({
  name: 'kinds',
  setup: () => ({
    service: undefined,
    routes: [
      route(
        'PUT /kinds/form',
        {
          summary: 'Take a form',
          access: 'public',
          body: form(Type.Object({ a: Type.String({ maxLength: 100 }), b: Type.Optional(Type.String()) })),
          reply: { 200: Type.Object({ a: Type.String() }) },
        },
        ({ body }) => body,
      ),
      route(
        'PUT /kinds/raw',
        {
          summary: 'Take bytes',
          access: 'public',
          idempotent: true,
          body: raw({ maxBytes: 50_000 }),
          reply: { 200: Type.Object({ size: Type.Integer() }) },
        },
        ({ body }) => ({ size: body.bytes.length }),
      ),
      route(
        'PUT /kinds/file',
        {
          summary: 'Take a file',
          access: 'public',
          idempotent: true,
          body: multipart({
            file: { maxBytes: 50_000 },
            fields: Type.Object({
              metadata: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
              note: Type.Optional(Type.String({ maxLength: 100 })),
            }),
          }),
          reply: { 200: Type.Object({ name: Type.String(), size: Type.Integer() }) },
        },
        async ({ body, once }) => {
          let size = 0
          for await (const chunk of body.file.stream) size += (chunk as Buffer).length
          const fields = await body.fields()
          return once([size, fields], () => ({ name: body.file.name, size }))
        },
      ),
    ],
  }),
})

someEngine((engine) => {
  let app: TestApp
  let operations: OpenapiOperation[]
  let key: string
  /** What drafts are filled in with. */
  let known: Record<string, string>
  let names = 0
  const ending = endOfSuite()
  const agent = new Agent({ keepAlive: true })
  ending.after(async () => agent.destroy())

  async function newPerson(): Promise<void> {
    const { token, refreshToken, email } = await app.register(`person${names++}@example.com`)
    // Else operators' routes are never answered with a success once the first account is gone.
    await app.app.service('auth').users.promote(email)
    const { sub, sid } = JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString())
    known = { ...known, key, token, refreshToken, email, sessionId: sid, userId: sub }
  }
  async function newDocument(): Promise<void> {
    const { body } = await app.request('POST', '/store/things', { token: key, body: { n: 1, a: { b: 2 } } })
    const page = await app.request('GET', '/store/things?limit=1', { token: key })
    const { body: file } = await upload(app, key, { access: 'public' })
    const publicName = file.url.split('/').at(-1)
    const { nextCursor: cursor = 'none', total } = page.body
    known = { ...known, documentId: body._id, fileId: file._id, publicName, cursor, documents: String(total) }
  }
  async function newBackup(): Promise<void> {
    const { body } = await app.request('POST', '/store/backup', { token: key })
    known = { ...known, backupId: body._id }
  }
  /** Payments of so much that all refunds of these tests are small parts of them. */
  async function newPayments(): Promise<void> {
    const pay = async (path: string, body: object) =>
      (await app.request('POST', `/pay/${path}`, { token: key, body })).body
    const items = [{ name: 'Momo', amount: 900_000_000, currency: 'eur' }]
    const checkout = await pay('cardpay/checkout', { items, ...URLS })
    const order = await pay('walletpay/order', { amount: 900_000, currency: 'EUR', ...RETURN_URLS })
    card.sessions.get(checkout.sessionId)!.status = 'paid'
    wallet.sessions.get(order.orderId)!.status = 'approved'
    await app.app.service('pay').retrieve(checkout.transactionId)
    await pay(`walletpay/capture/${order.orderId}`, {})
    known = {
      ...known,
      cardpayTransaction: checkout.transactionId,
      walletpayTransaction: order.transactionId,
      orderId: order.orderId,
    }
  }
  /** A wallet with coins and an NFT, and a request to be paid. */
  async function newWallet(): Promise<void> {
    const ask = async (path: string, body: object) => {
      const answered = await app.request('POST', path, { token: key, body })
      assert.ok(answered.status < 300, answered.text)
      return answered.body
    }
    const { _id: walletId, address } = await ask('/onchain/wallets', {})
    await node.call('anvil_setBalance', [address, `0x${(10n ** 24n).toString(16)}`])
    const nft = await node.deploy('Nft', ['Art', 'ART'])
    const mint = { contractAddress: nft, to: address, tokenURI: 'data:application/json,{}', walletId }
    const { hash, tokenId } = await ask('/onchain/nft/mint', mint)
    const payment = { amount: '1', token: 'ETH', chain: 'ethereum' }
    known = {
      ...known,
      wallet: walletId,
      walletAddress: address,
      token20: await node.deploy('Token', ['Coin', 'COIN', 6]),
      nft,
      hash,
      tokenId,
      paymentRequest: (await ask('/pay/onchain/payment', payment))._id,
    }
  }
  let node: TestNode
  const card = createBank('cardpay', systemClock)
  const wallet = createBank('walletpay', systemClock)
  before(async () => {
    node = await startTestNode(ending)
    app = await startApp(ending, engine, {
      environment: {
        ...environmentOf(await startMailServer(ending), await startTextServer(ending)),
        ETHEREUM_RPC_URL: node.url,
        PAYMENT_MNEMONIC: 'test test test test test test test test test test test junk',
      },
      config: {
        wires: [kinds()],
        onchain: { chains: { ethereum: { pollMs: 100 } } },
        pay: { cardpay: card, walletpay: wallet },
        messaging: { limit: '1000000/min', bounceSecret: 'the secret of the tests' },
        // Nobody answers there: a sign-in ends at the frontend, with an error.
        auth: {
          idpa: { issuer: 'http://127.0.0.1:9', clientId: 'test', clientSecret: 'test' },
          idpb: { clientId: 'test', clientSecret: 'test' },
        },
      },
    })
    const all = readOperations((await app.request('GET', '/openapi.json')).body)
    operations = all.filter((operation) => operation.path !== ENDLESS)
    key = (await app.app.service('auth').keys.create('test', ['*'])).key
    await newPerson()
    await newDocument()
    await newDocument()
    await newBackup()
    await newPayments()
    await newWallet()
  })

  const fill = (text: string): string =>
    text.replaceAll(/\{\{(\w+)\}\}/g, (whole, name: string) =>
      name === 'newEmail'
        ? `person${names++}@example.com`
        : name === 'newKey'
          ? `0x${randomBytes(32).toString('hex')}`
          : (known[name] ?? whole),
    )

  /** How many records there are: what a refused request must not change. */
  const records = async () =>
    await app.app.db.get<Record<string, number>>(sql`
      select (select count(*) from auth_users) as users, (select count(*) from store_documents) as documents,
        (select count(*) from store_files) as files, (select count(*) from store_backups) as backups,
        (select count(*) from pay_transactions) as transactions, (select sum(cast(reserved as bigint)) from pay_transactions) as refunds,
        (select count(*) from onchain_wallets) as wallets, (select count(*) from onchain_transactions) as sent`)

  function send({ method, path }: OpenapiOperation, draft: Draft, body = draft.body): Promise<Exchanged> {
    const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
      const segment = draft.segments[name]!
      return segment.startsWith('{{') ? percentEncoded(fill(segment)) : segment
    })
    const query = draft.query.map(([name, value]) => `${percentEncoded(name)}=${percentEncoded(fill(value))}`)
    const authorization = AUTHORIZATION[draft.caller]
    const address = filled + (query.length > 0 ? `?${query.join('&')}` : '')
    const headers = {
      'sec-fetch-site': 'same-origin', // as the page of the console sends
      ...(authorization !== undefined && { authorization: fill(authorization) }),
      // After the caller's own: a route that reads Authorization itself takes other proofs than a session.
      ...Object.fromEntries(Object.entries(draft.headers).map(([name, value]) => [name, fill(value)])),
      // A stream would not end.
      ...(path === STREAM && { accept: 'application/json' }),
    }
    fc.pre(address.length + JSON.stringify(headers).length <= LONGEST_HEAD)
    const content = typeof body === 'string' ? Buffer.from(fill(body)) : body
    return exchange(app.url, { method, path: address, headers, body: content }, agent, true)
  }

  /** An answer that is described; where it is a refusal, one that says what was wrong and where. */
  function check({ key, codes }: OpenapiOperation, { status, headers, text }: Exchanged): void {
    assert.ok(status >= 200 && status < 500, `${key} answered ${status}: ${text}`)
    assert.match(String(headers['x-request-id']), /^[\w.:-]{1,128}$/)
    if (status < 400) {
      assert.ok(codes.has(status), `${key} answers ${status}, which is not described`)
      return
    }
    assert.ok(text.length <= LONGEST_REFUSAL, `${key} refuses with ${text.length} characters`)
    assert.match(String(headers['content-type']), /^application\/json/)
    const { error } = JSON.parse(text)
    assert.equal(typeof error.message, 'string')
    assert.ok(
      codes.get(status)?.has(error.code),
      `${key} answers ${status} ${error.code}, which is not described`,
    )
    if (error.code !== 'VALIDATION_ERROR') return
    assert.ok(error.details?.issues?.length > 0, `${key} does not say what is wrong: ${text}`)
    for (const { path, message } of error.details.issues) {
      assert.match(path, /^\/(?:body|query|params|headers)(?:\/|$)/)
      assert.ok(typeof message === 'string' && message.length > 0)
    }
  }

  for (const [what, body, path] of BAD_BODIES)
    test(`a body of ${what} is refused by every route that takes one`, async () => {
      const earlier = await records()
      const refusing = operations.filter(takesJson)
      assert.ok(refusing.length > 0)
      for (const operation of refusing) {
        const answered = await send(operation, plainDraft(operation), body)
        assert.equal(answered.status, 400, `${operation.key}: ${answered.text}`)
        check(operation, answered)
        assert.equal(JSON.parse(answered.text).error.details.issues[0].path, path, operation.key)
      }
      assert.deepEqual(await records(), earlier)
    })

  test('100,000 levels that never end are refused where a body may be so large', async () => {
    const raw = `{"a":${'[{"b":'.repeat(50_000)}`
    const { status, body } = await app.request('POST', '/store/things', { token: key, raw })
    assert.equal(status, 400)
    assert.equal(body.error.details.issues[0].path, `/body/a${'/0/b'.repeat(31)}/0`)
  })

  for (const [what, headers, body, status, code] of [
    ['of another media type', { 'content-type': 'text/plain' }, '{}', 415, 'UNSUPPORTED_MEDIA_TYPE'],
    ['of a media type that is none', { 'content-type': '{}' }, '{}', 415, 'UNSUPPORTED_MEDIA_TYPE'],
    ['of more than 1 MiB', {}, `{"a":"${'x'.repeat(1_048_576)}"}`, 413, 'PAYLOAD_TOO_LARGE'],
  ] as const)
    test(`a body ${what} is refused by every route that takes one`, async () => {
      const earlier = await records()
      for (const operation of operations.filter(takesJson)) {
        const draft = plainDraft(operation)
        const answered = await send(operation, { ...draft, headers: { ...draft.headers, ...headers } }, body)
        assert.equal(answered.status, status, `${operation.key}: ${answered.text}`)
        assert.equal(JSON.parse(answered.text).error.code, code)
        check(operation, answered)
      }
      assert.deepEqual(await records(), earlier)
    })

  test('a field of the wrong type is refused where it stands, by every route that has it', async () => {
    const earlier = await records()
    let asked = 0
    for (const operation of operations.filter(takesJson))
      for (const [name, { type }] of Object.entries(operation.body?.properties ?? {}))
        for (const wrong of sample(wrongValues(type), WRONG_VALUES_PER_FIELD)) {
          const body = JSON.stringify({ ...plainBody(operation), [name]: wrong })
          const answered = await send(operation, plainDraft(operation), body)
          assert.equal(answered.status, 400, `${operation.key} with ${body}: ${answered.text}`)
          check(operation, answered)
          const paths = JSON.parse(answered.text).error.details.issues.map(
            ({ path }: { path: string }) => path,
          )
          assert.ok(paths.includes(`/body/${name}`), `${operation.key} with ${body}: ${paths.join()}`)
          asked++
        }
    assert.ok(asked > 0)
    assert.deepEqual(await records(), earlier)
  })

  /** By chance hardly any call is without a fault that has a dozen parameters, or a body of several parts. */
  async function statusOfPlain(operation: OpenapiOperation): Promise<number> {
    if (operation.key === 'POST /store/upload') return (await upload(app, key)).status
    if (operation.key === 'POST /store/files') return (await uploadAll(app, key, [{}, {}])).status
    const body = operation.path.endsWith('/query') ? '{}' : JSON.stringify(plainBody(operation))
    return (await send(operation, plainDraft(operation), ...(takesJson(operation) ? [body] : []))).status
  }

  test('no route breaks, whatever it is sent', { timeout: 300_000 + 2_000 * RUNS_PER_INPUT }, async () => {
    let earlier = await records()
    const unseen: string[] = []
    for (const operation of operations) {
      const seen = new Set<number>()
      const property = fc.asyncProperty(drafts(operation), async (draft) => {
        const answered = await send(operation, draft)
        seen.add(answered.status)
        check(operation, answered)
        if (answered.status >= 400)
          assert.deepEqual(await records(), earlier, 'a refused request left something')
        // What signs the caller out, or changes whom the next request speaks of.
        else if (operation.method !== 'GET') {
          await (operation.path.startsWith('/auth') ? newPerson() : newDocument())
          if (operation.key.startsWith('DELETE /store/backup')) await newBackup()
          earlier = await records()
        }
      })
      // By chance none of the first requests may have been without a fault.
      const isSeen = (): boolean => [...seen].some((status) => status < 400)
      for (let round = 0; round === 0 || (round < ROUNDS && !isSeen()); round++) {
        const runs = SLOW.has(operation.key) && !isLongRun ? 1 : RUNS_PER_INPUT
        const details = await fc.check(property, { numRuns: runs * (1 + inputsOf(operation)) })
        if (details.failed) throw failure(operation, details)
        if (isNeverDone(operation)) break
      }
      assert.equal((await app.request('GET', '/health')).status, 200)
      // Else the requests never got past the first check, and the test shows nothing.
      if (!isNeverDone(operation) && !isSeen()) {
        seen.add(await statusOfPlain(operation))
        earlier = await records()
      }
      if (!isNeverDone(operation) && !isSeen()) unseen.push(operation.key)
    }
    assert.deepEqual(unseen, [], 'never answered with a success')
  })
})

/** What failed, with its seed, and without the pages of text that a hostile value may be. */
function failure({ key }: OpenapiOperation, details: fc.RunDetails<[Draft]>): Error {
  const message = fc.defaultReportMessage(details) ?? ''
  const shortened = message.replaceAll(/[^\s"]{200,}/g, (run) => `${run.slice(0, 100)}…`)
  return new Error(`${key}\n${shortened}`, { cause: details.errorInstance })
}
