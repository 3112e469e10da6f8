import assert from 'node:assert/strict'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { before, describe, test } from 'node:test'

import { secp256k1 } from '@noble/curves/secp256k1'
import { recoverAddress } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'

import type { Hex } from '../../../base/hex.ts'
import { allRows } from '../../../base/row-filter.ts'
import { startApp } from '../../../testing/app.ts'
import { times } from '../../../testing/auth.ts'
import { someEngine, endOfSuite } from '../../../testing/engines.ts'
import { KMS_CREDENTIALS, startKms, type KmsFault, type KmsServer } from '../../../testing/kms-server.ts'
import { awsKms } from './aws-kms.ts'

// Nothing waits for it but what never answers.
const LIMIT_MS = 30_000
const HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n
const newHash = (): Hex => `0x${randomBytes(32).toString('hex')}`

describe('AWS KMS', () => {
  const ending = endOfSuite()
  let kms: KmsServer
  const storeAt = (endpoint: string, credentials = KMS_CREDENTIALS) =>
    awsKms({ region: kms.region, endpoint, credentials })
  before(async () => {
    kms = await startKms(ending)
  })
  const newStore = (t: { after(work: () => Promise<void>): void }, credentials = KMS_CREDENTIALS) => {
    const store = storeAt(kms.url, credentials)
    t.after(() => store.close())
    kms.fail(() => undefined)
    kms.calls.length = 0
    return store
  }
  const createKey = async (store: ReturnType<typeof awsKms>) => {
    const outcome = await store.create(LIMIT_MS)
    assert.ok(outcome.kind === 'accepted', JSON.stringify(outcome))
    return outcome.key
  }

  test('a key is created there, and its signatures have the lower s and the right parity', async (t) => {
    const store = newStore(t)
    await store.check()
    const key = await createKey(store)
    assert.match(key.reference, /^arn:aws:kms:/)
    const earlier = kms.highS()
    await Promise.all(
      times(40, async () => {
        const hash = newHash()
        const outcome = await store.sign(key, hash, LIMIT_MS)
        assert.ok(outcome.kind === 'accepted', JSON.stringify(outcome))
        assert.ok(BigInt(outcome.signature.s) <= HALF_ORDER)
        assert.equal(await recoverAddress({ hash, signature: outcome.signature }), key.address)
      }),
    )
    assert.ok(kms.highS() > earlier, 'it answered the higher s at times')
    assert.ok(!('import' in store))
  })

  const faults: readonly [what: string, fault: KmsFault, signed: string, created: string][] = [
    ['throttling', { status: 400, error: 'ThrottlingException' }, 'retry', 'retry'],
    ['an internal error', { status: 500, error: 'KMSInternalException' }, 'retry', 'unknown'],
    ['a key that is disabled', { status: 400, error: 'DisabledException' }, 'refused', 'refused'],
    ['no permission', { status: 400, error: 'AccessDeniedException' }, 'refused', 'refused'],
    ['an expired session', { status: 400, error: 'ExpiredTokenException' }, 'retry', 'retry'],
    ['a lost connection', 'drop', 'retry', 'unknown'],
    ['silence', 'silence', 'retry', 'unknown'],
    ['no JSON', { status: 200, body: '<html>' }, 'retry', 'unknown'],
    ['an empty answer', { status: 200, body: '{}' }, 'retry', 'unknown'],
    ['a signature that is none', { status: 200, body: '{"Signature":"MAAA"}' }, 'retry', 'unknown'],
    ['a proxy’s page', { status: 407, body: 'sign in' }, 'refused', 'refused'],
  ]
  for (const [what, fault, signed, created] of faults)
    test(`${what}: one call, and its outcome`, async (t) => {
      const store = newStore(t)
      const key = await createKey(store)
      kms.calls.length = 0
      kms.fail(() => fault)
      const limitMs = fault === 'silence' ? 150 : LIMIT_MS
      const [sign, create] = [await store.sign(key, newHash(), limitMs), await store.create(limitMs)]
      assert.deepEqual([sign.kind, create.kind], [signed, created])
      assert.deepEqual(kms.calls, ['Sign', 'CreateKey'])
      for (const outcome of [sign, create]) {
        assert.ok(outcome.kind !== 'accepted')
        assert.match(outcome.reason, /AWS KMS/)
        assert.doesNotMatch(outcome.reason, /\n/)
        assert.ok(!outcome.reason.includes(KMS_CREDENTIALS.secretAccessKey))
      }
    })

  test('a key whose public key cannot be read is named, because it costs money', async (t) => {
    const store = newStore(t)
    kms.fail((call) =>
      call === 'GetPublicKey' ? { status: 400, error: 'AccessDeniedException' } : undefined,
    )
    const outcome = await store.create(LIMIT_MS)
    assert.ok(outcome.kind === 'unknown')
    assert.match(outcome.reason, /^arn:aws:kms:\S+ was created and is not used: .*AccessDeniedException/)
  })

  test('a signature of another key is not believed', async (t) => {
    const store = newStore(t)
    const [one, two] = [await createKey(store), await createKey(store)]
    const outcome = await store.sign({ address: one.address, reference: two.reference }, newHash(), LIMIT_MS)
    assert.equal(outcome.kind, 'retry')
  })

  test('a signature whose r has leading zeros has 32 bytes', async (t) => {
    const store = newStore(t)
    const privateKey = secp256k1.utils.randomPrivateKey()
    const address = privateKeyToAddress(`0x${Buffer.from(privateKey).toString('hex')}`)
    let [hash, signature] = [newHash(), secp256k1.sign(newHash().slice(2), privateKey)]
    do {
      hash = newHash()
      signature = secp256k1.sign(hash.slice(2), privateKey)
    } while (signature.r >> 248n !== 0n)
    const Signature = Buffer.from(signature.toDERRawBytes()).toString('base64')
    kms.fail(() => ({ status: 200, body: JSON.stringify({ Signature }) }))
    const outcome = await store.sign({ address, reference: 'k' }, hash, LIMIT_MS)
    assert.ok(outcome.kind === 'accepted', JSON.stringify(outcome))
    assert.match(outcome.signature.r, /^0x00[\da-f]{62}$/)
    assert.equal(await recoverAddress({ hash, signature: outcome.signature }), address)
  })

  test('a key of another curve is no wallet', async (t) => {
    const store = newStore(t)
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const PublicKey = publicKey.export({ format: 'der', type: 'spki' }).toString('base64')
    kms.fail((call) =>
      call === 'GetPublicKey' ? { status: 200, body: JSON.stringify({ PublicKey }) } : undefined,
    )
    assert.equal((await store.create(LIMIT_MS)).kind, 'unknown')
  })

  test('nobody listens there: certainly nothing was done', async (t) => {
    const store = storeAt('http://127.0.0.1:1')
    t.after(() => store.close())
    assert.equal((await store.create(LIMIT_MS)).kind, 'retry')
    await assert.rejects(store.check(), /AWS KMS can't be reached/)
  })

  test('check says what is wrong with the credentials', async (t) => {
    const wrong = newStore(t, { ...KMS_CREDENTIALS, secretAccessKey: 'another' })
    await assert.rejects(wrong.check(), /^Error: AWS KMS answered 400 InvalidSignatureException$/)
    const denied = newStore(t)
    kms.fail(() => ({ status: 400, error: 'AccessDeniedException' }))
    await denied.check()
  })

  test('credentials are found as the SDK finds them', async (t) => {
    newStore(t)
    const store = awsKms({ region: kms.region, endpoint: kms.url })
    t.after(() => store.close())
    const earlier = { ...process.env }
    Object.assign(process.env, {
      AWS_ACCESS_KEY_ID: KMS_CREDENTIALS.accessKeyId,
      AWS_SECRET_ACCESS_KEY: KMS_CREDENTIALS.secretAccessKey,
    })
    try {
      await store.check()
    } finally {
      for (const name of Object.keys(process.env)) if (!(name in earlier)) delete process.env[name]
    }
  })

  for (const [what, options] of Object.entries({
    'no region': { region: '' },
    'a region that is none': { region: 'Frankfurt am Main' },
    'an endpoint that is none': { region: 'eu-central-1', endpoint: 'kms.local' },
    'an endpoint with credentials': { region: 'eu-central-1', endpoint: 'https://a:b@kms.local' },
  }))
    test(`${what} is refused at once`, () =>
      assert.throws(() => awsKms(options), /^StartError: awsKms\(\): [^\n]+$/))
})

someEngine((engine) => {
  test('wallets of both kinds are in one database; a key is not imported where keys are at KMS', async (t) => {
    const kms = await startKms(t)
    const databaseUrl = await engine.migratedUrl()
    const keys = awsKms({ region: kms.region, endpoint: kms.url, credentials: KMS_CREDENTIALS })
    const before = await startApp(t, engine, { databaseUrl })
    const { token } = await before.register()
    const local = (await before.request('POST', '/onchain/wallets', { token, body: {} })).body
    await before.stop()

    const app = await startApp(t, engine, { databaseUrl, config: { onchain: { keys } } })
    const create = () => app.request('POST', '/onchain/wallets', { token, body: { name: 'cloud' } })
    const { status, body: cloud } = await create()
    assert.equal(status, 201)
    const { wallets } = app.app.service('onchain')
    for (const { _id, address } of [local, cloud]) {
      const signer = await wallets.signerOf(_id, allRows)
      const hash = newHash()
      const outcome = await signer.sign(hash, LIMIT_MS)
      assert.ok(outcome.kind === 'accepted', JSON.stringify(outcome))
      assert.equal(await recoverAddress({ hash, signature: outcome.signature }), address)
    }
    const privateKey = newHash()
    const imported = await app.request('POST', '/onchain/wallets/import', { token, body: { privateKey } })
    assert.equal(imported.status, 400)
    assert.match(imported.body.error.message, /keys can't be imported: .*aws-kms/)

    kms.fail(() => ({ status: 500, error: 'KMSInternalException' }))
    const failed = await create()
    assert.deepEqual([failed.status, failed.body.error.code], [502, 'PROVIDER_ERROR'])
    kms.fail(() => undefined)
    await app.stop()

    // Without the service, its wallets stay and sign nothing.
    const after = await startApp(t, engine, { databaseUrl })
    const signer = await after.app.service('onchain').wallets.signerOf(cloud._id, allRows)
    const outcome = await signer.sign(newHash(), LIMIT_MS)
    assert.ok(outcome.kind === 'refused')
    assert.match(outcome.reason, /is at aws-kms, which is not configured$/)
  })
})
