import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { pino } from 'pino'

import { sql } from '../../../db/sql.ts'
import { testClock } from '../../../testing/app.ts'
import { eachEngine } from '../../../testing/engines.ts'
import { startTestNode } from '../../../testing/node.ts'
import { createMetrics } from '../../../kernel/telemetry/metrics.ts'
import { NO_EVENTS } from '../../../kernel/events/events.ts'
import { createLedger } from '../ledger/ledger.ts'
import { createTransactionEvents } from '../ledger/transaction-events.ts'
import { insertReceiptSql } from './request-rows.ts'
import { startShop } from './requests.fixture.ts'
import { createSettle } from './settle.ts'

describe('the settling of a payment request', () => {
  eachEngine((engine) => {
    test('completes nothing that a reorganisation takes back at the same moment', async (t) => {
      const node = await startTestNode(t)
      const shop = await startShop(t, engine, { ethereum: node.url })
      const { db } = shop.app.app
      const { _id, receiverAddress } = await shop.request()
      const receipt = {
        chain: 'ethereum',
        block_number: 1_000,
        address: receiverAddress.toLowerCase(),
        transaction_hash: `0x${'ab'.repeat(32)}`,
        log_index: -1,
        request_id: _id,
        contract: '',
        amount: String(10n ** 18n),
        block_time: Date.now(),
      }
      await db.batch([
        insertReceiptSql(receipt),
        sql`insert into pay_heads (chain, number, time) values ('ethereum', 1000, ${Date.now()})
          on conflict (chain) do update set number = 1000`,
      ])

      const clock = testClock()
      const ledger = createLedger(
        { db, clock, log: pino({ level: 'silent' }), metrics: createMetrics() },
        { events: createTransactionEvents(NO_EVENTS), recheckSql: () => [] },
      )
      let isReorganised = false
      const settling = createSettle(
        { db, clock, jobs: { define: () => undefined } as never },
        {
          chains: { of: () => ({ depth: 1 }), all: [] } as never,
          payments: { changedSql: () => [] },
          isCaughtUp: async () => true,
          ledger: {
            ...ledger,
            async read(id) {
              const account = await ledger.read(id)
              if (!isReorganised)
                await db.batch([
                  sql`delete from pay_receipts where request_id = ${id}`,
                  sql`update pay_requests set changes = changes + 1 where id = ${id}`,
                ])
              isReorganised = true
              return account
            },
          },
        },
      )
      await settling.settle(_id)
      assert.equal((await shop.transaction(_id)).status, 'pending')
      assert.deepEqual(
        await db.all(sql`select changes - settled_changes as more from pay_requests where id = ${_id}`),
        [{ more: 0 }],
      )

      await db.batch([insertReceiptSql(receipt)])
      await settling.settle(_id)
      assert.equal((await shop.transaction(_id)).status, 'completed')
    })
  })
})
