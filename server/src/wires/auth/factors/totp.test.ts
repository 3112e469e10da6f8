import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { Secret, TOTP, URI } from 'otpauth'

import { deriveKey } from '../../../base/crypto.ts'
import { ApiError } from '../../../base/errors.ts'
import { sql } from '../../../db/sql.ts'
import type { TestApp } from '../../../testing/app.ts'
import { appForAll, inDigitsFrom, send, startReplicas, statuses, times } from '../../../testing/auth.ts'
import { stillClock } from '../../../testing/clock.ts'
import { eachEngine, testOnOne } from '../../../testing/engines.ts'
import { createTotp } from './totp.ts'

const MINUTE_MS = 60_000
const STEP_MS = 30_000
const SECRET = 'a secret of the tests that is long enough'

/** The authenticator app of a person: it reads the URI, and shows codes by the server's clock. */
function appOf(uri: string, { clock }: TestApp) {
  const totp = URI.parse(uri)
  assert.ok(totp instanceof TOTP)
  return {
    totp,
    /** @param steps after the current one */
    code: (steps = 0) => totp.generate({ timestamp: clock.now() + steps * STEP_MS }),
  }
}

async function offer(app: TestApp, token: string) {
  const answered = await app.request('POST', '/auth/totp', { token })
  assert.equal(answered.status, 200, answered.text)
  return answered
}

const verify = (app: TestApp, token: string, code: string) =>
  send(app, 'POST /auth/totp/verify', { token, body: { code } })

/** A new account with an authenticator app. */
async function enrol(app: TestApp) {
  const person = await app.register()
  const authenticator = appOf((await offer(app, person.token)).body.uri, app)
  const verified = await verify(app, person.token, authenticator.code())
  assert.equal(verified.status, 200, verified.text)
  return { ...person, authenticator }
}

const invalidCode = (error: unknown) => error instanceof ApiError && error.code === 'INVALID_CODE'

describe('authenticator apps', () => {
  eachEngine((engine) => {
    const testOnce = testOnOne(engine)
    const app = appForAll(engine, { config: { name: 'A: shop & more' } })
    const totp = () =>
      createTotp({ db: app().app.db, clock: app().clock }, { secret: SECRET, issuer: 'shop' })
    const prove = (userId: string, code: string) => totp().prove(userId, code)

    testOnce('are added by a code of the secret that was shown', async () => {
      const { token, email } = await app().register()
      const { body, headers } = await offer(app(), token)
      assert.equal(headers.get('cache-control'), 'no-store')
      const authenticator = appOf(body.uri, app())
      assert.equal(authenticator.totp.secret.base32, body.secret)
      assert.equal(authenticator.totp.secret.bytes.length, 20)
      const { issuer, label, algorithm, digits, period } = authenticator.totp
      assert.deepEqual(
        { issuer, label, algorithm, digits, period },
        { issuer: 'A  shop & more', label: email, algorithm: 'SHA1', digits: 6, period: 30 },
      )
      const verified = await verify(app(), token, authenticator.code().replace(/(...)/, '$1 '))
      assert.equal(verified.status, 200, verified.text)
      assert.equal(verified.headers.get('cache-control'), 'no-store')
    })

    testOnce('are not added by a wrong code, and a secret has five tries', async () => {
      const { token } = await app().register()
      const authenticator = appOf((await offer(app(), token)).body.uri, app())
      for (const code of ['', '12345', '1234567', '½23456', 'abcdef', '-12345']) {
        const refused = await verify(app(), token, code)
        assert.deepEqual([refused.status, refused.code], [401, 'INVALID_CODE'], code)
      }
      // What is not six digits is no try.
      for (const steps of [10, 11, 12, 13])
        assert.equal((await verify(app(), token, authenticator.code(steps))).code, 'INVALID_CODE')
      assert.equal((await verify(app(), token, authenticator.code())).status, 200)
    })

    test('are not added after five wrong codes, until there is another secret', async () => {
      const { token } = await app().register()
      const first = appOf((await offer(app(), token)).body.uri, app())
      await Promise.all(times(5, (i) => verify(app(), token, first.code(10 + i))))
      const refused = await verify(app(), token, first.code())
      assert.deepEqual([refused.status, refused.code], [401, 'INVALID_CODE'])
      assert.match(refused.body.error.message, /POST \/auth\/totp/)
      const second = appOf((await offer(app(), token)).body.uri, app())
      assert.equal((await verify(app(), token, first.code())).code, 'INVALID_CODE', 'of the older secret')
      assert.equal((await verify(app(), token, second.code())).status, 200)
    })

    test('are not added 10 minutes later, nor twice by one code', async () => {
      const { token } = await app().register()
      const late = appOf((await offer(app(), token)).body.uri, app())
      await app().app.db.write(sql`update auth_totp_offers set expires_at = ${app().clock.now()}`)
      assert.equal((await verify(app(), token, late.code())).code, 'INVALID_CODE')
      const { code } = appOf((await offer(app(), token)).body.uri, app())
      const answered = await Promise.all(times(5, () => verify(app(), token, code())))
      assert.deepEqual(statuses(answered), { 200: 1, 401: 4 })
    })

    test('prove a code of this step, the one before and the one after, and each once', async () => {
      const { _id, authenticator } = await enrol(app())
      const { db } = app().app
      const clock = stillClock(app().clock.now())
      const still = createTotp({ db, clock }, { secret: SECRET, issuer: 'shop' })
      const code = (steps: number) =>
        authenticator.totp.generate({ timestamp: clock.now() + steps * STEP_MS })
      await db.write(sql`update auth_totp set last_step = 0 where user_id = ${_id}`)
      assert.equal(await still.prove(_id, code(-2)), undefined)
      for (const steps of [-1, 0, 1]) {
        const proof = await still.prove(_id, inDigitsFrom('０', code(steps)))
        assert.ok(proof, `step ${steps}`)
        await db.batch([proof.useSql])
        assert.equal(await still.prove(_id, code(steps)), undefined, 'a second time')
      }
      assert.equal(await still.prove(_id, code(0)), undefined, 'before the last one')
      assert.equal(await still.prove(_id, code(2)), undefined)
    })

    testOnce('do not prove the code with which they were added', async () => {
      const { _id, authenticator } = await enrol(app())
      assert.equal(await prove(_id, authenticator.code()), undefined)
      assert.ok(await prove(_id, authenticator.code(1)))
    })

    test('prove one of two uses of a code at the same time on two replicas', async (t) => {
      const replicas = await startReplicas(t, engine)
      const { _id, authenticator } = await enrol(replicas[0])
      const code = authenticator.code(1)
      const uses = replicas.map(({ app: { db }, clock }) => ({
        db,
        totp: createTotp({ db, clock }, { secret: SECRET, issuer: 'shop' }),
      }))
      const proofs = await Promise.all(
        uses.map(async ({ db, totp }) => ({ db, proof: await totp.prove(_id, code) })),
      )
      const outcomes = await Promise.allSettled(proofs.map(({ db, proof }) => db.batch([proof!.useSql])))
      assert.deepEqual(outcomes.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
      for (const outcome of outcomes) assert.ok(outcome.status === 'fulfilled' || invalidCode(outcome.reason))
    })

    test('are replaced: the older one proves nothing, also not what it has just proven', async () => {
      const { _id, token, authenticator: older } = await enrol(app())
      const pending = await prove(_id, older.code(1))
      const newer = appOf((await offer(app(), token)).body.uri, app())
      assert.ok(await prove(_id, older.code(1)), 'until the newer one is verified')
      const replaced = await verify(app(), token, newer.code())
      assert.equal(replaced.status, 200, replaced.text)
      assert.equal('recoveryCodes' in replaced.body, false, 'the codes stay')
      assert.equal(await prove(_id, older.code(1)), undefined)
      await assert.rejects(app().app.db.batch([pending!.useSql]), invalidCode)
      assert.ok(await prove(_id, newer.code(1)))
    })

    test('are removed once', async () => {
      const { _id, token, authenticator } = await enrol(app())
      const remove = () => send(app(), 'DELETE /auth/totp', { token })
      const answered = await Promise.all([remove(), remove()])
      assert.deepEqual(statuses(answered), { 200: 1, 404: 1 })
      assert.equal(await prove(_id, authenticator.code(1)), undefined)
    })

    testOnce('need a proof of the last 10 minutes to be added', async () => {
      const { token } = await app().register()
      await app().app.db.write(sql`update auth_sessions set proven_at = created_at - ${10 * MINUTE_MS}`)
      const refused = await send(app(), 'POST /auth/totp', { token })
      assert.deepEqual([refused.status, refused.code], [403, 'RECENT_SIGN_IN_REQUIRED'])
    })

    // RFC 6238, appendix B, in six digits.
    testOnce('accept the codes of RFC 6238, appendix B', async () => {
      const { _id } = await enrol(app())
      const { base32 } = Secret.fromUTF8('12345678901234567890')
      const sealed = deriveKey(SECRET, 'totp').seal(base32)
      const db = app().app.db
      await db.write(sql`update auth_totp set secret = ${sealed}, last_step = 0 where user_id = ${_id}`)
      for (const [seconds, code] of [
        [59, '287082'],
        [1111111109, '081804'],
        [1111111111, '050471'],
        [1234567890, '005924'],
        [2000000000, '279037'],
        [20000000000, '353130'],
      ] as const) {
        const at = createTotp({ db, clock: stillClock(seconds * 1000) }, { secret: SECRET, issuer: 'shop' })
        assert.ok(await at.prove(_id, code), code)
      }
    })
  })
})
