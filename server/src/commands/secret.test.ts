import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, test, type TestContext } from 'node:test'

import { systemClock } from '../base/clock.ts'
import { deriveKey } from '../base/crypto.ts'
import { openDatabase } from '../db/open.ts'
import { sql } from '../db/sql.ts'
import { reseal } from '../wires/core/secret-rotation.ts'
import { startApp } from '../testing/app.ts'
import { refresh } from '../testing/auth.ts'
import { runHere } from '../testing/command.ts'
import { eachEngine, endOfSuite, temporaryFolder } from '../testing/engines.ts'
import { runProgram } from '../testing/program.ts'
import { checkFilled, CONTENT, fill, type Filled } from './secret.fixture.ts'

const newSecret = (): string => randomBytes(48).toString('base64url')

const run = (folder: string, environment: Record<string, string>, ...words: string[]) =>
  runHere(['secret', 'rotate', ...words], { folder, environment })

eachEngine((engine) => {
  describe('a secret in DATA_DIR', () => {
    const ending = endOfSuite()
    let folder: string
    let databaseUrl: string
    let filled: Filled
    const secretFile = () => readFile(join(folder, 'secret'), 'utf8')
    const start = (t: TestContext, extra: Record<string, string> = {}) =>
      startApp(t, engine, {
        databaseUrl,
        environment: { DATA_DIR: folder, SIXWIRE_SECRET: '', ...extra },
      })
    const rotate = (...words: string[]) =>
      run(folder, { DATABASE_URL: databaseUrl, DATA_DIR: folder }, ...words)

    before(async () => {
      folder = await temporaryFolder(ending)
      databaseUrl = await engine.migratedUrl()
    })

    test('is refused while a server runs, and for a minute after it', async (t) => {
      const server = await start(t)
      filled = await fill(server)
      await server.stop()
      const { code, errors } = await rotate()
      assert.equal(code, 1)
      assert.match(errors, /^sixwire: a server was running .* try again in (6|7)\d seconds, or add --stopped/)
    })

    test('a dry run counts and changes nothing', async (t) => {
      const before = await secretFile()
      const { code, output, errors } = await rotate('--dry-run')
      assert.equal(code, 0, errors)
      assert.match(output, /^onchain_data_keys +ciphertext +1 +0$/m)
      assert.match(output, /^auth_signing_keys +private_jwk +1 +0$/m)
      assert.match(output, /^sixwire_settings +options +1 +0$/m)
      assert.match(output, /^auth_totp +secret +1 +0$/m)
      assert.match(output, /^auth_totp_offers +secret +1 +0$/m)
      assert.match(output, /^messaging_messages +payload +1 +0$/m)
      assert.equal(await secretFile(), before)
      assert.ok(!(await readdir(folder)).includes('secret.next'))
      const server = await start(t)
      await checkFilled(server, filled)
    })

    test('everything is encrypted under a new secret, and the old one opens nothing', async (t) => {
      const before = await secretFile()
      // As it is a minute after the last server was stopped.
      const db = await openDatabase(databaseUrl)
      await db.write(sql`update sixwire_jobs set run_at = run_at - 71000`)
      await db.close()
      const { code, output, errors } = await rotate()
      assert.equal(code, 0, errors)
      assert.match(output, /The secret is rotated/)
      const after = await secretFile()
      assert.notEqual(after, before)
      for (const secret of [before, after]) assert.ok(!output.includes(secret))
      const files = (await readdir(folder)).filter((name) => name.startsWith('secret'))
      assert.equal(files.length, 2)
      for (const name of files) assert.equal((await stat(join(folder, name))).mode & 0o777, 0o600)
      assert.equal(
        await readFile(
          join(
            folder,
            files.find((name) => name !== 'secret')!,
          ),
          'utf8',
        ),
        before,
      )
      await assert.rejects(start(t, { SIXWIRE_SECRET: before }), /^StartError: SIXWIRE_SECRET: /)
      const server = await start(t)
      await checkFilled(server, filled)
      const refreshed = await refresh(server, filled.person.refreshToken)
      assert.equal(refreshed.status, 200)
      // A wallet of after the rotation has a key that nobody could have read before.
      const { token } = filled.person
      assert.equal((await server.request('POST', '/onchain/wallets', { token, body: {} })).status, 201)
      const keys = await server.app.db.all(
        sql`select number, retired_at is null as is_current from onchain_data_keys order by number`,
      )
      assert.deepEqual(
        keys.map((one) => [one['number'], one['is_current']]),
        [
          [1, 0],
          [2, 1],
        ],
      )
    })

    test('cut off before the database was changed: the old secret goes on, and the next run uses the new one', async (t) => {
      const before = await secretFile()
      const next = newSecret()
      await writeFile(join(folder, 'secret.next'), next)
      const server = await start(t)
      await checkFilled(server, filled)
      await server.stop()
      assert.equal(await secretFile(), before)
      assert.equal((await rotate('--stopped')).code, 0)
      assert.equal(await secretFile(), next)
      await checkFilled(await start(t), filled)
    })

    test('cut off after the database was changed: the start takes over the new secret', async (t) => {
      const before = await secretFile()
      assert.equal((await rotate('--stopped')).code, 0)
      const after = await secretFile()
      await rm(join(folder, 'secret'))
      await writeFile(join(folder, 'secret'), before)
      await writeFile(join(folder, 'secret.next'), after)
      await checkFilled(await start(t), filled)
      assert.equal(await secretFile(), after)
      assert.ok(!(await readdir(folder)).includes('secret.next'))
    })

    test('values under a lost secret are refused, or left as they are', async (t) => {
      const server = await start(t)
      const lost = deriveKey(newSecret(), 'messaging-outbox').seal(CONTENT)
      await server.app.db.write(sql`
        insert into messaging_messages (id, channel, recipient, status, attempts, lease_until, payload, created_at, updated_at)
        values ('lost', 'sms', '+4915112345678', 'failed', 0, 0, ${lost}, 1, 1)`)
      await server.stop()
      const refused = await rotate('--stopped')
      assert.equal(refused.code, 1)
      assert.match(
        refused.errors,
        /^sixwire: some values .*\(1 in messaging_messages\.payload\).*--keep-unreadable/,
      )
      await checkFilled(await start(t), filled)
      const rotated = await rotate('--stopped', '--keep-unreadable')
      assert.equal(rotated.code, 0, rotated.errors)
      await checkFilled(await start(t), filled)
    })
  })

  test('a secret in SIXWIRE_SECRET: SIXWIRE_NEW_SECRET takes its place', async (t) => {
    const databaseUrl = await engine.migratedUrl()
    const folder = await temporaryFolder(t)
    const [old, next] = [newSecret(), newSecret()]
    const start = (secret: string) =>
      startApp(t, engine, { databaseUrl, environment: { SIXWIRE_SECRET: secret } })
    const server = await start(old)
    const filled = await fill(server)
    await server.stop()
    const rotate = (environment: Record<string, string>, ...words: string[]) =>
      run(folder, { DATABASE_URL: databaseUrl, DATA_DIR: folder, ...environment }, '--stopped', ...words)
    for (const [environment, line] of [
      [{ SIXWIRE_SECRET: old }, /^sixwire: SIXWIRE_NEW_SECRET: set it to the new secret/],
      [
        { SIXWIRE_SECRET: old, SIXWIRE_NEW_SECRET: 'short' },
        /^sixwire: SIXWIRE_NEW_SECRET: it is shorter than/,
      ],
      [
        { SIXWIRE_SECRET: old, SIXWIRE_NEW_SECRET: old },
        /^sixwire: SIXWIRE_NEW_SECRET: it is the secret that/,
      ],
      [{ SIXWIRE_SECRET: '', SIXWIRE_NEW_SECRET: next }, /^sixwire: SIXWIRE_NEW_SECRET: remove it/],
      [
        { SIXWIRE_SECRET: newSecret(), SIXWIRE_NEW_SECRET: next },
        /^sixwire: SIXWIRE_SECRET: .* Nothing was changed\n$/,
      ],
      [
        { SIXWIRE_SECRET: old, SIXWIRE_NEW_SECRET: next, SIXWIRE_WIRES: 'core,auth,messaging,pay,store' },
        /^sixwire: SIXWIRE_WIRES: the database has tables of onchain, not loaded .* Nothing was changed\n$/,
      ],
    ] as const) {
      const { code, errors } = await rotate(environment)
      assert.equal(code, 1)
      assert.match(errors, line)
      assert.doesNotMatch(errors, /\n./)
    }
    const both = { SIXWIRE_SECRET: old, SIXWIRE_NEW_SECRET: next }
    const { code, output, errors } = await rotate(both)
    assert.equal(code, 0, errors)
    assert.match(output, /Set SIXWIRE_SECRET to it, remove SIXWIRE_NEW_SECRET, and start the servers\.\n$/)
    const again = await rotate(both)
    assert.deepEqual([again.code, again.errors], [0, ''])
    assert.match(again.output, /^The database is encrypted under the new secret already\. Set SIXWIRE_SECRET/)
    await assert.rejects(start(old), /^StartError: SIXWIRE_SECRET: /)
    const rotated = await start(next)
    await checkFilled(rotated, filled)
    await rotated.stop()
    // A server that runs nonetheless changes a value between the reading and the writing.
    const db = await openDatabase(databaseUrl)
    const newer = deriveKey(next, 'messaging-outbox').seal('newer')
    const batch = db.batch.bind(db)
    t.mock.method(db, 'batch', async (steps: Parameters<typeof batch>[0]) => {
      await db.write(sql`update messaging_messages set payload = ${newer} where id = 'unsettled'`)
      return batch(steps)
    })
    const options = { from: next, to: newSecret(), isDryRun: false, keepsUnreadable: false }
    await assert.rejects(
      reseal({ db, clock: systemClock }, rotated.app.sealed(), options),
      /^StartError: a value was changed meanwhile/,
    )
    const row = await db.get<{ payload: string }>(
      sql`select payload from messaging_messages where id = 'unsettled'`,
    )
    assert.equal(row?.payload, newer)
    await db.close()
    await start(next)
  })
})

test('sixwire secret rotate as a program', async (t) => {
  const folder = await temporaryFolder(t)
  const { code, output, errors } = await runProgram(t, ['secret', 'rotate'], { folder })
  assert.equal(code, 0, errors)
  assert.match(output, /The secret is rotated\. Start the servers\./)
})
