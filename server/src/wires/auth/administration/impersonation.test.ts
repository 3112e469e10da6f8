// Acting as a user: what it may, what it may not, and how it ends.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { decodeJwt } from 'jose'

import { as, auditOf, codeOf, registerAs, type TestPerson } from '../../../testing/administration.ts'
import { me } from '../../../testing/auth.ts'
import { eachEngine, testOnOne } from '../../../testing/engines.ts'
import { appWithMailbox, nextAbout } from '../../../testing/mailbox.ts'

type Impersonated = {
  token: string
  user: { _id: string }
  sessionId: string
  readOnly: boolean
  expiresAt: string
}

describe('acting as a user', () => {
  eachEngine((engine) => {
    const testOnce = testOnOne(engine)
    const started = appWithMailbox(engine, {
      config: {
        policy: 'guarded',
        auth: { impersonationNotice: true, local: { requireEmailVerification: false } },
      },
    })
    const app = () => started().app
    const admin = () => registerAs(app(), 'admin')
    const user = () => registerAs(app(), 'user')

    async function impersonate(by: TestPerson, { _id }: { _id: string }, more: object = {}) {
      const answered = await as(app(), by, `POST /auth/users/${_id}/impersonate`, {
        reason: 'Ticket 4711',
        ...more,
      })
      assert.equal(answered.status, 201, answered.text)
      return answered.body as Impersonated
    }

    testOnce('reads what the user sees, for 15 minutes, and changes nothing', async () => {
      const [by, one] = [await admin(), await user()]
      await as(app(), one, 'POST /store/notes', { text: 'mine' })
      const acting = await impersonate(by, one)
      assert.deepEqual([acting.readOnly, acting.user._id], [true, one._id])
      const { act, sub, exp, iat } = decodeJwt(acting.token)
      assert.deepEqual([act, sub], [{ sub: by._id }, one._id])
      assert.ok(exp! - iat! <= 900)
      const { data } = (await as(app(), acting, 'GET /store/notes')).body as { data: unknown[] }
      assert.equal(data.length, 1)
      assert.equal((await me(app(), acting.token)).body.user.email, one.email)
      for (const [route, body] of [
        ['POST /store/notes', { text: 'not mine' }],
        ['PATCH /auth/me', { name: 'Mallory' }],
        ['POST /auth/logout', undefined],
        ['GET /auth/users', undefined],
      ] as const)
        assert.equal(codeOf(await as(app(), acting, route, body)), 'FORBIDDEN', route)
      app().clock.advance(900_000)
      assert.equal((await me(app(), acting.token)).status, 401)
    })

    testOnce('changes records if it says so, and never what the account is opened with', async () => {
      const [by, one] = [await admin(), await user()]
      const acting = await impersonate(by, one, { readOnly: false })
      assert.equal((await as(app(), acting, 'POST /store/notes', { text: 'for the user' })).status, 201)
      for (const [route, body] of [
        ['POST /auth/totp', undefined],
        ['POST /auth/passkeys/options', {}],
        ['POST /auth/change-email', { email: 'mallory@example.com' }],
        ['DELETE /auth/sessions', undefined],
        ['DELETE /auth/me', {}],
        ['POST /auth/phone', { phone: '+4915112345678' }],
      ] as const) {
        const { status, text } = await as(app(), acting, route, body)
        assert.ok(status === 403 || status === 401, `${route}: ${status} ${text}`)
      }
    })

    testOnce('is in the audit log with its reason, and told to the user by email', async () => {
      const [by, one] = [await admin(), await user()]
      const acting = await impersonate(by, one, { readOnly: false })
      await nextAbout(started().mailbox, one.email, /administrator has opened/)
      const { action, actor, reason, after } = (
        await auditOf(app(), by, `user:${one._id}`, 'session.impersonated')
      ).at(-1)!
      assert.deepEqual([action, actor.id, reason], ['session.impersonated', by._id, 'Ticket 4711'])
      assert.deepEqual(after, { session: acting.sessionId, readOnly: false, expiresAt: acting.expiresAt })
      // The user sees the session, and can end it.
      assert.equal((await as(app(), one, `DELETE /auth/sessions/${acting.sessionId}`)).status, 200)
      assert.equal((await me(app(), acting.token)).status, 401)
    })

    testOnce('is refused for operators and disabled accounts, and without a reason', async () => {
      const by = await admin()
      const attempt = (_id: string, body: object = { reason: 'to look' }) =>
        as(app(), by, `POST /auth/users/${_id}/impersonate`, body)
      assert.equal(codeOf(await attempt((await admin())._id)), 'FORBIDDEN')
      assert.equal(codeOf(await attempt((await registerAs(app(), 'viewer'))._id)), 'FORBIDDEN')
      const one = await user()
      assert.equal(codeOf(await attempt(one._id, {})), 'VALIDATION_ERROR')
      assert.equal(codeOf(await attempt(one._id, { reason: '   ' })), 'VALIDATION_ERROR')
      await app().app.service('auth').users.disable({ id: one._id })
      assert.equal(codeOf(await attempt(one._id)), 'CONFLICT')
      const acting = await impersonate(by, await user(), { readOnly: false })
      assert.equal(
        codeOf(await as(app(), acting, `POST /auth/users/${one._id}/impersonate`, { reason: 'more' })),
        'FORBIDDEN',
      )
    })

    test('ends with the role of the administrator, and when a user becomes one', async () => {
      const [by, one, two] = [await admin(), await user(), await user()]
      const { users } = app().app.service('auth')
      await admin()
      const first = await impersonate(by, one)
      await users.promote({ id: one._id })
      assert.equal((await me(app(), first.token)).status, 401)
      const second = await impersonate(by, two)
      await users.demote({ id: by._id })
      assert.equal((await me(app(), second.token)).status, 401)
    })

    testOnce('is denied to users, and the denial is in the audit log', async () => {
      const [by, one] = [await admin(), await user()]
      for (const route of [`POST /auth/users/${by._id}/impersonate`, 'POST /store/backup'])
        assert.equal(codeOf(await as(app(), one, route)), 'FORBIDDEN')
      const { body } = await as(app(), by, `GET /auth/audit?actor=${one._id}&action=access.denied`)
      assert.deepEqual(
        (body as { entries: { route: string }[] }).entries.map(({ route }) => route),
        ['POST /store/backup', 'POST /auth/users/:id/impersonate'],
      )
    })

    test('ends when the administrator signs out everywhere else', async () => {
      const [by, one] = [await admin(), await user()]
      const { token } = await impersonate(by, one)
      assert.equal((await as(app(), by, 'DELETE /auth/sessions')).status, 200)
      assert.equal((await me(app(), token)).status, 401)
      assert.equal((await me(app(), by.token)).status, 200)
      assert.equal((await me(app(), one.token)).status, 200)
    })
  })
})
