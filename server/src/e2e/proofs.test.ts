// Each route that requires a recent proof × each caller: where an account has a second factor, only that is a proof.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { sql } from '../db/sql.ts'
import type { Route } from '../http/route.ts'
import { appForAll, login, PASSWORD, send } from '../testing/auth.ts'
import { someEngine } from '../testing/engines.ts'
import { addAuthenticator } from '../testing/second-factor.ts'

const RECENT_MS = 601_000
const REQUIRED = 'RECENT_SIGN_IN_REQUIRED'
const NAMED = 'named@example.com'

/** What the caller may do afterwards no more is called last. */
const LAST = ['DELETE /auth/sessions', 'DELETE /auth/totp', 'DELETE /auth/me']

/** Bodies with which a route requires a proof that does not always. */
const BODIES: Readonly<Record<string, object>> = {
  'POST /auth/change-password': { currentPassword: PASSWORD, newPassword: 'another correct horse' },
  'DELETE /auth/me': { password: PASSWORD },
  'DELETE /auth/sessions/:id': {},
  'POST /auth/users': { email: 'new@example.com', role: 'admin' },
  'PATCH /auth/users/:id': { role: 'viewer' },
  'POST /auth/users/:id/verify': {},
  'POST /store/:collection/bulk': { action: 'delete', filter: {}, expected: 1 },
  'POST /store/files/bulk': { action: 'delete', filter: {}, expected: 1 },
}
/** Of these the password in the call is the proof of an account without a factor. */
const BY_PASSWORD = ['POST /auth/change-password', 'DELETE /auth/me']

/** By what an operator changes something without a proof. A new route is named here, or requires one. */
const WITHOUT_PROOF = [
  'DELETE /auth/users/:id/notes/:noteId',
  'DELETE /auth/users/:id/sessions',
  'DELETE /auth/users/:id/sessions/:sid',
  'DELETE /core/jobs/:id',
  'DELETE /store/backups/:id',
  'POST /auth/users/:id/invite',
  'POST /auth/users/:id/notes',
  'POST /auth/users/:id/reset',
  'POST /auth/users/:id/unlock',
  'POST /core/jobs/:id/retry',
  'POST /core/jobs/retry',
  'POST /core/logs/faults/:id/resolve',
  'POST /core/webhooks/:name/enable',
  'POST /core/webhooks/deliveries/:id/retry',
  'POST /messaging/logs/:id/resend',
  'POST /onchain/transactions/:hash/cancel',
  'POST /onchain/transactions/:hash/speed-up',
  'POST /pay/events/:id/replay',
  'POST /store/:collection/import',
  'POST /store/backup',
]

/** It requires a sign-in of its own. */
const APART = 'POST /console/session'

someEngine((engine) => {
  describe('a route that requires a recent proof', () => {
    const app = appForAll(engine, {
      environment: { SIXWIRE_POLICY: 'guarded', SIXWIRE_ADMINS: `admin@example.com,${NAMED}` },
    })
    const routes = (): Route[] =>
      app()
        .app.routes.flatMap((wire) => wire.routes)
        .filter(({ key, spec }) => key !== APART && (spec.proof !== undefined || isConditional(spec)))
        .toSorted((a, b) => LAST.indexOf(a.key) - LAST.indexOf(b.key))
    const isConditional = ({ proof, errors = [] }: Route['spec']): boolean =>
      proof === undefined && errors.some(({ code }) => code === REQUIRED)

    /** The code of the answer to each route, called without a body unless it matters. */
    async function codesOf(token: string): Promise<Record<string, string>> {
      const codes: Record<string, string> = {}
      for (const { key, method, path, spec } of routes()) {
        if (spec.proof === 'console')
          await app().app.db.write(sql`update auth_sessions set kind = 'console' where kind is null`)
        const body = BODIES[key]
        const isNamed = key === 'POST /auth/users/:id/verify'
        const sent = body ? { body } : spec.body ? { raw: '{' } : {}
        const at = path.replaceAll(/:\w+/g, isNamed ? named : 'zzz')
        const answered = await app().request(method, at, { token, ...sent })
        codes[key] = answered.status < 300 ? 'done' : answered.body.error.code
        await app().app.db.write(sql`update auth_sessions set kind = null where kind = 'console'`)
      }
      return codes
    }
    const keysOf = (codes: Record<string, string>, code: string): string[] =>
      Object.keys(codes).filter((key) => codes[key] === code)

    let named: string
    let admins: { late: string; recent: string; withPassword: string; withFactor: string }
    let key: string
    let acting: string
    let factored: { _id: string; email: string; code: () => string }

    before(async () => {
      const { users, keys } = app().app.service('auth')
      const admin = async () => {
        const person = await app().register()
        await users.verify(person.email)
        await users.promote(person.email)
        return person
      }
      const [plain, other] = [await admin(), await admin()]
      named = (await app().register(NAMED))._id
      app().clock.advance(RECENT_MS)
      const recent = (await login(app(), plain.email)).body.token
      const proven = (await login(app(), other.email)).body.token
      const authenticator = await addAuthenticator(app(), proven)
      // A session from before the factor, which has the password only.
      const confirmed = { token: other.token, body: { password: PASSWORD } }
      assert.equal((await send(app(), 'POST /auth/confirm', confirmed)).status, 200)
      const code = { token: proven, body: { code: authenticator.code() } }
      assert.equal((await send(app(), 'POST /auth/confirm', code)).status, 200)
      admins = { late: plain.token, recent, withPassword: other.token, withFactor: proven }
      factored = { ...other, ...authenticator }
      key = (await keys.create('all', ['*'])).key
      const [boss, seen] = [await admin(), await app().register()]
      await users.verify(seen.email)
      const body = { reason: 'the test of proofs', readOnly: false }
      const path = `POST /auth/users/${seen._id}/impersonate` as const
      acting = (await send(app(), path, { token: boss.token, body })).body.token
    })

    test('is named here with its body, if it requires the proof in some cases only', () => {
      const conditional = routes().filter(({ spec }) => isConditional(spec))
      assert.deepEqual(conditional.map((one) => one.key).toSorted(), Object.keys(BODIES).toSorted())
      assert.ok(routes().length > 25, `${routes().length} routes`)
    })

    test('is each that an operator changes something by, except those that are named here', () => {
      const unproven = app()
        .app.routes.flatMap((wire) => wire.routes)
        .filter(({ method, spec: { access, proof, changesNothing } }) => {
          const isOfOperators = access === 'operator' || access === 'admin'
          return isOfOperators && method !== 'GET' && !changesNothing && proof === undefined
        })
        .filter(({ spec }) => !isConditional(spec))
      assert.deepEqual(unproven.map((one) => one.key).toSorted(), WITHOUT_PROOF)
    })

    test('refuses a session that has proven nothing for ten minutes', async () => {
      const all = routes().map((one) => one.key)
      const refused = keysOf(await codesOf(admins.late), REQUIRED)
      assert.deepEqual(refused.toSorted(), all.filter((one) => !BY_PASSWORD.includes(one)).toSorted())
    })

    test('refuses the password alone where the account has a factor, also in a session from before it', async () => {
      const all = routes().map((one) => one.key)
      assert.deepEqual(keysOf(await codesOf(admins.withPassword), REQUIRED).toSorted(), all.toSorted())
    })

    test('is closed to service keys in what makes them or others greater', async () => {
      assert.deepEqual(keysOf(await codesOf(key), REQUIRED), [])
      const { users } = app().app.service('auth')
      const person = await app().register()
      for (const [route, body] of [
        ['POST /auth/keys', { name: 'more', scopes: ['*'] }],
        ['POST /auth/users', { email: 'greater@example.com', role: 'admin' }],
        ['POST /auth/users', { email: 'greater@example.com', role: 'viewer' }],
        [`PATCH /auth/users/${person._id}`, { role: 'admin' }],
        [`PATCH /auth/users/${factored._id}`, { email: 'mine@example.com' }],
        [`POST /auth/users/${person._id}/impersonate`, { reason: 'to be greater' }],
        [`POST /auth/users/${named}/verify`, undefined],
        [`DELETE /auth/users/${factored._id}/factors`, undefined],
      ] as const) {
        const answered = await send(app(), route, { token: key, ...(body && { body }) })
        assert.deepEqual([answered.status, answered.code], [403, 'FORBIDDEN'], route)
      }
      assert.ok((await users.details({ id: factored._id })).factors.totp)
      await addAuthenticator(app(), person.token)
      const removed = await send(app(), `DELETE /auth/users/${person._id}/factors`, { token: key })
      assert.equal(removed.status, 200, removed.text)
    })

    test('is closed to an administrator who acts as a user, also with the password of the user', async () => {
      const codes = await codesOf(acting)
      // Without a console that is what the user may do.
      assert.deepEqual(
        keysOf(codes, 'FORBIDDEN').toSorted(),
        routes()
          .filter(({ spec }) => spec.access !== 'user')
          .map((one) => one.key)
          .toSorted(),
      )
      for (const route of ['POST /auth/confirm', 'POST /auth/confirm/passkey-options'] as const) {
        const answered = await send(app(), route, { token: acting, body: { password: PASSWORD } })
        assert.equal(answered.code, 'FORBIDDEN', route)
      }
    })

    test('lets in who has proven the factor, or has none and has just signed in', async () => {
      for (const token of [admins.recent, admins.withFactor])
        assert.deepEqual(keysOf(await codesOf(token), REQUIRED), [])
    })
  })
})
