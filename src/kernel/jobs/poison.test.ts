// What a handler answers or throws never keeps other jobs from being done.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Type } from '../../base/schema.ts'
import { eachEngine } from '../../testing/engines.ts'
import { setUp, until } from './jobs.fixture.ts'

const Payload = Type.Object({})
const RETRY = { firstMs: 1000, maxMs: 1000, attempts: 2 }

eachEngine((engine) => {
  for (const againInMs of [1500.5, Number.NaN, Infinity, -1e300])
    test(
      `a handler that answers againInMs ${againInMs} keeps no other job waiting`,
      { timeout: 8_000 },
      async (t) => {
        const { replica } = await setUp(t, engine)
        const runner = await replica()
        let begun = 0
        let others = 0
        const again = runner.define('again', { payload: Payload, retry: RETRY }, async () => {
          begun++
          return { againInMs }
        })
        const other = runner.define('other', { payload: Payload, retry: RETRY }, async () => void others++)
        await runner.start()
        await again.enqueue({})
        await until(() => begun === 1)
        await other.enqueue({})
        await until(() => others === 1)
        await until(async () => (await other.count()) === 0)
      },
    )

  test('an error whose message is no text fails its job only', { timeout: 8_000 }, async (t) => {
    const { replica, stored } = await setUp(t, engine)
    const runner = await replica()
    const kind = runner.define('odd', { payload: Payload, retry: { ...RETRY, attempts: 1 } }, async () => {
      throw Object.assign(new Error('x'), { message: { code: 42 } })
    })
    await runner.start()
    await kind.enqueue({})
    await until(async () => (await stored())[0]?.state === 'failed')
    assert.ok((await stored())[0]!.last_error)
  })
})
