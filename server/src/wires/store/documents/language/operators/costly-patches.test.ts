import assert from 'node:assert/strict'
import { before, test } from 'node:test'

import type { Config } from '../../../../../app.ts'
import { startApp, type TestApp } from '../../../../../testing/app.ts'
import { endOfSuite, someEngine } from '../../../../../testing/engines.ts'

someEngine((engine) => {
  let app: TestApp
  let running = 0
  let most = 0
  let release = (): void => undefined
  const released = new Promise<void>((resolve) => (release = resolve))
  const config = {
    store: {
      collections: {
        lists: {
          hooks: {
            beforeUpdate: async ({ next }) => {
              if (next['of'] !== 'ann') return
              most = Math.max(most, ++running)
              await released
              running--
            },
          },
        },
      },
    },
  } satisfies Config
  const ending = endOfSuite()
  before(async () => {
    app = await startApp(ending, engine, { config })
  })

  test('of one caller one patch, or batch, of many paths is worked on at a time, and nobody else waits for it', async () => {
    const [ann, bob] = [await app.register(), await app.register()]
    const ask = (method: string, path: string, { token }: { token: string }, body: unknown) =>
      app.request(method, `/store/lists${path}`, { token, body })
    const create = async (who: { token: string }, of: string): Promise<string> =>
      (await ask('POST', '', who, { of, a: [] })).body._id
    const each = (name: string) =>
      Object.fromEntries(Array.from({ length: 150 }, (_, n) => [`a.${n}.${name}`, n]))
    const many = { $set: each('n'), $inc: each('k') }
    const batch = (id: string) =>
      app.request('POST', '/store/batch', {
        token: ann.token,
        body: {
          operations: ['n', 'k'].map((name) => ({
            op: 'patch',
            collection: 'lists',
            id,
            document: { $inc: each(name) },
          })),
        },
      })

    const costly = await Promise.all(
      Array.from({ length: 5 }, async (_, i) => {
        const id = await create(ann, 'ann')
        return i % 2 === 0 ? ask('PATCH', `/${id}`, ann, many) : batch(id)
      }).map(async (answer, i) => {
        if (i > 0) return answer
        // While one of them is held.
        const other = await ask('PATCH', `/${await create(bob, 'bob')}`, bob, many)
        assert.equal(other.status, 200, other.text)
        const small = await ask('PATCH', `/${await create(ann, 'none')}`, ann, { $inc: { n: 1 } })
        assert.equal(small.status, 200, small.text)
        release()
        return answer
      }),
    )
    for (const { status, text } of costly) assert.equal(status, 200, text)
    assert.equal(most, 1)
  })
})
