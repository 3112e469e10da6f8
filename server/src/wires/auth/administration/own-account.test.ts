import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { sql } from '../../../db/sql.ts'
import { appForAll, login, me, PASSWORD, refresh, send, statuses, times } from '../../../testing/auth.ts'
import { eachEngine, testOnOne } from '../../../testing/engines.ts'
import { appWithMailbox, tokenOf } from '../../../testing/mailbox.ts'

describe('one’s own account', () => {
  eachEngine((engine) => {
    const testOnce = testOnOne(engine)
    const app = appForAll(engine)
    const change = (token: string, body: unknown) => send(app(), 'PATCH /auth/me', { token, body })

    testOnce('takes another name, and is answered as it is then', async () => {
      const { token } = await app().register()
      const answered = await change(token, { name: '  Ada  ' })
      assert.equal(answered.status, 200)
      assert.equal(answered.body.user.name, 'Ada')
      assert.deepEqual(answered.body.user, (await me(app(), token)).body.user)
      assert.equal((await change(token, {})).body.user.name, 'Ada')
      for (const name of [null, '   ']) {
        assert.equal((await change(token, { name: 'Ada' })).body.user.name, 'Ada')
        assert.equal('name' in (await change(token, { name })).body.user, false)
      }
    })

    test('keeps the metadata that a change does not name, and loses what it sets to null', async () => {
      const { token } = await app().register()
      await change(token, { metadata: { theme: 'dark', tour: { step: 1, done: false }, 'a.b': [1] } })
      const { user } = (await change(token, { metadata: { theme: null, tour: { step: 2 } } })).body
      assert.deepEqual(user.metadata, { tour: { step: 2 }, 'a.b': [1] })
    })

    test('loses no change of ten at the same moment', async () => {
      const { token } = await app().register()
      const answered = await Promise.all(times(10, (i) => change(token, { metadata: { [`f${i}`]: i } })))
      assert.deepEqual(statuses(answered), { 200: 10 })
      assert.equal(Object.keys((await me(app(), token)).body.user.metadata).length, 10)
    })

    testOnce('has at most 16 KiB of metadata in all', async () => {
      const { token } = await app().register()
      assert.equal((await change(token, { metadata: { a: 'x'.repeat(16_384 - 8) } })).status, 200)
      const refused = await change(token, { metadata: { b: 1 } })
      assert.deepEqual([refused.status, refused.code], [400, 'VALIDATION_ERROR'])
      assert.equal(refused.body.error.details!.issues[0]!.path, '/body/metadata')
      assert.equal((await change(token, { metadata: { a: null, b: 1 } })).status, 200)
    })

    testOnce('counts an escape in metadata as the character that it encodes', async () => {
      const { token } = await app().register()
      const escaped = (count: number) =>
        app().request('PATCH', '/auth/me', {
          token,
          raw: `{"metadata":{"a":"${'\\u042f'.repeat(count)}"}}`,
        })
      const answered = await escaped(8000)
      assert.equal(answered.status, 200, answered.text)
      assert.deepEqual(answered.body.user.metadata, { a: 'Я'.repeat(8000) })
      assert.equal((await escaped(8200)).status, 400)
    })

    testOnce('changes nothing but name and metadata', async () => {
      const { email, token } = await app().register()
      const before = (await me(app(), token)).body.user
      const sent = {
        email: 'x@example.com',
        role: 'admin',
        emailVerified: true,
        _id: 'x',
        password: 'xxxxxxxx',
      }
      assert.deepEqual((await change(token, sent)).body.user, before)
      assert.equal((await login(app(), email)).status, 200)
      for (const body of [{ name: 1 }, { name: {} }, { metadata: null }, { metadata: [] }, { metadata: 'x' }])
        assert.equal((await change(token, body)).status, 400, JSON.stringify(body))
      assert.equal((await change(token, { name: 'x'.repeat(201) })).status, 400)
      assert.equal((await send(app(), 'PATCH /auth/me', { body: {} })).status, 401)
    })
  })

  eachEngine((engine) => {
    const testOnce = testOnOne(engine)
    const started = appWithMailbox(engine)
    const app = () => started().app
    const remove = (token: string, body: unknown = { password: PASSWORD }) =>
      send(app(), 'DELETE /auth/me', { token, body })

    test('is removed with its password, and nothing opens it afterwards', async () => {
      const { _id, email, token, refreshToken } = await app().register()
      const verification = tokenOf(await started().mailbox.next(email), 'verify')
      await send(app(), 'POST /auth/magic-link', { body: { email } })
      const magic = tokenOf(await started().mailbox.next(email), 'magic-link')
      assert.equal((await remove(token)).status, 200)
      assert.equal((await me(app(), token)).status, 401)
      assert.equal((await refresh(app(), refreshToken)).status, 401)
      assert.equal((await login(app(), email)).code, 'INVALID_CREDENTIALS')
      for (const [route, given] of [
        ['POST /auth/verify-email', verification],
        ['POST /auth/verify-magic-link', magic],
      ] as const)
        assert.equal((await send(app(), route, { body: { token: given } })).code, 'INVALID_TOKEN')
      const { db } = app().app
      for (const table of ['auth_sessions', 'auth_mail_tokens'])
        assert.deepEqual(
          await db.all(sql`select * from ${sql.literal(table)} where user_id = ${_id}`),
          [],
          table,
        )
      const again = await app().register(email)
      assert.notEqual(again._id, _id)
    })

    test('is not removed with a wrong password, which counts in the lock', async () => {
      const { email, token } = await app().register()
      assert.deepEqual(
        statuses(await Promise.all(times(10, () => remove(token, { password: 'wrong horse battery' })))),
        { 401: 5, 423: 5 },
      )
      assert.equal((await remove(token)).code, 'ACCOUNT_LOCKED')
      assert.equal((await login(app(), email)).code, 'ACCOUNT_LOCKED')
      assert.equal((await me(app(), token)).status, 200)
    })

    testOnce('without a password is removed within 10 minutes of a sign-in', async () => {
      const email = 'without.a.password@example.com'
      const signIn = async () => {
        await send(app(), 'POST /auth/magic-link', { body: { email } })
        const link = tokenOf(await started().mailbox.next(email), 'magic-link')
        return (await send(app(), 'POST /auth/verify-magic-link', { body: { token: link } })).body.token
      }
      const old = await signIn()
      app().clock.advance(10 * 60_000)
      assert.equal((await remove(old, {})).code, 'RECENT_SIGN_IN_REQUIRED')
      assert.equal((await me(app(), old)).status, 200)
      const token = await signIn()
      assert.equal((await remove(token, {})).status, 200)
      assert.equal((await me(app(), token)).status, 401)
    })
  })
})
