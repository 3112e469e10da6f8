import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, describe, test } from 'node:test'
import { Client } from 'pg'
import { eachEngine, temporaryFolder, type Engine } from './engines.ts'

const sqliteFile = (url: string) => url.slice('sqlite:'.length)

/** Runs statements on a database of either engine; answers the rows of the last one. */
async function run(engine: Engine, url: string, ...statements: string[]): Promise<unknown[]> {
  let rows: unknown[] = []
  if (engine.name === 'sqlite') {
    const database = new DatabaseSync(sqliteFile(url))
    for (const statement of statements) rows = database.prepare(statement).all()
    database.close()
  } else {
    const client = new Client({ connectionString: url })
    await client.connect()
    try {
      for (const statement of statements) ({ rows } = await client.query(statement))
    } finally {
      await client.end()
    }
  }
  return rows.map((row) => Object.assign({}, row))
}

describe('the databases of each engine', () => {
  const given: { engine: Engine; url: string }[] = []

  eachEngine((engine) => {
    test('keep what is written', async () => {
      const url = await engine.freshUrl()
      given.push({ engine, url })
      await run(engine, url, 'create table things (name text)', "insert into things values ('a')")
      assert.deepEqual(await run(engine, url, 'select name from things'), [{ name: 'a' }])
    })

    test('are empty and one for each caller', async () => {
      const urls = await Promise.all([engine.freshUrl(), engine.freshUrl()])
      for (const url of urls) await run(engine, url, 'create table things (name text)')
    })

    if (engine.name === 'postgres') {
      test('sort by language where a query forgets collate "C"', async () => {
        const query = `select 'a' < 'B' as plain, 'a' < 'B' collate "C" as bytes`
        assert.deepEqual(await run(engine, await engine.freshUrl(), query), [{ plain: true, bytes: false }])
      })
    }
  })

  after(async () => {
    for (const { engine, url } of given) {
      if (engine.name === 'sqlite') assert.equal(existsSync(sqliteFile(url)), false)
      else await assert.rejects(run(engine, url, 'select 1'), { code: '3D000' }) // no such database
    }
  })
})

test('a temporary folder goes with its test', async (t) => {
  let folder = ''
  await t.test('which writes to it', async (inner) => {
    folder = await temporaryFolder(inner)
    await writeFile(join(folder, 'file'), 'x')
  })
  assert.notEqual(folder, '')
  assert.equal(existsSync(folder), false)
})
