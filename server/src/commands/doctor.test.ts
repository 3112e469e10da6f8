import assert from 'node:assert/strict'
import { readdir, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'

import { createApp } from '../app.ts'
import { sql } from '../db/sql.ts'
import { runHere } from '../testing/command.ts'
import { eachEngine, temporaryFolder, type Engine } from '../testing/engines.ts'
import { freePort } from '../testing/free-port.ts'
import { startTestNode } from '../testing/node.ts'
import { LIBRARY } from '../testing/program.ts'

const DAY_MS = 86_400_000
const SECRET = 'a secret of the tests that is long enough'

type Result = {
  name: string
  status: string
  findings: { severity: string; problem: string; remedy: string }[]
}

/** What the doctor says of a folder. */
async function examine(folder: string, environment: Record<string, string>, words: readonly string[] = []) {
  const { code, output, errors } = await runHere(['doctor', '--json', ...words], { folder, environment })
  assert.equal(errors, '')
  const { ok, checks } = JSON.parse(output) as { ok: boolean; checks: Result[] }
  assert.equal(code, ok ? 0 : 1)
  const findings = checks.flatMap(({ name, findings }) => findings.map((one) => ({ name, ...one })))
  return { ok, checks, findings, of: (name: string) => findings.filter((one) => one.name === name) }
}

/** An installation that was started once: its database, and a folder for its files. */
async function installed(t: TestContext, engine: Engine, environment: Record<string, string> = {}) {
  const folder = await temporaryFolder(t)
  const variables = {
    DATABASE_URL: await engine.migratedUrl(),
    DATA_DIR: folder,
    SIXWIRE_SECRET: SECRET,
    LOG_LEVEL: 'silent',
    PORT: String(await freePort()),
    ...environment,
  }
  const app = await createApp({ folder, environment: variables })
  t.after(() => app.close())
  return { app, folder, variables }
}

describe('sixwire doctor', () => {
  eachEngine((engine) => {
    test('finds that the data was moved, and documents of accounts that are not here', async (t) => {
      const { app, folder, variables } = await installed(t, engine, { SIXWIRE_SANDBOX: 'off' })
      const account = await app
        .service('auth')
        .users.create({ email: 'ada@example.com', password: 'a long passphrase' })
      const documents = app.service('store').documents
      await documents.create('books', { title: 'Momo' }, { owner: account.id })
      await documents.create('books', { title: 'Of nobody' })
      for (const title of ['Tea', 'Milk'])
        await documents.create('books', { title }, { owner: 'nobody-here' })
      assert.deepEqual(
        (await examine(folder, variables)).of('owners').map(({ severity, problem }) => [severity, problem]),
        [['warning', '2 documents of 1 account that does not exist here']],
      )
      const moved = await runHere(['move', '--to', await engine.freshUrl()], {
        folder,
        environment: variables,
      })
      assert.equal(moved.code, 0, moved.errors)
      const { ok, of } = await examine(folder, variables)
      assert.equal(ok, false)
      assert.match(of('move')[0]!.problem, /^the data was moved to \S+ at 20/)
      assert.match(of('move')[0]!.remedy, /^set DATABASE_URL to it; .* sixwire move --reopen/)
    })

    test('finds nothing in a healthy installation, and changes nothing', async (t) => {
      const { app, folder, variables } = await installed(t, engine, { SIXWIRE_SANDBOX: 'off' })
      await app.listen()
      const before = await readdir(folder)
      const { ok, checks, findings } = await examine(folder, variables)
      assert.deepEqual(findings, [])
      assert.ok(ok)
      assert.deepEqual(
        checks.map(({ name }) => name),
        [
          ...(engine.name === 'sqlite' ? ['database file'] : []),
          'database',
          'move',
          'server',
          'owners',
          'configuration',
          'public address',
          'clock',
          'disk',
          'write-ahead log',
          'failed jobs',
          'secret rotation',
          'core: webhooks',
          'core: settings of the console',
          'messaging: email',
          'auth: unverified users',
          'auth: second factors',
          'auth: signing key',
          'pay: test providers',
          'pay: events',
          'store: backups',
          'store: files',
        ],
      )
      assert.deepEqual(await readdir(folder), before)
      assert.deepEqual(await app.db.all(sql`select kind from sixwire_jobs where state = 'failed'`), [])
    })

    test('says of everything that is broken what it is and what to do', async (t) => {
      const port = await freePort()
      const { app, folder, variables } = await installed(t, engine, {
        NODE_ENV: 'production',
        HOST: '127.0.0.1',
        SIXWIRE_POLICY: 'open',
        STRIPE_SECRET_KEY: 'sk_test_51',
        STRIPE_WEBHOOK_SECRET: 'whsec_1',
        PAYPAL_CLIENT_ID: 'id',
        PAYPAL_CLIENT_SECRET: 'secret',
        PAYPAL_API_BASE: 'https://api-m.sandbox.paypal.com',
        ETHEREUM_RPC_URL: `http://127.0.0.1:${port}`,
      })
      await app.migrate()
      await breakData(app.db)
      // A folder whose file system has no room.
      const { ok, findings, of } = await examine(folder, { ...variables, DATA_DIR: '/proc' })
      assert.equal(ok, false)
      for (const [name, severity, problem, remedy] of [
        ['server', 'warning', /none answers at http:\/\/127\.0\.0\.1:\d+$/, /hangs, was killed/],
        ['configuration', 'warning', /^SIXWIRE_POLICY: it is open in production/, /^$/],
        ['configuration', 'warning', /^PAYPAL_WEBHOOK_ID: it is not set/, /^$/],
        ['public address', 'warning', /^2 servers run .*PUBLIC_URL is not set/, /set PUBLIC_URL/],
        ['disk', 'fault', /^the disk of \/proc has 0 MB free$/, /make room/],
        ['failed jobs', 'warning', /^2 background jobs failed .* \(shop\.a, shop\.b\)$/, /sixwire jobs list/],
        ['messaging: email', 'warning', /^no mail can be sent/, /SMTP_URL/],
        ['onchain: ethereum', 'fault', /^no node of ethereum answers: 127\.0\.0\.1:\d+$/, /see whether/],
        ['auth: signing key', 'warning', /replaced \d+ days ago$/, /auth\.signing-keys/],
        ['pay: test providers', 'warning', /^STRIPE_SECRET_KEY is a key of the test mode/, /live key/],
        ['pay: test providers', 'warning', /^PAYPAL_API_BASE is the sandbox/, /live credentials/],
        ['pay: events', 'warning', /made with cardpay, and no event/, /webhook/],
        ['store: backups', 'warning', /^there is no backup/, /store\.backups\.every/],
      ] as const)
        assert.ok(
          of(name).some(
            (one) => one.severity === severity && problem.test(one.problem) && remedy.test(one.remedy),
          ),
          `${name}: ${JSON.stringify(findings, null, 1)}`,
        )
      assert.deepEqual(of('pay: events').length, 1)
      const shown = await runHere(['doctor'], { folder, environment: variables })
      assert.match(shown.output, /^fault {4}onchain: ethereum: no node .*\n {9}see whether the node runs/m)
      assert.match(shown.output, /^ok {7}database$/m)
      for (const word of ['sk_test_51', 'whsec_1', SECRET]) assert.ok(!shown.output.includes(word))
    })

    test('says who is shut out, and what is late', async (t) => {
      const config = `export default { store: { backups: { every: '1h' } } }`
      const { app, folder, variables } = await installed(t, engine, {
        SIXWIRE_POLICY: 'guarded',
        SIXWIRE_SANDBOX: 'off',
        SMTP_URL: 'smtp://127.0.0.1:1',
      })
      await app.migrate()
      await writeFile(join(folder, 'sixwire.config.mjs'), config)
      assert.match(
        (await examine(folder, variables)).of('store: backups')[0]!.problem,
        /none is completed yet/,
      )
      await app.service('auth').users.create({
        email: 'ada@example.com',
        password: 'correct horse battery',
        isVerified: false,
      })
      await app.db.write(
        sql`insert into store_backups (id, kind, status, object, lease_until, created_at, completed_at)
            values ('old', 'scheduled', 'completed', 'old', 0, ${Date.now() - DAY_MS}, ${Date.now() - DAY_MS})`,
      )
      await writeFile(join(folder, 'secret.next'), SECRET)
      if (engine.name === 'postgres') await setClockBack(app.db)
      else await growLog(app.db, variables.DATABASE_URL)
      const { of } = await examine(folder, variables)
      assert.match(of('auth: unverified users')[0]!.problem, /^1 account can use only \/auth/)
      assert.equal(of('store: backups')[0]!.severity, 'fault')
      assert.match(of('secret rotation')[0]!.problem, /cut off/)
      const [late] = of(engine.name === 'postgres' ? 'clock' : 'write-ahead log')
      assert.match(late!.problem, engine.name === 'postgres' ? /60 seconds apart$/ : /has 300 MB/)
    })

    test('looks at how far a chain is followed, and at what a wire of the application offers', async (t) => {
      const node = await startTestNode(t)
      await node.mine(300)
      const { app, folder, variables } = await installed(t, engine, {
        SIXWIRE_SANDBOX: 'off',
        ETHEREUM_RPC_URL: node.url,
        ETHEREUM_ID: String(node.chainId),
      })
      await app.migrate()
      await writeFile(join(folder, 'sixwire.config.mjs'), OWN_WIRE)
      const first = await examine(folder, variables)
      assert.deepEqual(first.of('onchain: ethereum'), [], 'nothing is awaited on it')
      assert.deepEqual(first.of('shop: till'), [
        { name: 'shop: till', severity: 'fault', problem: 'the till is open', remedy: 'close it' },
      ])
      const [unknown] = first.of('shop: scales')
      assert.deepEqual(
        [unknown!.severity, unknown!.problem],
        ['warning', 'nothing can be said of it: the scales are gone'],
      )
      await app.db.batch([
        sql`insert into onchain_cursors (chain, consumer, number, hash, genesis_hash)
            values ('ethereum', 'transactions', 1, '0x', '0x')`,
        sql`insert into onchain_transactions (id, owner, wallet_id, chain, kind, sender, recipient, value, data, nonce,
              gas, cost, hash, status, is_final, broadcasts, created_at, updated_at)
            values ('one', 'u', '', 'ethereum', 'transfer', '0x', '0x', '0', '0x', 0, 0, '0', '0x', 'pending', 0, 0, 0, 0)`,
      ])
      const { of } = await examine(folder, variables)
      assert.match(of('onchain: ethereum')[0]!.problem, /^transactions of ethereum are \d{3} blocks behind/)
    })

    test('says what is missing where nothing was ever started', async (t) => {
      const folder = await temporaryFolder(t)
      const environment: Record<string, string> =
        engine.name === 'postgres' ? { DATABASE_URL: await engine.freshUrl() } : {}
      const first = await examine(folder, environment)
      assert.equal(first.findings.length, 1)
      assert.match(
        first.findings[0]!.problem,
        engine.name === 'postgres' ? /^there is no secret/ : /^there is no database/,
      )
      assert.deepEqual(await readdir(folder), [])
      if (engine.name === 'sqlite') return
      const second = await examine(folder, { ...environment, SIXWIRE_SECRET: SECRET })
      assert.match(second.findings[0]!.problem, /^the database has no tables/)
    })
  })
})

const OWN_WIRE = `
import { defineWire } from ${JSON.stringify(LIBRARY)}
const shop = defineWire({
  name: 'shop',
  setup: () => ({
    routes: [],
    service: undefined,
    diagnoses: [
      {
        name: 'till',
        about: 'whether the till is closed',
        find: async () => [{ severity: 'fault', problem: 'the till is open', remedy: 'close it' }],
      },
      { name: 'scales', about: 'whether they are there', find: async () => { throw new Error('the scales are gone') } },
    ],
  }),
})
export default { wires: [shop()] }`

type Database = Awaited<ReturnType<typeof createApp>>['db']

async function breakData(db: Database): Promise<void> {
  const now = Date.now()
  await db.batch([
    ...['one', 'two'].map((id) => sql`insert into sixwire_processes (id, beat) values (${id}, 0)`),
    ...[
      ['a', now - 1000],
      ['b', now - DAY_MS / 2],
      ['old', now - 2 * DAY_MS],
    ].map(
      ([id, at]) => sql`
        insert into sixwire_jobs (id, kind, payload, state, run_at, attempts, created_at)
        values (${id!}, ${`shop.${id}`}, '{}', 'failed', ${at!}, 10, 0)`,
    ),
    sql`insert into auth_signing_keys (number, kid, public_jwk, private_jwk, signs_from)
        values (1, 'k', '{}', '', ${now - 100 * DAY_MS})`,
    // Of both providers, but only this one was an hour ago.
    ...[
      ['cardpay', now - 3_600_000],
      ['walletpay', now - 5 * DAY_MS],
    ].map(
      ([provider, at]) => sql`
        insert into pay_transactions (id, owner, provider, status, amount, currency, exponent, captured, refunded,
          reserved, is_settled, version, created_at, updated_at)
        values (${provider!}, 'u', ${provider!}, 'completed', 100, 'eur', 2, 100, 0, 0, 1, 1, ${at!}, ${at!})`,
    ),
  ])
}

/** PostgreSQL's clock is the machine's: a function of the same name stands in front of it. */
async function setClockBack(db: Database): Promise<void> {
  const row = await db.get<{ name: string }>(sql`select current_database() as name`)
  await db.write(sql`create schema skewed`)
  await db.write(sql`
    create function skewed.clock_timestamp() returns timestamptz language sql
    as 'select pg_catalog.now() - interval ''1 minute'''`)
  await db.write(sql`alter database ${sql.literal(row!.name)} set search_path = skewed, pg_catalog, public`)
}

/** As a reader that never ends would let it grow. */
const growLog = (_db: Database, url: string): Promise<void> =>
  truncate(`${url.slice('sqlite:'.length)}-wal`, 300 * 1_048_576)
