// Sign-ins with a passkey alone: what is accepted, and all that is not.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { sql } from '../../../../db/sql.ts'
import type { TestApp } from '../../../../testing/app.ts'
import { me, send, startReplicas, statuses, times } from '../../../../testing/auth.ts'
import {
  createTestPasskey,
  type Ceremony,
  type Credential,
  type TestPasskey,
} from '../../../../testing/authenticator.ts'
import { eachEngine, endOfSuite, testOnOne } from '../../../../testing/engines.ts'
import {
  addPasskey,
  creationOptions,
  listPasskeys,
  optionsOf,
  sendAssertion,
  signInWith,
} from '../../../../testing/passkeys.ts'
import { challengeOf, finish } from '../../../../testing/second-factor.ts'

const MINUTE_MS = 60_000

describe('a sign-in with a passkey', () => {
  eachEngine((engine) => {
    const testOnce = testOnOne(engine)
    const ending = endOfSuite()
    let app: TestApp
    let replica: TestApp
    let ada: { _id: string; email: string; token: string }
    let key: TestPasskey
    let recoveryCodes: string[]
    before(async () => {
      ;[app, replica] = await startReplicas(ending, engine)
      ada = await app.register()
      const added = await addPasskey(app, ada.token)
      key = added.key
      recoveryCodes = added.recoveryCodes!
    })

    const options = () => optionsOf(app, '/auth/passkeys/sign-in-options')

    const assertRefused = async (passkey: Credential, why: string) => {
      const answered = await sendAssertion(app, passkey)
      assert.deepEqual([answered.status, answered.code], [401, 'INVALID_PASSKEY'], why)
    }

    testOnce('needs no address, and proves a second factor', async () => {
      const request = await options()
      assert.deepEqual(request, {
        challenge: request.challenge,
        rpId: 'localhost',
        timeout: 300_000,
        userVerification: 'preferred',
      })
      const answered = await sendAssertion(app, key.sign(request))
      assert.equal(answered.status, 200, answered.text)
      assert.equal(answered.headers.get('cache-control'), 'no-store')
      assert.deepEqual(answered.body.user, { _id: ada._id, email: ada.email })
      const { token } = answered.body
      assert.equal((await me(app, token)).status, 200)
      // A route that requires a factor within the last 10 minutes.
      assert.equal((await send(app, 'POST /auth/passkeys/options', { token, body: {} })).status, 200)
    })

    testOnce('is listed as the last use, with whether the passkey is synchronised by now', async () => {
      app.clock.advance(MINUTE_MS)
      const { body } = await signInWith(app, key, { isSynced: true })
      const [passkey] = await listPasskeys(app, body.token)
      assert.equal(passkey!.synced, true)
      assert.ok(Date.parse(passkey!.lastUsedAt!) - Date.parse(passkey!.createdAt) >= MINUTE_MS)
    })

    testOnce('is refused if anything of it is wrong, which uses nothing up', async () => {
      const request = await options()
      const bob = await app.register()
      const wrong: Record<string, Ceremony> = {
        'a page of another origin': { origin: 'https://evil.example' },
        'a page whose origin only begins like ours': { origin: 'http://localhost.evil.example' },
        'another relying party': { rpId: 'evil.example' },
        'no person was there': { isPresent: false },
        'a frame in a page of another origin': { clientData: { crossOrigin: true } },
        'a registration in place of a sign-in': { clientData: { type: 'webauthn.create' } },
        'a challenge of its own': { clientData: { challenge: 'AAAA' } },
        'no account': { userHandle: null },
        'another account': { userHandle: Buffer.from(bob._id).toString('base64url') },
      }
      for (const [why, ceremony] of Object.entries(wrong))
        await assertRefused(key.sign(request, ceremony), why)
      await assertRefused(createTestPasskey().sign(request, { userHandle: 'AAAA' }), 'an unknown passkey')

      const signed = key.sign(request)
      const { response } = signed
      const tampered = { ...response, signature: key.sign(request, { counter: 9 }).response['signature'] }
      await assertRefused({ ...signed, response: tampered }, 'the signature of something else')
      await assertRefused({ ...signed, rawId: 'AAAA' }, 'two ids')
      const garbage = { ...response, clientDataJSON: 'bm9wZQ' }
      await assertRefused({ ...signed, response: garbage }, 'client data that is no JSON')
      await assertRefused({ ...signed, response: { ...response, authenticatorData: 'AAAA' } }, 'cut data')

      assert.equal((await sendAssertion(app, signed)).status, 200)
    })

    testOnce('answers a challenge of a sign-in, within 5 minutes', async () => {
      const creation = await creationOptions(app, (await signInWith(app, key)).body.token)
      const confirm = await optionsOf(app, '/auth/confirm/passkey-options', { token: ada.token })
      for (const { challenge } of [creation, confirm])
        await assertRefused(key.sign({ challenge, rpId: 'localhost' }), 'a challenge for something else')
      const late = await options()
      app.clock.advance(5 * MINUTE_MS)
      await assertRefused(key.sign(late), 'too late')
    })

    test('is accepted once, at two servers at once too', async () => {
      const signed = key.sign(await options())
      const both = await Promise.all([sendAssertion(app, signed), sendAssertion(replica, signed)])
      assert.deepEqual(statuses(both), { 200: 1, 401: 1 })
      await assertRefused(signed, 'again')
      // What is expired is deleted an hour later; nobody could answer it meanwhile.
      app.clock.advance(6 * MINUTE_MS)
      await assertRefused(signed, 'again, when its challenge has expired')
    })

    test('has a counter that grows, or there is a copy of the passkey', async () => {
      const { token } = (await signInWith(app, key)).body
      const { key: counting } = await addPasskey(app, token, { counter: 3 })
      const signIn = (counter: number) => signInWith(app, counting, { counter })
      assert.equal((await signIn(4)).status, 200)
      for (const counter of [4, 3, 0]) assert.equal((await signIn(counter)).code, 'INVALID_PASSKEY')
      assert.match(app.log(), /its counter of signatures did not grow, so there may be a copy of it/)

      const requests = [await options(), await options()]
      const both = requests.map((one, at) =>
        sendAssertion(at === 0 ? app : replica, counting.sign(one, { counter: 5 })),
      )
      assert.deepEqual(statuses(await Promise.all(both)), { 200: 1, 401: 1 })
      assert.equal((await signIn(6)).status, 200)
    })

    testOnce('counts on each device on its own if it is synced, so its counter refuses nothing', async () => {
      const { token } = (await signInWith(app, key)).body
      const { key: synced } = await addPasskey(app, token, { counter: 5, isSynced: true })
      for (const counter of [10, 7, 7, 0])
        assert.equal((await signInWith(app, synced, { counter, isSynced: true })).status, 200)
    })

    testOnce('needs another factor if the authenticator did not verify its user', async () => {
      const signed = key.sign(await options(), { isVerified: false })
      const challenge = challengeOf(await sendAssertion(app, signed))
      await assertRefused(signed, 'again')
      const body = { challenge }
      const again = key.sign(await optionsOf(app, '/auth/second-factor/passkey-options', { body }))
      const refused = await finish(app, { challenge, passkey: again })
      assert.deepEqual([refused.status, refused.code], [401, 'INVALID_PASSKEY'])
      const finished = await finish(app, { challenge, recoveryCode: recoveryCodes[0] })
      assert.equal(finished.status, 200, finished.text)
    })

    testOnce('verifies its user if the account has nothing else', async () => {
      const { _id, token } = await app.register()
      const { key: only } = await addPasskey(app, token)
      await app.app.db.write(sql`delete from auth_recovery_codes where user_id = ${_id}`)
      const answered = await signInWith(app, only, { isVerified: false })
      assert.equal(answered.code, 'INVALID_PASSKEY')
      assert.match(answered.body.error.message, /set a PIN or a fingerprint/)
      assert.equal((await signInWith(app, only)).status, 200)
    })

    test('ends with the passkey, and with the account', async () => {
      const { email, token } = await app.register()
      const first = await addPasskey(app, token)
      const second = await addPasskey(app, token)
      const removed = await send(app, `DELETE /auth/passkeys/${first.passkey._id}`, { token })
      assert.equal(removed.status, 200, removed.text)
      assert.equal((await signInWith(app, first.key)).code, 'INVALID_PASSKEY')
      assert.equal((await signInWith(app, second.key)).status, 200)
      await app.app.service('auth').users.disable(email)
      assert.equal((await signInWith(app, second.key)).code, 'INVALID_PASSKEY')
    })

    test('begins no session once the removal of its passkey is answered, also if it was sent before', async () => {
      for (let round = 0; round < 10; round++) {
        const { token } = await app.register()
        const { key: removed, passkey } = await addPasskey(app, token)
        const signed = await Promise.all(times(6, async () => removed.sign(await options())))
        const sessions = async () =>
          (await send(app, 'GET /auth/sessions', { token })).body.sessions.map(({ _id }) => _id)
        const remove = async () => {
          const answered = await send(app, `DELETE /auth/passkeys/${passkey._id}`, { token })
          assert.equal(answered.status, 200, answered.text)
          return sessions()
        }
        const [begun, ...replies] = await Promise.all([
          remove(),
          ...signed.map((one, index) => sendAssertion(index % 2 ? replica : app, one)),
        ])
        for (const { status, code, text } of replies)
          assert.ok(status === 200 || code === 'INVALID_PASSKEY', text)
        for (const id of await sessions()) assert.ok(begun.includes(id), `round ${round}`)
        assert.equal((await signInWith(replica, removed)).code, 'INVALID_PASSKEY')
      }
    })
  })
})
