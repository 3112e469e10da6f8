import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { startApp } from '../testing/app.ts'
import { eachEngine } from '../testing/engines.ts'
import { until } from '../testing/until.ts'
import { streamOf, tickerWire } from './event-streams.fixture.ts'

describe('event streams', () => {
  eachEngine((engine) => {
    test('smoke', async (t) => {
      const { ticker, write, open } = tickerWire()
      const app = await startApp(t, engine, { config: { wires: [ticker()] } })
      const { token } = await app.register()
      const stream = await streamOf(t, app, { token })
      assert.equal(stream.status, 200)
      await until(() => stream.text() === 'data: open\n\n')
      write('data: 1\n\n')
      await until(() => stream.text().endsWith('data: 1\n\n'))
      await app.request('POST', '/auth/logout', { token })
      await until(() => stream.isOver())
      assert.equal(stream.text(), 'data: open\n\ndata: 1\n\nevent: end\ndata: revoked\n\n')
      assert.equal(open(), 0)
      await app.request('GET', '/ready')
    })
  })
})
