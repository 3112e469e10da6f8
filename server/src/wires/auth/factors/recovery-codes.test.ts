import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { sql } from '../../../db/sql.ts'
import { appForAll, inDigitsFrom, send, statuses } from '../../../testing/auth.ts'
import type { TestApp } from '../../../testing/app.ts'
import { eachEngine, testOnOne } from '../../../testing/engines.ts'
import { challenged, finish, registerWithFactor } from '../../../testing/second-factor.ts'

type Codes = { recoveryCodes: string[] }

describe('recovery codes', () => {
  eachEngine((engine) => {
    const testOnce = testOnOne(engine)
    const app = appForAll(engine)
    const signIn = async (email: string, recoveryCode: string) =>
      finish(app(), { challenge: await challenged(app(), email), recoveryCode })
    const codesLeft = async (token: string) =>
      (await app().request('GET', '/auth/factors', { token })).body.recoveryCodes as number

    testOnce('are ten groups of unambiguous characters, stored as salted hashes', async () => {
      const { _id, authenticator } = await registerWithFactor(app())
      const { recoveryCodes } = authenticator
      assert.equal(new Set(recoveryCodes).size, 10)
      for (const code of recoveryCodes)
        assert.match(code, /^([0-9a-hjkmnp-tv-z]{3}-){3}[0-9a-hjkmnp-tv-z]{4}$/)
      const rows = await rowsOf(app(), _id)
      assert.equal(new Set(rows.map(({ salt }) => salt)).size, 1)
      const stored = JSON.stringify(rows)
      for (const code of recoveryCodes)
        assert.ok(!stored.includes(code) && !stored.includes(code.replaceAll('-', '')))
    })

    test('are read as people write them, and each is taken once', async () => {
      const { email, token, authenticator } = await registerWithFactor(app())
      const [first = '', second = '', third = ''] = authenticator.recoveryCodes
      const upper = first.toUpperCase().replaceAll('-', ' ')
      const confused = second.replaceAll('0', 'O').replaceAll('1', 'l').replaceAll('-', '')
      assert.equal((await signIn(email, upper)).status, 200)
      assert.equal((await signIn(email, confused)).status, 200)
      assert.equal(await codesLeft(token), 8)
      for (const wrong of [first, '', `${third}x`, 'ü'.repeat(13)])
        assert.equal((await signIn(email, wrong)).code, 'INVALID_CODE', wrong)
      assert.equal((await signIn(email, inDigitsFrom('０', third))).status, 200)
    })

    test('are replaced all at once, used ones included', async () => {
      const { _id, email, token, authenticator } = await registerWithFactor(app())
      const [used = '', unused = ''] = authenticator.recoveryCodes
      assert.equal((await signIn(email, used)).status, 200)
      const replaced = await send(app(), 'POST /auth/recovery-codes', { token })
      assert.equal(replaced.status, 200, replaced.text)
      assert.equal(replaced.headers.get('cache-control'), 'no-store')
      const { recoveryCodes } = replaced.body as unknown as Codes
      assert.equal((await rowsOf(app(), _id)).length, 10)
      assert.equal((await signIn(email, unused)).code, 'INVALID_CODE')
      assert.equal((await signIn(email, recoveryCodes[0]!)).status, 200)
    })

    test('are one set after two replacements at the same moment', async () => {
      const { _id, email, token } = await registerWithFactor(app())
      const replace = () => send(app(), 'POST /auth/recovery-codes', { token })
      const answered = await Promise.all([replace(), replace()])
      assert.equal((await rowsOf(app(), _id)).length, 10)
      const signIns = []
      for (const { body } of answered)
        signIns.push(await signIn(email, (body as unknown as Codes).recoveryCodes[0]!))
      assert.deepEqual(statuses(signIns), { 200: 1, 401: 1 })
    })

    testOnce('need a factor that they stand in for', async () => {
      const { token } = await app().register()
      const refused = await send(app(), 'POST /auth/recovery-codes', { token })
      assert.deepEqual([refused.status, refused.code], [409, 'CONFLICT'])
    })
  })
})

const rowsOf = (app: TestApp, userId: string) =>
  app.app.db.all<{ salt: string; hash: string }>(
    sql`select salt, hash from auth_recovery_codes where user_id = ${userId}`,
  )
