import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { newId } from '../../../base/ids.ts'
import { sql } from '../../../db/sql.ts'
import type { TestApp } from '../../../testing/app.ts'
import { login, PASSWORD, refresh, send, statuses } from '../../../testing/auth.ts'
import { eachEngine, testOnOne } from '../../../testing/engines.ts'
import { appWithMailbox } from '../../../testing/mailbox.ts'
import { addAuthenticator, challenged, finish, registerWithFactor } from '../../../testing/second-factor.ts'

/** A passkey of the account that nothing can use: what counts here is that there is one. */
async function addPasskey({ app: { db }, clock }: TestApp, userId: string): Promise<string> {
  const id = newId(clock.now())
  await db.write(sql`
    insert into auth_passkeys (id, credential_id, user_id, public_key, counter, transports, name, aaguid, is_synced,
      is_user_verified, created_at)
    values (${id}, ${id}, ${userId}, '', 0, '[]', 'Key', '', 0, 1, ${clock.now()})`)
  return id
}

describe('the factors of one’s own account', () => {
  eachEngine((engine) => {
    const testOnce = testOnOne(engine)
    // The first account is the only one of an administrator.
    const started = appWithMailbox(engine, { config: { auth: { secondFactor: 'admins' } } })
    const app = () => started().app
    const factorsOf = async (token: string) => (await app().request('GET', '/auth/factors', { token })).body
    const removeApp = (token: string) => send(app(), 'DELETE /auth/totp', { token })
    let admin: Awaited<ReturnType<TestApp['register']>>

    before(async () => {
      admin = await app().register()
    })

    testOnce('are told to the owner when they are added and removed', async () => {
      const { email, token } = await registerWithFactor(app())
      const { mailbox } = started()
      const texts = [await mailbox.next(email), await mailbox.next(email)].map(({ parsed }) => parsed.text!)
      // The other mail is the one to verify the address.
      assert.ok(
        texts.some((text) => /was added[^]*authenticator app/.test(text)),
        texts.join('\n'),
      )
      assert.equal((await removeApp(token)).status, 200)
      assert.match((await mailbox.next(email)).parsed.text!, /removed[^]*authenticator app/)
    })

    testOnce('are proven in the session that adds them: it goes on, another one is challenged', async () => {
      const { email, token, refreshToken } = await app().register()
      const other = (await login(app(), email)).body
      await addAuthenticator(app(), token)
      assert.equal((await refresh(app(), refreshToken)).status, 200)
      assert.equal((await refresh(app(), other.refreshToken)).code, 'SECOND_FACTOR_REQUIRED')
      assert.equal((await removeApp(other.token)).code, 'RECENT_SIGN_IN_REQUIRED')
      assert.equal((await removeApp(token)).status, 200)
    })

    testOnce('bring recovery codes with the first one only', async () => {
      const { token, _id } = await app().register()
      await addPasskey(app(), _id)
      await app().app.db.write(sql`update auth_users set second_factor_at = 1 where id = ${_id}`)
      await app().app.db.write(
        sql`update auth_sessions set factor_proven_at = created_at where user_id = ${_id}`,
      )
      assert.deepEqual((await addAuthenticator(app(), token)).recoveryCodes, [])
      assert.deepEqual(await factorsOf(token), { passkeys: 1, totp: true, recoveryCodes: 0, required: false })
    })

    test('take recovery codes and trusted devices along when the last one goes', async () => {
      const { _id, email, token, authenticator } = await registerWithFactor(app())
      const challenge = await challenged(app(), email)
      const signedIn = await finish(app(), { challenge, code: authenticator.code(), trustDevice: true })
      assert.equal(signedIn.status, 200, signedIn.text)
      const passkey = await addPasskey(app(), _id)
      assert.equal((await removeApp(token)).status, 200)
      assert.deepEqual(await factorsOf(token), {
        passkeys: 1,
        totp: false,
        recoveryCodes: 10,
        required: false,
      })
      const removed = await send(app(), `DELETE /auth/passkeys/${passkey}`, { token })
      assert.equal(removed.status, 200, removed.text)
      assert.deepEqual(await factorsOf(token), {
        passkeys: 0,
        totp: false,
        recoveryCodes: 0,
        required: false,
      })
      const { devices } = (await app().request('GET', '/auth/devices', { token })).body
      assert.deepEqual(devices, [])
      assert.equal((await login(app(), email, PASSWORD)).status, 200, 'no challenge any more')
    })

    test('keep the last one where the policy requires one, also of two removals at the same moment', async () => {
      const { _id, token } = admin
      await addAuthenticator(app(), token)
      const refused = await removeApp(token)
      assert.deepEqual([refused.status, refused.code], [409, 'CONFLICT'])
      const passkey = await addPasskey(app(), _id)
      const answered = await Promise.all([
        removeApp(token),
        send(app(), `DELETE /auth/passkeys/${passkey}`, { token }),
      ])
      assert.deepEqual(statuses(answered), { 200: 1, 409: 1 })
      const { passkeys, totp } = await factorsOf(token)
      assert.equal(passkeys + Number(totp), 1)
    })
  })
})
