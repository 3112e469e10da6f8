import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { pathToFileURL } from 'node:url'
import { eachEngine, temporaryFolder, type Engine } from '../testing/engines.ts'
import { openFresh, startDatabaseScript } from './database.fixture.ts'
import type { Database, Migration, MigrationProgress } from './database.ts'
import { StartError } from '../base/start-error.ts'
import { readMigrations } from './migrations.ts'
import { openDatabase } from './open.ts'
import { sql, type Dialect } from './sql.ts'

const step = (name: string, text: string, wire = 'shop'): Migration => ({ wire, name, text })
const first = step(
  '001-things',
  'create table things (id text primary key); create index things_id on things (id)',
)
const second = step('002-size', 'alter table things add column size bigint not null default 7')
const third = step('003-more', `insert into things (id) values ('made by 003')`)

const applied = async (db: Database): Promise<string[]> =>
  (await db.all(sql`select wire, name from sixwire_migrations order by wire, name`)).map(
    (row) => `${row['wire']}/${row['name']}`,
  )

/** The one line that the operator reads. */
async function refusal(migrating: Promise<void>): Promise<string> {
  let line = ''
  await assert.rejects(migrating, (error: unknown) => {
    assert.ok(error instanceof StartError, String(error))
    line = error.message
    return true
  })
  assert.doesNotMatch(line, /\n/)
  return line
}

describe('the files of a wire', () => {
  async function folderWith(
    t: TestContext,
    files: Record<string, string>,
  ): Promise<(dialect: Dialect) => Promise<Migration[]>> {
    const folder = await temporaryFolder(t)
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
    return (dialect) => readMigrations('shop', pathToFileURL(`${folder}/`), dialect)
  }

  test('come in the order of their numbers, each engine with its own', async (t) => {
    const read = await folderWith(t, {
      '010-last.sql': 'j',
      '002-b.postgres.sql': 'b of postgres',
      '002-b.sqlite.sql': 'b of sqlite',
      '001-a.sql': 'a',
      '003-only.sqlite.sql': 'c',
      'README.md': 'of no interest',
    })
    assert.deepEqual(await read('sqlite'), [
      step('001-a', 'a'),
      step('002-b', 'b of sqlite'),
      step('003-only', 'c'),
      step('010-last', 'j'),
    ])
    assert.deepEqual(await read('postgres'), [
      step('001-a', 'a'),
      step('002-b', 'b of postgres'),
      step('010-last', 'j'),
    ])
  })

  test('are the same with the line ends of another system', async (t) => {
    const read = await folderWith(t, { '001-a.sql': 'a\r\nb\r\n' })
    assert.deepEqual(await read('sqlite'), [step('001-a', 'a\nb\n')])
  })

  for (const name of [
    '1-a.sql',
    '001_a.sql',
    '001-A.sql',
    '001-a.mysql.sql',
    'a.sql',
    '001-.sql',
    '001-a b.sql',
  ])
    test(`may not be called ${name}`, async (t) => {
      const read = await folderWith(t, { [name]: '' })
      assert.match(
        await refusal(read('sqlite').then(() => undefined)),
        /^shop: the migration .+ is not named like/,
      )
    })

  test('may not be there twice for one engine', async (t) => {
    const read = await folderWith(t, { '001-a.sql': '', '001-a.sqlite.sql': '' })
    assert.match(await refusal(read('sqlite').then(() => undefined)), /two migrations 001-a for sqlite/)
    assert.equal((await read('postgres')).length, 1)
  })
})

eachEngine((engine: Engine) => {
  async function fresh(t: TestContext): Promise<Database> {
    const db = await openFresh(engine)
    t.after(() => db.close())
    return db
  }

  test('are applied in order, recorded, and applied once', async (t) => {
    const db = await fresh(t)
    const before = Date.now()
    await db.migrate([first, second])
    await db.migrate([first, second])
    assert.deepEqual(await applied(db), ['shop/001-things', 'shop/002-size'])
    const [row] = await db.all<{ applied_at: number }>(sql`select applied_at from sixwire_migrations`)
    assert.ok(row!.applied_at >= before && row!.applied_at <= Date.now())
    await db.migrate([first, second, third])
    await db.migrate([first, second, third])
    assert.deepEqual(await db.all(sql`select id, size from things`), [{ id: 'made by 003', size: 7 }])
  })

  test('of several wires go in the order given, whatever their names', async (t) => {
    const db = await fresh(t)
    const uses = step('001-uses', `insert into things (id) values ('of another wire')`, 'a-later-wire')
    await db.migrate([first, uses])
    assert.deepEqual(await applied(db), ['a-later-wire/001-uses', 'shop/001-things'])
    await db.migrate([first]) // that wire is not loaded today
    await db.migrate([first, second, uses])
    assert.deepEqual(await db.all(sql`select id, size from things`), [{ id: 'of another wire', size: 7 }])
  })

  test('of a newer program are not run over by an older one', async (t) => {
    const db = await fresh(t)
    await db.migrate([first, second])
    const line = await refusal(db.migrate([first]))
    assert.match(line, /^the database is newer than this program: it has the migration shop\/002-size/)
    assert.deepEqual(await applied(db), ['shop/001-things', 'shop/002-size'])
  })

  test('that were changed after they were applied are refused by name, and nothing else is applied', async (t) => {
    const db = await fresh(t)
    await db.migrate([first])
    const line = await refusal(db.migrate([{ ...first, text: `${first.text} ` }, second]))
    assert.match(line, /^the migration shop\/001-things is not the one that was applied/)
    assert.deepEqual(await applied(db), ['shop/001-things'])
    await db.migrate([first, second])
  })

  test('that fail are named, and leave nothing of the whole run', async (t) => {
    const db = await fresh(t)
    await db.migrate([first])
    const failing = step(
      '003-more',
      `insert into things (id) values ('half'); insert into nowhere values (1)`,
    )
    const line = await refusal(db.migrate([first, second, failing]))
    assert.match(line, /^the migration shop\/003-more failed, .*nowhere/)
    assert.deepEqual(await applied(db), ['shop/001-things'])
    assert.deepEqual(await db.all(sql`select * from things`), [])
    await db.migrate([first, second, third])
    assert.deepEqual(await db.all(sql`select * from things`), [{ id: 'made by 003', size: 7 }])
  })

  test('that fail at the first start leave an empty database', async (t) => {
    const db = await fresh(t)
    assert.match(await refusal(db.migrate([first, step('002-bad', 'selec')])), /shop\/002-bad failed/)
    await assert.rejects(db.all(sql`select * from things`))
    await assert.rejects(db.all(sql`select * from sixwire_migrations`))
    await db.migrate([first])
  })

  test('of several programs that start at the same moment are applied once', async (t) => {
    const url = await engine.freshUrl()
    const migrations = [
      first,
      second,
      third,
      step('004-count', 'create table counts (n bigint); insert into counts values (1)'),
    ]
    const programs = await Promise.all(
      Array.from({ length: 4 }, () =>
        startDatabaseScript(
          t,
          `say('ready')
           for await (const _ of process.stdin);
           const databases = await Promise.all([1, 2].map(() => openDatabase(${JSON.stringify(url)})))
           await Promise.all(databases.map((db) => db.migrate(${JSON.stringify(migrations)})))
           say(JSON.stringify(await databases[0].all(sql\`select id, size from things\`)))
           for (const db of databases) await db.close()`,
        ),
      ),
    )
    for (const program of programs) await program.until(/^ready$/m)
    for (const program of programs) program.endInput()
    for (const program of programs) {
      assert.equal(await program.ended, 0, program.errors())
      assert.deepEqual(program.lines(), ['ready', '[{"id":"made by 003","size":7}]'])
    }
    const db = await openDatabase(url)
    t.after(() => db.close())
    assert.equal((await applied(db)).length, 4)
    assert.deepEqual(await db.all(sql`select n from counts`), [{ n: 1 }])
  })

  test('tell how far they are, unless the database is new', async (t) => {
    const db = await fresh(t)
    const reports: MigrationProgress[] = []
    await db.migrate([first, third], (progress) => reports.push(progress))
    assert.equal(reports.length, 0)
    const copy = {
      sqlite: 'create table copies as select id from things where sixwire_progress(4)',
      postgres: 'create table copies as select id from things',
    }
    await db.write(sql`insert into things (id) values ('a'), ('b'), ('c')`)
    await db.migrate([first, third, second, step('004-copy', copy[engine.name])], (progress) =>
      reports.push(progress),
    )
    assert.deepEqual(reports, [
      { migration: 'shop/002-size' },
      { migration: 'shop/004-copy' },
      ...(engine.name === 'sqlite'
        ? [25, 50, 75, 100].map((percent) => ({ migration: 'shop/004-copy', percent }))
        : []),
    ])
  })

  test('that are killed leave the database as it was, for the next start at once', async (t) => {
    const url = await engine.freshUrl()
    const db = await openDatabase(url)
    t.after(() => db.close())
    await db.migrate([first, third])
    const endless = {
      sqlite: 'with recursive n (i) as (select 1 union all select i + 1 from n) select count(*) from n',
      postgres: 'select pg_sleep(3600)',
    }
    const program = await startDatabaseScript(
      t,
      `const db = await openDatabase(${JSON.stringify(url)})
       const migrations = ${JSON.stringify([first, third, second, step('004-endless', endless[engine.name])])}
       await db.migrate(migrations, ({ migration }) => say(migration))`,
    )
    await program.until(/004-endless/)
    await program.kill()
    assert.deepEqual(await db.all(sql`select * from things`), [{ id: 'made by 003' }])
    await db.migrate([first, third, second])
    assert.deepEqual(await applied(db), ['shop/001-things', 'shop/002-size', 'shop/003-more'])
  })

  test('wait behind writes that go on, and writes wait behind them', async (t) => {
    const db = await fresh(t)
    await db.migrate([first])
    const add = (i: number) => db.write(sql`insert into things (id) values (${String(i)})`)
    const writes = Array.from({ length: 50 }, (_, i) => add(i))
    const migrating = db.migrate([first, second])
    for (let i = 50; i < 100; i++) writes.push(add(i))
    await Promise.all([...writes, migrating])
    assert.deepEqual(await db.get(sql`select count(*) as n, sum(size) as sum from things`), {
      n: 100,
      sum: 700,
    })
  })

  test('of the frame make its tables', async (t) => {
    const db = await fresh(t)
    const folder = new URL('../kernel/migrations/', import.meta.url)
    await db.migrate(await readMigrations('sixwire', folder, engine.name))
    for (const table of ['sixwire_idempotency', 'sixwire_rate_limits', 'sixwire_jobs'])
      assert.deepEqual(await db.all(sql`select * from ${sql.literal(table)}`), [])
  })

  if (engine.name === 'postgres') {
    test('may take longer than a query', async (t) => {
      const db = await openDatabase(`${await engine.freshUrl()}?statement_timeout=500`)
      t.after(() => db.close())
      await db.migrate([step('001-slow', 'create table slow (id text); select pg_sleep(0.7)')])
      assert.deepEqual(await applied(db), ['shop/001-slow'])
    })

    test('whose connection is lost are a start that cannot go on', async (t) => {
      const db = await fresh(t)
      const line = await refusal(
        db.migrate([first, step('002-lost', 'select pg_terminate_backend(pg_backend_pid())')]),
      )
      assert.match(line, /shop\/002-lost failed/)
      await assert.rejects(db.all(sql`select * from things`))
      await db.migrate([first])
    })
  }
})
