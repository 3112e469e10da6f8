import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { eachEngine, endOfSuite } from '../../../testing/engines.ts'
import { startTill, type Till } from '../pay.fixture.ts'

describe('the list of transactions', () => {
  eachEngine((engine) => {
    const end = endOfSuite()
    let starting: Promise<{ till: Till; card: string; wallet: string; between: string }> | undefined
    const start = () =>
      (starting ??= startTill(end, engine).then(async (till) => {
        const { reference: card } = await till.paid(1000)
        till.app.clock.advance(60_000)
        const between = new Date(till.app.clock.now() - 30_000).toISOString()
        const { reference: wallet } = await till.order(12.3)
        return { till, card, wallet, between }
      }))

    for (const [query, expected] of [
      ['', ['wallet', 'card']],
      ['provider=cardpay', ['card']],
      ['provider=onchain', []],
      ['status=pending', ['wallet']],
      ['status=completed&provider=walletpay', []],
      ['reference=CARD&provider=cardpay', ['card']],
      ['reference=nothing', []],
      ['from=BETWEEN', ['wallet']],
      ['to=BETWEEN', ['card']],
      ['from=2020-01-01&to=2020-02-01T00:00:00%2B01:00', []],
    ] as const)
      test(`with ?${query} has ${expected.join(', ') || 'none'}`, async () => {
        const { till, card, between, ...rest } = await start()
        const references = { card, ...rest }
        const filled = query.replace('CARD', card).replace('BETWEEN', between)
        const { status, body, text } = await till.call(`GET /pay/transactions?${filled}`)
        assert.equal(status, 200, text)
        assert.deepEqual(
          body.transactions.map((one: { reference: string }) => one.reference),
          expected.map((one) => references[one]),
        )
        assert.equal(body.total, expected.length)
      })

    for (const [query, path] of [
      ['provider=stripe', '/query/provider'],
      ['status=paid', '/query/status'],
      ['from=1', '/query/from'],
      ['from=yesterday', '/query/from'],
      ['to=-1', '/query/to'],
      ['to=2026-01-31T00:00:00', '/query/to'],
      ['to=2026-13-01', '/query/to'],
    ] as const)
      test(`with ?${query} is answered 400`, async () => {
        const { till } = await start()
        const { status, body, text } = await till.call(`GET /pay/transactions?${query}`)
        assert.equal(status, 400, text)
        assert.equal(body.error.details.issues[0].path, path)
      })

    test('is read page by page with a cursor, and its totals follow each change', async (t) => {
      const till = await startTill(t, engine)
      const ids: string[] = []
      for (let count = 0; count < 5; count++) ids.unshift((await till.checkout())._id)
      const seen: string[] = []
      let cursor: string | undefined
      do {
        const query: string = `provider=cardpay&limit=2${cursor === undefined ? '' : `&cursor=${cursor}`}`
        const { body } = await till.call(`GET /pay/transactions?${query}`)
        assert.equal(body.total, 5)
        seen.push(...body.transactions.map(({ _id }: { _id: string }) => _id))
        cursor = body.nextCursor
      } while (cursor !== undefined)
      assert.deepEqual(seen, ids)

      till.pay((await till.transaction(ids[0]!)).reference!)
      await till.deliver()
      for (const [status, expected] of [
        ['pending', 4],
        ['completed', 1],
        ['failed', 0],
      ] as const) {
        const { total } = (await till.call(`GET /pay/transactions?status=${status}&limit=1`)).body
        assert.equal(total, expected, status)
      }
    })
  })
})
