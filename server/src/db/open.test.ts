import assert from 'node:assert/strict'
import { chmod, mkdir, readdir, stat, symlink, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'node:test'
import pg from 'pg'
import { eachEngine, temporaryFolder } from '../testing/engines.ts'
import { StartError } from '../base/start-error.ts'
import { openDatabase } from './open.ts'
import { sql } from './sql.ts'

/** The one line that the operator reads. */
async function refusal(url: string): Promise<string> {
  try {
    await (await openDatabase(url)).close()
  } catch (error) {
    assert.ok(error instanceof StartError, String(error))
    assert.match(error.message, /^DATABASE_URL: [^\n]+$/)
    return error.message
  }
  throw new Error('it was opened')
}

for (const url of [
  '',
  'mysql://localhost/shop',
  'shop.db',
  'SQLITE',
  'sqlite:',
  'sqlite::memory:',
  'postgres:',
  'postgres://',
])
  test(`the address "${url}" is refused with what to write instead`, async () => {
    assert.match(await refusal(url), /write sqlite:path\/to\/file\.db or postgres:\/\//)
  })

test('an address that cannot be read is refused without its password', async () => {
  for (const url of [
    'postgres://shop:p#ss/w?rd@localhost/shop',
    'postgres://shop:secret@localhost:port/shop',
  ]) {
    const message = await refusal(url)
    assert.match(message, /percent-encoding/)
    assert.doesNotMatch(message, /p#ss|secret/)
  }
})

test('several hosts are refused with what to name instead', async () => {
  for (const hosts of ['a:1,b:2', 'shop:secret@a,b', 'shop:secret@a,b:5432'])
    assert.match(
      await refusal(`postgres://${hosts}/x?target_session_attrs=read-write`),
      /several hosts are not/,
    )
  assert.match(await refusal('postgres:///x?host=a,b'), /several hosts are not/)
  assert.match(await refusal('postgres://shop:se,ret@127.0.0.1:1/x'), /ECONNREFUSED/)
})

test('the folder of a SQLite file is made', async (t) => {
  const folder = await temporaryFolder(t)
  const db = await openDatabase(`sqlite:${join(folder, 'a', 'b', 'test.db')}`)
  await db.ping()
  await db.close()
  assert.deepEqual(await readdir(join(folder, 'a', 'b')), ['test.db'])
})

// Windows has no such modes.
test(
  'a SQLite file and its log are for their owner alone, in any folder and from any earlier mode',
  { skip: process.platform === 'win32' },
  async (t) => {
    const folder = await temporaryFolder(t)
    await chmod(folder, 0o755)
    const file = join(folder, 'test.db')
    const names = ['test.db', 'test.db-shm', 'test.db-wal']
    const modes = () =>
      Promise.all(names.map(async (name) => ((await stat(join(folder, name))).mode & 0o777).toString(8)))
    const first = await openDatabase(`sqlite:${file}`)
    await first.write(sql`create table kept (round bigint)`)
    assert.deepEqual((await readdir(folder)).toSorted(), names)
    assert.deepEqual(await modes(), ['600', '600', '600'])

    // As an earlier version left them that was killed: also by another name.
    for (const name of names) await chmod(join(folder, name), 0o644)
    await symlink(file, join(folder, 'link.db'))
    const second = await openDatabase(`sqlite:${join(folder, 'link.db')}`)
    await second.ping()
    assert.deepEqual(await modes(), ['600', '600', '600'])
    await second.close()
    await first.close()
  },
)

test('a file that is no SQLite database, or no file, is refused, and is left as it is', async (t) => {
  const folder = await temporaryFolder(t)
  const text = join(folder, 'text.db')
  await writeFile(text, 'This is not a database at all, whatever its name says. '.repeat(100))
  await assert.rejects(openDatabase(`sqlite:${text}`), { code: 'STORAGE_DAMAGED' })
  await mkdir(join(folder, 'folder.db'))
  assert.match(await refusal(`sqlite:${join(folder, 'folder.db')}`), /folder\.db can't be opened/)
  assert.match(await refusal(`sqlite:${join(text, 'below.db')}`), /below\.db can't be opened/)
  assert.deepEqual(await readdir(folder), ['folder.db', 'text.db'])
})

test('a PostgreSQL that does not answer is refused with its address and without the password', async () => {
  const server = createServer((socket) => socket.destroy())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const url = `postgres://shop:secret@127.0.0.1:${port}/shop`
  assert.match(await refusal(url), new RegExp(`no PostgreSQL answers at 127.0.0.1:${port}/shop: `))
  server.close()
  await once(server, 'close')
  const message = await refusal(url)
  assert.match(message, /ECONNREFUSED/)
  assert.doesNotMatch(message, /secret/)
})

eachEngine((engine) => {
  test('a database is opened again with what was in it', async () => {
    const url = await engine.freshUrl()
    for (let round = 1; round <= 2; round++) {
      const db = await openDatabase(url)
      assert.equal(db.dialect, engine.name)
      await db.write(sql`create table if not exists kept (round bigint)`)
      await db.write(sql`insert into kept values (${round})`)
      assert.equal((await db.all(sql`select round from kept`)).length, round)
      await db.close()
    }
  })

  if (engine.name === 'postgres')
    test('a server without TLS is taken where TLS is only preferred', async () => {
      const url = await engine.freshUrl()
      await (await openDatabase(`${url}?sslmode=prefer`)).close()
      assert.match(await refusal(`${url}?sslmode=require`), /does not support SSL/)
    })

  if (engine.name === 'postgres')
    test('a database of another encoding is refused', async (t) => {
      const url = new URL(await engine.freshUrl())
      const admin = new pg.Client({ connectionString: url.href })
      await admin.connect()
      const name = `${url.pathname.slice(1)}_latin1`
      await admin.query(
        `create database ${name} template template0 encoding latin1 locale 'C' locale_provider libc`,
      )
      t.after(async () => {
        await admin.query(`drop database ${name}`)
        await admin.end()
      })
      url.pathname = name
      assert.match(await refusal(url.href), /the database must be UTF8, and this one is LATIN1/)
    })

  if (engine.name === 'postgres')
    test('a database, user or password that is not there is refused, each with its reason', async () => {
      const right = await engine.freshUrl()
      const wrong = (change: (url: URL) => void): Promise<string> => {
        const url = new URL(right)
        change(url)
        return refusal(url.href)
      }
      assert.match(await wrong((url) => (url.pathname = '/nowhere')), /database "nowhere" does not exist/)
      assert.match(
        await wrong((url) => (url.username = 'nobody')),
        /password authentication failed for user "nobody"/,
      )
      assert.match(await wrong((url) => (url.password = 'wrong')), /password authentication failed/)
    })
})
