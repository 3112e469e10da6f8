import { Agent } from 'node:http'

import { openDatabase } from '../src/db/open.ts'
import { sql } from '../src/db/sql.ts'
import type { Bench } from './bench.ts'
import { askFor } from './client.ts'
import { account } from './servers.ts'
import { median, quantile } from './statistics.ts'

/** Latencies in milliseconds, medians of the rounds. */
export type TransactionsResult = { transactions: number; rows: { name: string; p50: number; p99: number }[] }

const TRANSACTIONS = 1_000_000
const PIECE = 20_000
const CALLS = 200
const PAGES = [
  ['first page', ''],
  ['filtered by status (1 %)', '?status=disputed'],
  ['filtered by provider', '?provider=walletpay'],
  ['filtered by status and provider', '?status=refunded&provider=walletpay'],
] as const

/** Inserts transactions, newest last; every hundredth belongs to `owner`. */
async function fill(url: string, owner: string, count: number, note: (text: string) => void): Promise<void> {
  const db = await openDatabase(url)
  const idOf = sql.either({
    sqlite: sql.literal("'01arz3ndektsv4' || printf('%012d', i)"),
    postgres: sql.literal("'01arz3ndektsv4' || lpad(cast(i as text), 12, '0')"),
  })
  try {
    for (let from = 0; from < count; from += PIECE) {
      note(`seeding: ${from} of ${count} transactions`)
      await db.write(sql`
        insert into pay_transactions (id, owner, provider, status, reference, payment_id, amount, currency, exponent,
          captured, refunded, reserved, is_settled, version, created_at, updated_at)
        with recursive numbers (i) as (
          select cast(${from} as bigint) union all select i + 1 from numbers where i < ${Math.min(from + PIECE, count) - 1})
        select ${idOf}, case when i % 100 = 7 then ${owner} else 'someone' || (i % 1000) end,
          case when i % 3 = 0 then 'walletpay' else 'cardpay' end,
          case when i % 100 < 80 then 'completed' when i % 100 < 90 then 'expired' when i % 100 < 99 then 'refunded'
            else 'disputed' end,
          'reference' || i, 'payment' || i, '1099', 'EUR', 2, '1099', '0', '0', 1, 1, i, i
        from numbers`)
    }
    if (db.dialect === 'postgres') await db.write(sql`analyze pay_transactions`)
  } finally {
    await db.close()
  }
}

/** How long does a page of the transactions take, for an administrator and for the owner of one in a hundred? */
export async function runTransactions(bench: Bench, faults: string[]): Promise<TransactionsResult> {
  const { rounds, documents } = bench.options
  // Fewer documents than by default, to try the bench: fewer transactions.
  const count = Math.min(TRANSACTIONS, documents * 10)
  const server = await bench.open('sixwire', 'transactions', {
    environment: { STRIPE_SECRET_KEY: 'sk_test_bench' },
  })
  const { token, user } = await askFor<{ token: string; user: { _id: string } }>(
    server.base,
    'POST /auth/register',
    { body: JSON.stringify(account(1)) },
  )
  await fill(bench.databaseUrl('transactions'), user._id, count, bench.note)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })

  async function measure(path: string, caller: string): Promise<number[]> {
    const times: number[] = []
    for (let call = 0; call < CALLS; call++) {
      const begun = performance.now()
      const { transactions, total } = await askFor<{ transactions: unknown[]; total: number }>(
        server.base,
        `GET ${path}`,
        { token: caller, agent },
      )
      times.push(performance.now() - begun)
      if (call === 0 && (transactions.length === 0) !== (total === 0))
        faults.push(`pay: ${path} has ${transactions.length} transactions of ${total}`)
    }
    return times
  }

  const rows: TransactionsResult['rows'] = []
  for (const [who, caller] of [
    ['all', server.token],
    ['own', token],
  ] as const)
    for (const [name, query] of PAGES) {
      const path = `/pay/transactions${query}`
      bench.note(`pay: ${path}, ${who}`)
      await measure(path, caller)
      const taken: number[][] = []
      for (let round = 0; round < rounds; round++) taken.push(await measure(path, caller))
      rows.push({
        name: `${who}: ${name}`,
        p50: median(taken.map((times) => quantile(times, 0.5))),
        p99: median(taken.map((times) => quantile(times, 0.99))),
      })
    }
  agent.destroy()
  await server.stop()
  return { transactions: count, rows }
}
