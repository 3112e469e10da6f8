// The drill of docs/backups.md: what is saved by its commands can be put back by them.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cp, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { loadConfig } from '../app.ts'
import { openDatabase } from '../db/open.ts'
import { sql } from '../db/sql.ts'
import { startApp } from '../testing/app.ts'
import { eachEngine, temporaryFolder, type Engine } from '../testing/engines.ts'
import { applicationFolder, blocksOf, shell } from '../testing/examples.ts'
import { postgresUrl } from '../testing/postgres.ts'
import { contentPath, upload } from '../wires/store/files/content/file-content.fixture.ts'

const run = promisify(execFile)
const PROGRAM = fileURLToPath(new URL('../../bin/sixwire.js', import.meta.url))
const SECRET = 'a secret of this test that is long enough'

const major = (text: string): number => Number(/\d+/.exec(text)![0])

/** Whether there is a `pg_dump` that is not older than the server of the tests, which it must not be. */
async function isDumpInstalled(): Promise<boolean> {
  const { stdout } = await run('pg_dump', ['--version']).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { stdout: 'pg_dump 0' }
    throw error
  })
  const db = await openDatabase(await postgresUrl())
  try {
    const row = await db.get<{ version: string }>(sql`select current_setting('server_version') as version`)
    return major(stdout) >= major(row!.version)
  } finally {
    await db.close()
  }
}

eachEngine((engine) => {
  test('an installation is saved while it runs, and put back into an empty folder', async (t) => {
    const isSqlite = engine.name === 'sqlite'
    if (!isSqlite && !(await isDumpInstalled()))
      return t.skip('pg_dump is not installed in the version of the PostgreSQL server')
    const [make, http, restoreStore, check, files, dump, back, load] = await blocksOf('docs/backups.md', 'sh')
    const folder = await temporaryFolder(t)
    const first = await startIn(t, folder, engine)
    const { token, email, password } = await first.app.register()
    await first.app.app.service('auth').users.promote(email)
    const { body: book } = await first.app.request('POST', '/store/books', { token, body: { title: 'Momo' } })
    const file = await upload(first.app, token, { bytes: 'some bytes' })

    // The application's folder has Sixwire installed; here it is this checkout.
    const sixwire = (script: string) =>
      bash(script.replaceAll('npx sixwire', `"${process.execPath}" "${PROGRAM}"`), folder, first.environment)
    const made = await sixwire(make!)
    assert.match(made.stdout, /^The archive is whole: 1 document in 1 collection and 1 file/m)
    const [post, get] = http!.trim().split('\n')
    const { _id } = JSON.parse(await shell(post!, first.app, { TOKEN: token }))
    assert.equal(JSON.parse(await shell(get!, first.app, { TOKEN: token })).backups[0]._id, _id)

    const checked = JSON.parse(await shell(check!, first.app, { TOKEN: token, ID: _id }))
    assert.deepEqual(checked.collections, [{ name: 'books', archived: 1, stored: 1 }])

    await first.app.request('DELETE', `/store/books/${book._id}`, { token })
    const restored = await sixwire(restoreStore!)
    assert.match(restored.stdout, /^Nothing was changed\..*\n^All documents and files are those of shop/m)

    const save = isSqlite ? files! : files!.replace(/^node .*$/m, dump!)
    await bash(save, folder, first.environment)
    await first.app.request('DELETE', `/store/books/${book._id}`, { token })
    await first.app.request('DELETE', `/store/files/${file._id}`, { token })
    await first.app.stop()

    const other = await temporaryFolder(t)
    await cp(join(folder, 'saved'), join(other, 'saved'), { recursive: true })
    const databaseUrl = isSqlite ? undefined : await engine.freshUrl()
    const restore = isSqlite ? back! : `${back!.replace(/^cp saved\/sixwire\.db .*$/m, '')}\n${load!}`
    await bash(restore, other, databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl })
    const { app } = await startIn(t, other, engine, databaseUrl)
    const signedIn = await app.request('POST', '/auth/login', { body: { email, password } })
    assert.equal(signedIn.status, 200, signedIn.text)
    const answers = await Promise.all(
      [`/store/books/${book._id}`, contentPath(file)].map((path) =>
        app.request('GET', path, { token: signedIn.body.token }),
      ),
    )
    assert.deepEqual([answers[0]!.body, answers[1]!.text], [book, 'some bytes'])
  })
})

test('the configuration of docs/backups.md starts a server', async (t) => {
  const [block] = await blocksOf('docs/backups.md', 'ts')
  const folder = await applicationFolder(t, {
    'sixwire.config.ts': `import { defineConfig } from 'sixwire'\n${block}`,
  })
  const { store } = await loadConfig(folder)
  assert.deepEqual(store, { backups: { every: '12h', keep: 14 } })
})

async function startIn(t: TestContext, folder: string, engine: Engine, url?: string) {
  const dataDir = join(folder, 'data')
  await mkdir(dataDir, { recursive: true })
  const databaseUrl =
    url ?? (engine.name === 'sqlite' ? `sqlite:${join(dataDir, 'sixwire.db')}` : await engine.migratedUrl())
  const environment = {
    DATA_DIR: dataDir,
    SIXWIRE_SECRET: SECRET,
    DATABASE_URL: databaseUrl,
    NODE_ENV: 'production',
    HOST: '127.0.0.1',
  }
  return { app: await startApp(t, engine, { databaseUrl, environment }), environment }
}

const bash = (script: string, cwd: string, environment: Record<string, string>) =>
  run('bash', ['-euc', script], { cwd, env: { ...process.env, PORT: '0', ...environment } })
