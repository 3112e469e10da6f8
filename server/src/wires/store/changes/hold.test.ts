// PostgreSQL numbers transactions as they begin, and shows them as they commit.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { Client } from 'pg'

import { startApp } from '../../../testing/app.ts'
import { eachEngine } from '../../../testing/engines.ts'
import { until } from '../../../testing/until.ts'
import { follow } from './changes.fixture.ts'

// The reader looks several times meanwhile.
const LOOKS_MS = 400

eachEngine((engine) => {
  if (engine.name === 'sqlite') return
  for (const place of ['this database', 'another database of the server'] as const)
    test(`a transaction that writes in ${place} holds back what others commit meanwhile, and loses nothing`, async (t) => {
      const databaseUrl = await engine.migratedUrl()
      const collections = { books: { read: 'public', create: 'user' } } as const
      const app = await startApp(t, engine, { config: { store: { collections } }, databaseUrl })
      const { token } = await app.register()
      const create = (title: string) => app.request('POST', '/store/books', { token, body: { title } })
      const isHere = place === 'this database'
      const client = new Client({ connectionString: isHere ? databaseUrl : await engine.freshUrl() })
      await client.connect()
      t.after(() => client.end())
      const stream = await follow(t, app.url, { query: { collection: 'books' } })
      await create('before')
      await stream.receives('ready', 'put before')

      await client.query('begin')
      await client.query('select pg_current_xact_id()')
      await create('meanwhile')
      if (isHere)
        await client.query(`
          insert into store_documents (collection, id, owner, version, index_set, body)
          values ('books', 'a', 'nobody', 1, 0, '{"_id":"a","title":"held"}')`)
      await delay(LOOKS_MS)
      await stream.receives('ready', 'put before')
      await until(async () => {
        const { text } = await app.request('GET', '/metrics')
        return Number(/^sixwire_changes_lag_seconds (\S+)$/m.exec(text)![1]) >= LOOKS_MS / 2000
      })
      const late = await follow(t, app.url, {
        query: { collection: 'books' },
        lastEventId: stream.events[0]!.id,
      })
      await late.receives('ready', 'put before')
      await client.query('commit')
      const told = isHere ? ['put held', 'put meanwhile'] : ['put meanwhile']
      await stream.receives('ready', 'put before', ...told)
      await late.receives('ready', 'put before', ...told)
      assert.equal(stream.isEnded(), false)
    })
})
