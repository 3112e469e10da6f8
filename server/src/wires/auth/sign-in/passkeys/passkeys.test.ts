// The passkeys of an account: added, named, listed, removed, and used as a second factor.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { login, send, statuses } from '../../../../testing/auth.ts'
import { createTestPasskey, type Ceremony, type TestPasskey } from '../../../../testing/authenticator.ts'
import { eachEngine, testOnOne } from '../../../../testing/engines.ts'
import { appWithMailbox, nextAbout } from '../../../../testing/mailbox.ts'
import {
  addPasskey,
  creationOptions,
  listPasskeys,
  optionsOf,
  sendPasskey,
  signInWith,
  type AddedPasskey,
} from '../../../../testing/passkeys.ts'
import { challenged, finish } from '../../../../testing/second-factor.ts'

const MINUTE_MS = 60_000
const base64url = (text: string): string => Buffer.from(text).toString('base64url')
const PAGE = { origin: 'https://app.example' }
/** The AAGUID of a phone's passkeys. */
const APPLE = 'fbfc3007154e4ecc8c0b6e020557d7bd'

describe('the passkeys of an account', () => {
  eachEngine((engine) => {
    const testOnce = testOnOne(engine)
    const started = appWithMailbox(engine, { config: { auth: { secondFactor: 'admins' } } })
    const app = () => started().app
    let admin: { email: string }
    let ada: { _id: string; email: string }
    let bob: { token: string }
    let first: AddedPasskey
    before(async () => {
      admin = await app().register()
      ada = await app().register()
      bob = await app().register()
    })

    /** A session of Ada's that has just proven a factor. */
    const adasToken = async () => (await signInWith(app(), first.key, PAGE)).body.token
    const add = (token: string, options?: Ceremony & { key?: TestPasskey; name?: string }) =>
      addPasskey(app(), token, { ...PAGE, ...options })
    const remove = (token: string, { passkey }: AddedPasskey) =>
      send(app(), `DELETE /auth/passkeys/${passkey._id}`, { token })

    test('begin with one that is discoverable, and ten recovery codes', async () => {
      const { token } = (await login(app(), ada.email)).body
      const { challenge: _, ...options } = await creationOptions(app(), token)
      assert.deepEqual(options, {
        rp: { id: 'app.example', name: 'app' },
        user: { id: Buffer.from(ada._id).toString('base64url'), name: ada.email, displayName: ada.email },
        pubKeyCredParams: [-7, -8, -257].map((alg) => ({ type: 'public-key', alg })),
        timeout: 300_000,
        attestation: 'none',
        excludeCredentials: [],
        authenticatorSelection: {
          residentKey: 'required',
          requireResidentKey: true,
          userVerification: 'preferred',
        },
        extensions: { credProps: true },
      })
      await app().app.service('auth').users.verify(ada.email)
      first = await add(token, { key: createTestPasskey('ES256', APPLE), isSynced: true })
      assert.equal(first.recoveryCodes?.length, 10)
      const { _id, createdAt, ...rest } = first.passkey
      assert.deepEqual(rest, { name: 'Apple Passwords', synced: true })
      assert.ok(_id && Date.parse(createdAt))
      const { parsed } = await nextAbout(started().mailbox, ada.email, /second factor was added/)
      assert.match(parsed.text!, /passkey “Apple Passwords”/)
    })

    testOnce('are several, which the browser does not offer to add again', async () => {
      const token = await adasToken()
      const second = await add(token, { name: ' Key of the office ' })
      assert.deepEqual([second.passkey.name, second.recoveryCodes], ['Key of the office', undefined])
      const { excludeCredentials } = (await creationOptions(app(), token)) as unknown as {
        excludeCredentials: { id: string }[]
      }
      assert.deepEqual(excludeCredentials, [
        { id: first.key.id, type: 'public-key', transports: ['internal', 'hybrid'] },
        { id: second.key.id, type: 'public-key', transports: ['internal', 'hybrid'] },
      ])
      const names = (await listPasskeys(app(), token)).map(({ name }) => name)
      assert.deepEqual(names, ['Apple Passwords', 'Key of the office'])
      assert.equal((await remove(token, second)).status, 200)
    })

    testOnce('sign with ES256, EdDSA or RS256', async () => {
      const token = await adasToken()
      for (const algorithm of ['EdDSA', 'RS256'] as const) {
        const added = await add(token, { key: createTestPasskey(algorithm) })
        assert.equal((await signInWith(app(), added.key, PAGE)).status, 200, algorithm)
        await remove(token, added)
      }
      const other = createTestPasskey('ES384').register(await creationOptions(app(), token), PAGE)
      assert.equal((await sendPasskey(app(), token, other)).code, 'INVALID_PASSKEY')
    })

    testOnce('are refused if anything of the registration is wrong, with the reason', async () => {
      const token = await adasToken()
      const options = await creationOptions(app(), token)
      const key = createTestPasskey()
      const wrong: [RegExp, Ceremony][] = [
        [/pages of https:\/\/evil\.example are not accepted/, { origin: 'https://evil.example' }],
        [/pages of http:\/\/localhost:5173 are not accepted/, { origin: 'http://localhost:5173' }],
        [/RP ID/, { rpId: 'evil.example' }],
        [/not present/, { isPresent: false }],
        [/from a frame of another origin/, { clientData: { crossOrigin: true } }],
        [/type: webauthn\.get/, { clientData: { type: 'webauthn.get' } }],
        [/request new options/, { clientData: { challenge: 'AAAA' } }],
      ]
      for (const [why, ceremony] of wrong) {
        const refused = await sendPasskey(app(), token, key.register(options, { ...PAGE, ...ceremony }))
        assert.deepEqual([refused.status, refused.code], [401, 'INVALID_PASSKEY'], refused.text)
        assert.match(refused.body.error.message, why)
      }
      const forOther = key.register(await creationOptions(app(), bob.token), PAGE)
      assert.match((await sendPasskey(app(), token, forOther)).text, /another purpose or account/)
      const signIn = await optionsOf(app(), '/auth/passkeys/sign-in-options')
      assert.match((await sendPasskey(app(), token, key.register(signIn, PAGE))).text, /another purpose/)

      const right = key.register(options, PAGE)
      const renamed = { ...right, id: 'AAAA', rawId: 'AAAA' }
      assert.match((await sendPasskey(app(), token, renamed)).text, /its id is not the one/)
      const twice = await Promise.all([sendPasskey(app(), token, right), sendPasskey(app(), token, right)])
      assert.deepEqual(statuses(twice), { 201: 1, 401: 1 })
    })

    test('belong to one account each', async () => {
      const token = await adasToken()
      for (const one of [token, bob.token]) {
        const stolen = first.key.register(await creationOptions(app(), one), PAGE)
        const refused = await sendPasskey(app(), one, stolen)
        assert.deepEqual([refused.status, refused.code], [409, 'CONFLICT'], refused.text)
      }
      // The test's passkey has its own account again.
      first.key.register(await creationOptions(app(), token), PAGE)
      for (const [route, body] of [
        [`PATCH /auth/passkeys/${first.passkey._id}`, { name: 'Mine' }],
        [`DELETE /auth/passkeys/${first.passkey._id}`, undefined],
      ] as const)
        assert.equal((await send(app(), route, { token: bob.token, body })).status, 404)
    })

    testOnce('have names that their owner may change', async () => {
      const token = await adasToken()
      const rename = (name: string) =>
        send(app(), `PATCH /auth/passkeys/${first.passkey._id}`, { token, body: { name } })
      for (const name of ['', ' ', 'x'.repeat(101)])
        assert.equal((await rename(name)).code, 'VALIDATION_ERROR')
      const { passkey } = (await rename(' Phone ')).body as unknown as AddedPasskey
      assert.deepEqual([passkey._id, passkey.name], [first.passkey._id, 'Phone'])
    })

    test('are 20 at most, two at once too', async () => {
      const token = await adasToken()
      const count = (await listPasskeys(app(), token)).length
      for (let more = count; more < 19; more++) await add(token)
      const last = [await creationOptions(app(), token), await creationOptions(app(), token)]
      const both = last.map((options) =>
        sendPasskey(app(), token, createTestPasskey().register(options, PAGE)),
      )
      assert.deepEqual(statuses(await Promise.all(both)), { 201: 1, 409: 1 })
      const refused = await send(app(), 'POST /auth/passkeys/options', { token, body: {} })
      assert.deepEqual([refused.status, refused.code], [409, 'CONFLICT'])
    })

    testOnce('finish a sign-in with a password, and need not verify their user then', async () => {
      const challenge = await challenged(app(), ada.email)
      const options = await optionsOf(app(), '/auth/second-factor/passkey-options', { body: { challenge } })
      assert.ok(options.allowCredentials?.some(({ id }) => id === first.key.id))
      const wrong: Ceremony[] = [{ isPresent: false }, { origin: 'https://evil.example' }]
      for (const ceremony of wrong) {
        const passkey = first.key.sign(options, { ...PAGE, ...ceremony })
        assert.equal((await finish(app(), { challenge, passkey })).code, 'INVALID_PASSKEY')
      }
      const passkey = first.key.sign(options, { ...PAGE, isVerified: false, userHandle: null })
      const finished = await finish(app(), { challenge, passkey })
      assert.equal(finished.status, 200, finished.text)
      const again = await challenged(app(), ada.email)
      assert.equal((await finish(app(), { challenge: again, passkey })).code, 'INVALID_PASSKEY')
    })

    testOnce('finish no sign-in to another account', async () => {
      const { key } = await add(bob.token)
      const challenge = await challenged(app(), ada.email)
      const options = await optionsOf(app(), '/auth/second-factor/passkey-options', { body: { challenge } })
      assert.ok(!options.allowCredentials?.some(({ id }) => id === key.id))
      // One that says whose it is or nothing, or claims to be Ada's.
      const claims: Ceremony[] = [{}, { userHandle: null }, { userHandle: base64url(ada._id) }]
      for (const ceremony of claims) {
        const refused = await finish(app(), {
          challenge,
          passkey: key.sign(options, { ...PAGE, ...ceremony }),
        })
        assert.deepEqual([refused.status, refused.code], [401, 'INVALID_PASSKEY'])
      }
      const passkey = first.key.sign(options, PAGE)
      assert.equal((await finish(app(), { challenge, passkey })).status, 200)
    })

    testOnce('are changed within 10 minutes of a proof by the same account only', async () => {
      const token = await adasToken()
      const { key } = await add(bob.token)
      app().clock.advance(10 * MINUTE_MS)
      for (const route of ['POST /auth/passkeys/options', `DELETE /auth/passkeys/${first.passkey._id}`]) {
        const body = route.startsWith('POST') ? {} : undefined
        assert.equal((await send(app(), route, { token, body })).code, 'RECENT_SIGN_IN_REQUIRED')
      }
      const confirm = async (passkey: TestPasskey) => {
        const options = await optionsOf(app(), '/auth/confirm/passkey-options', { token })
        return send(app(), 'POST /auth/confirm', { token, body: { passkey: passkey.sign(options, PAGE) } })
      }
      assert.equal((await confirm(key)).code, 'INVALID_PASSKEY')
      assert.equal((await confirm(first.key)).status, 200)
      assert.equal((await remove(token, first)).status, 200)
    })

    test('take the recovery codes with them when the last one goes', async () => {
      const { email, token } = await app().register()
      assert.equal((await remove(token, await add(token))).status, 200)
      const { body } = await send(app(), 'GET /auth/factors', { token })
      assert.deepEqual(body, { passkeys: 0, totp: false, recoveryCodes: 0, required: false })
      assert.equal((await login(app(), email)).status, 200)
    })

    test('of an administrator go down to one, of two at once too', async () => {
      const { token } = (await login(app(), admin.email)).body
      const both = [await add(token), await add(token)]
      const removed = await Promise.all(both.map((one) => remove(token, one)))
      assert.deepEqual(statuses(removed), { 200: 1, 409: 1 })
      assert.equal((await listPasskeys(app(), token)).length, 1)
    })
  })
})
