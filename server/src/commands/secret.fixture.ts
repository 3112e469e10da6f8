// A database with something of all that is encrypted under the secret, and the check that nothing of it was lost.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'

import { recoverAddress } from 'viem'

import type { Hex } from '../base/hex.ts'
import { deriveKey } from '../base/crypto.ts'
import { allRows } from '../base/row-filter.ts'
import { sql } from '../db/sql.ts'
import { insertVersionSql } from '../kernel/settings/stored-settings.ts'
import type { TestApp } from '../testing/app.ts'
import { login, me, PASSWORD } from '../testing/auth.ts'
import { registerWithFactor } from '../testing/second-factor.ts'

const HASH: Hex = `0x${'5a'.repeat(32)}`
const NAME = 'Pottery'
export const CONTENT = JSON.stringify({ channel: 'sms', to: '+4915112345678', body: 'hello' })

/** A database with something of all that is encrypted. */
export async function fill(server: TestApp) {
  const person = await server.register()
  const { token } = person
  const send = (path: string, body: unknown, key: string) =>
    server.request('POST', path, { token, body, headers: { 'idempotency-key': key } })
  const wallet = (await send('/onchain/wallets', { name: 'one' }, 'w1')).body
  const imported = (
    await send('/onchain/wallets/import', { privateKey: `0x${randomBytes(32).toString('hex')}` }, 'w2')
  ).body
  const enrolled = await registerWithFactor(server)
  const offer = await server.request('POST', '/auth/totp', { token })
  const payload = deriveKey(server.app.settings.secret, 'messaging-outbox').seal(CONTENT)
  await server.app.db.write(sql`
    insert into messaging_messages (id, channel, recipient, status, attempts, lease_until, payload, created_at, updated_at)
    values ('unsettled', 'sms', '+4915112345678', 'failed', 0, 0, ${payload}, 1, 1)`)
  const version = { version: 1, changed: ['name'], createdAt: 1, createdBy: 'a test' }
  await server.app.db.write(insertVersionSql(version, { name: NAME }, server.app.settings.secret))
  return { person, enrolled, totpOffer: offer.body.secret as string, wallet, imported }
}

export type Filled = Awaited<ReturnType<typeof fill>>

/** That nothing was lost. */
export async function checkFilled(
  server: TestApp,
  { person, enrolled, totpOffer, wallet, imported }: Filled,
) {
  assert.equal(
    (await server.request('GET', '/info')).body.name,
    NAME,
    'what is set in the console is in force',
  )
  assert.equal((await me(server, person.token)).status, 200, 'the session goes on')
  assert.equal((await login(server, person.email, PASSWORD)).status, 200)
  const secrets = await server.app.db.all<{ user_id: string; secret: string }>(sql`
    select user_id, secret from auth_totp union all select user_id, secret from auth_totp_offers`)
  const totp = deriveKey(server.app.settings.secret, 'totp')
  assert.deepEqual(
    new Map(secrets.map(({ user_id, secret }) => [user_id, totp.open(secret)])),
    new Map([
      [enrolled._id, enrolled.authenticator.secret],
      [person._id, totpOffer],
    ]),
  )
  for (const { _id, address } of [wallet, imported]) {
    const signer = await server.app.service('onchain').wallets.signerOf(_id, allRows)
    const outcome = await signer.sign(HASH, 1_000)
    assert.ok(outcome.kind === 'accepted', JSON.stringify(outcome))
    assert.equal(await recoverAddress({ hash: HASH, signature: outcome.signature }), address)
  }
  const again = await server.request('POST', '/onchain/wallets', {
    token: person.token,
    body: { name: 'one' },
    headers: { 'idempotency-key': 'w1' },
  })
  assert.deepEqual([again.status, again.body], [201, wallet], 'a repeated call is answered as the first time')
  const row = await server.app.db.get<{ payload: string }>(
    sql`select payload from messaging_messages where id = 'unsettled'`,
  )
  assert.equal(deriveKey(server.app.settings.secret, 'messaging-outbox').open(row!.payload), CONTENT)
}
