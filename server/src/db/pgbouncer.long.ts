// What needs PostgreSQL behaves behind PgBouncer as it does without, in both of its modes that allow transactions.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, writeFile } from 'node:fs/promises'
import { once } from 'node:events'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'

import pg from 'pg'

import { temporaryFolder } from '../testing/engines.ts'
import { freePort } from '../testing/free-port.ts'
import { POSTGRES_VARIABLE, startPostgres } from '../testing/postgres.ts'
import { until } from '../testing/until.ts'
import { openDatabase } from './open.ts'
import { sql } from './sql.ts'

const PGBOUNCER = '/usr/sbin/pgbouncer' // of Debian's package

/** Tests of accounts, documents, files, backups, the feed, jobs, messages, payments and chains. */
const SAMPLES = [
  'db/transaction.test.ts',
  'db/groups.test.ts',
  'db/snapshot.test.ts',
  'kernel/jobs/jobs.test.ts',
  'kernel/requests/idempotency.test.ts',
  'wires/auth/sign-in/register.test.ts',
  'wires/store/documents/routes/documents.test.ts',
  'wires/store/documents/storage/search/search.test.ts',
  'wires/store/files/uploads/upload.test.ts',
  'wires/store/backups/restore.test.ts',
  'wires/store/changes/feed.test.ts',
  'wires/messaging/routes/send.test.ts',
  'wires/pay/operations/refund.test.ts',
  'wires/onchain/transactions/transactions.test.ts',
]

/** @returns the address of a PgBouncer before a PostgreSQL of its own */
async function startPgBouncer(t: TestContext, mode: 'session' | 'transaction'): Promise<string> {
  const server = await startPostgres()
  t.after(() => server.stop())
  const folder = await temporaryFolder(t)
  await chmod(folder, 0o755)
  const [url, port] = [new URL(server.url), await freePort()]
  await writeFile(join(folder, 'users'), `"${url.username}" "${url.password}"\n`)
  await writeFile(
    join(folder, 'ini'),
    `[databases]
    * = host=${url.hostname} port=${url.port}
    [pgbouncer]
    listen_addr = 127.0.0.1
    listen_port = ${port}
    unix_socket_dir =
    auth_type = md5
    auth_file = ${join(folder, 'users')}
    pool_mode = ${mode}
    default_pool_size = 40
    max_client_conn = 500
    server_idle_timeout = 2
    `.replaceAll(/^ +/gm, ''),
  )
  const account = process.getuid?.() === 0 ? ['-u', 'nobody'] : []
  const pooler = spawn(PGBOUNCER, ['-q', ...account, join(folder, 'ini')], { stdio: 'inherit' })
  t.after(async () => {
    const exited = once(pooler, 'exit')
    pooler.kill('SIGINT')
    await exited
  })
  url.port = String(port)
  await until(() =>
    openDatabase(url.href).then(
      (db) => db.close().then(() => true),
      () => false,
    ),
  )
  return url.href
}

for (const mode of ['session', 'transaction'] as const)
  test(
    `behind PgBouncer in ${mode} mode`,
    { skip: !existsSync(PGBOUNCER) && 'PgBouncer is not installed' },
    async (t) => {
      const url = await startPgBouncer(t, mode)
      await t.test('many at once leave nothing on a connection', async () => {
        const dbs = await Promise.all([openDatabase(url), openDatabase(url)])
        for (let round = 0; round < 5; round++) {
          const works = dbs.flatMap((db) =>
            Array.from({ length: 20 }, (_, at) => [
              db.get(sql`select ${at} + 1 as next`),
              db.scan(sql`select ${at} + 1 as next`),
              db.transaction((tx) => tx.write(sql`select ${at} + 1 as next`)),
            ]),
          )
          await Promise.all(works.flat())
        }
        const other = new pg.Client({ connectionString: url })
        await other.connect()
        const { rows } = await other.query(`select name from pg_settings where source = 'session'
          and name in ('statement_timeout', 'jit', 'idle_in_transaction_session_timeout')`)
        await other.end()
        assert.deepEqual(rows, [])
        const limit = sql`select setting from pg_settings where name = 'statement_timeout'`
        assert.deepEqual(await dbs[0].get(limit), { setting: '30000' })
        await Promise.all(dbs.map((db) => db.close()))
      })

      for (const sample of SAMPLES)
        await t.test(sample, async () => {
          const file = new URL(`../${sample}`, import.meta.url).pathname
          const { NODE_TEST_CONTEXT: _, ...environment } = process.env
          const run = spawn(
            process.execPath,
            ['--test', '--conditions=sixwire-source', '--test-name-pattern=postgres', file],
            { env: { ...environment, [POSTGRES_VARIABLE]: url }, stdio: ['ignore', 'pipe', 'inherit'] },
          )
          const output: Buffer[] = []
          run.stdout.on('data', (piece: Buffer) => output.push(piece))
          const [code] = await once(run, 'close')
          assert.equal(code, 0, Buffer.concat(output).toString())
        })
    },
  )
