import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'

import { createApp, loadConfig } from '../app.ts'
import { openDatabase } from '../db/open.ts'
import { sql } from '../db/sql.ts'
import { runHere } from '../testing/command.ts'
import { someEngine } from '../testing/engines.ts'
import { applicationFolder } from '../testing/program.ts'

const CONFIG = `
import { defineConfig } from 'sixwire'
export default defineConfig({
  auth: { bcryptCost: 4 },
  store: {
    indexes: { memberships: ['user'] },
    user: { teams: { collection: 'memberships', filter: { user: '$$user._id' }, value: 'team' } },
    collections: {
      memberships: 'admin',
      projects: {
        read: ['owner', { team: { $in: '$$user.teams' } }],
        create: { team: { $in: '$$user.teams' } },
        update: { before: { locked: { $ne: true } }, after: { team: { $in: '$$user.teams' } } },
        delete: 'owner',
        readOnly: ['votes'],
        schema: { type: 'object', properties: { title: { type: 'string' }, pages: { type: 'integer' } } },
      },
      news: 'public-read',
    },
  },
})`

someEngine((engine) => {
  /** An application with two members of a team, and an account that is disabled. */
  async function application(t: TestContext) {
    const folder = await applicationFolder(t, { 'sixwire.config.ts': CONFIG })
    const url = await engine.migratedUrl()
    const environment = { DATABASE_URL: url, SIXWIRE_POLICY: 'guarded' }
    const config = await loadConfig(folder)
    const app = await createApp({ config, folder, environment, standIns: false, logTo: { write() {} } })
    await app.start()
    const { users } = app.service('auth')
    const create = (name: string) =>
      users.create({ email: `${name}@example.com`, password: 'a good long passphrase' })
    const [ann, bob] = [await create('ann'), await create('bob')]
    await create('eve')
    await users.disable('eve@example.com')
    const { documents } = app.service('store')
    for (const { id } of [ann, bob]) await documents.create('memberships', { user: id, team: 'red' })
    const { _id } = await documents.create(
      'projects',
      { title: 'Plan', team: 'red', votes: 3 },
      { owner: ann.id },
    )
    const news = await documents.create('news', { title: 'Hello' }, { owner: ann.id })
    await app.close()
    const can = async (...words: string[]) => {
      const { code, output, errors } = await runHere(['can', ...words], { folder, environment })
      return { code, text: (output || errors).trimEnd() }
    }
    return { can, url, _id, news: news._id }
  }

  async function contentOf(url: string): Promise<string> {
    const db = await openDatabase(url)
    try {
      const tables = await db.all<{ name: string }>(
        db.dialect === 'sqlite'
          ? sql`select name from sqlite_schema where type = 'table' order by name`
          : sql`select table_name as name from information_schema.tables where table_schema = 'public' order by 1`,
      )
      const rows = []
      for (const { name } of tables) rows.push(name, await db.all(sql.literal(`select * from ${name}`)))
      return JSON.stringify(rows, (_, value: unknown) => (typeof value === 'bigint' ? `${value}` : value))
    } finally {
      await db.close()
    }
  }

  test('sixwire can says which step refuses, with the values of the account, and writes nothing', async (t) => {
    const { can, url, _id, news } = await application(t)
    const before = await contentOf(url)
    const bob = 'bob@example.com'
    assert.deepEqual(await can(bob, 'read', 'projects', _id), { code: 0, text: 'yes' })
    assert.deepEqual(await can(bob, 'update', 'projects', _id, '{"title":"New"}'), { code: 0, text: 'yes' })
    assert.deepEqual(await can(bob, 'update', 'projects', _id, '{"$inc":{"votes":1}}'), {
      code: 1,
      text: `no: refused at the step "fields": 400 VALIDATION_ERROR
    /body/votes: votes cannot be written by you: leave it out`,
    })
    assert.deepEqual(await can(bob, 'update', 'projects', _id, '{"title":1,"pages":"x"}'), {
      code: 1,
      text: `no: refused at the step "schema": 400 VALIDATION_ERROR
    /body/title: must be string
    /body/pages: must be integer`,
    })
    assert.match(
      (await can(bob, 'update', 'projects', _id, '{"team":"blue"}')).text,
      /"after": 403 FORBIDDEN\n/,
    )
    assert.match((await can(bob, 'create', 'projects', '{"team":"blue"}')).text, /"after": 403/)
    assert.equal((await can(bob, 'create', 'projects', '{"team":"red"}')).text, 'yes')
    assert.match((await can(bob, 'delete', 'projects', _id)).text, /"before": 403/)
    assert.equal((await can('ann@example.com', 'delete', 'projects', _id)).text, 'yes')
    assert.match((await can(bob, 'read', 'projects', news)).text, /"readable": 404/)
    const removal = ['update', 'projects', _id, '{"title":null}']
    assert.equal((await can(bob, ...removal)).text, 'yes')
    assert.match((await can(bob, ...removal, '--put')).text, /"schema": 400/)
    assert.match((await can('zoe@example.com', 'read', 'news')).text, /no account has the address zoe@/)
    assert.match((await can('nobody', 'read', 'projects')).text, /"audience": 401/)
    assert.equal((await can('-', 'read', 'news')).text, 'yes')
    assert.equal((await can('nobody', 'read', 'news', news)).text, 'yes')
    assert.match((await can('nobody', 'create', 'news', '{}')).text, /"signed-in": 401/)
    assert.match((await can('eve@example.com', 'read', 'news')).text, /"signed-in": 401 .*\n.* disabled/)
    assert.deepEqual(JSON.parse((await can(bob, 'delete', 'projects', _id, '--json')).text), {
      allowed: false,
      step: 'before',
      status: 403,
      code: 'FORBIDDEN',
      message: 'The rules of this collection do not let you delete this document.',
    })
    assert.equal(await contentOf(url), before)
  })
})

for (const [words, line] of [
  [['a@b.c', 'write', 'x'], /"write" is not an action: use one of read, create, update, delete/],
  [['a@b.c', 'update', 'x'], /update needs the ID of a document/],
  [['a@b.c', 'read', 'x', 'id', '{}'], /read takes no JSON/],
  [['a@b.c', 'create', 'x', 'id', '{}'], /create takes the JSON of a document, and no ID/],
  [['a@b.c', 'create', 'x', '[]'], /JSON: must be an object/],
  [['a@b.c', 'create', 'x', '{"a":1,"a":2}'], /JSON: /],
] as const)
  test(`sixwire can ${words.join(' ')}`, async () => {
    const { code, errors } = await runHere(['can', ...words])
    assert.notEqual(code, 0)
    assert.match(errors, line)
  })
