import type { Database, Step } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import type { Block, Chain, Chains, Consumer, Head } from '../../onchain/index.ts'
import { arrivalsIn, TRANSFER } from './arrivals.ts'
import type { PaymentRequestEvents } from './payment-events.ts'
import {
  expireSql,
  insertReceiptSql,
  markChangedSql,
  selectRequestsSql,
  stateOf,
  storedRequests,
  type ReceiptRow,
  type RequestRow,
} from './request-rows.ts'

/**
 * Whether a chain has to be followed block by block: while a request on it can be paid, and until what arrived is deep. What comes
 * after that is late, and found by balances.
 */
export async function isFollowed(
  db: Pick<Database, 'get'>,
  { name, depth }: Pick<Chain, 'name' | 'depth'>,
  now: number,
): Promise<boolean> {
  const payable = sql`
    select 1 as one from pay_requests
    where chain = ${name} and watched_until > ${now} and (is_open = 1 or expired_block is null) limit 1`
  const confirming = sql`
    select 1 as one from pay_heads h join pay_receipts p
      on p.chain = h.chain and p.block_number > h.number - ${depth - 1} and p.block_number <= h.number
    where h.chain = ${name} limit 1`
  return ((await db.get(payable)) ?? (await db.get(confirming))) !== undefined
}

/**
 * Follows chains for payment requests: stores what arrived at their addresses, and counts as changed the requests whose
 * payment is final, over, or taken back.
 *
 * @param settleSql the step that brings the ledger up to the changed requests of a chain. `series` names what changed them
 */
export function createConsumer(
  { db, clock }: Pick<WireContext, 'db' | 'clock'>,
  {
    chains,
    payments,
    settleSql,
  }: {
    chains: Chains
    payments: PaymentRequestEvents
    settleSql: (chain: string, series: string) => Step
  },
): Consumer {
  /** The requests of a chain whose time is over with one of these blocks, by the number of the first such block. */
  async function expiredBy(chain: string, blocks: readonly Block[]): Promise<Map<number, string[]>> {
    const expired = new Map<number, string[]>()
    const until = Math.max(...blocks.map(({ timestamp }) => timestamp * 1000))
    const rows = await db.all<Pick<RequestRow, 'id' | 'expires_at'>>(sql`
      select id, expires_at from pay_requests
      where chain = ${chain} and expired_block is null and expires_at < ${until}`)
    for (const { id, expires_at } of rows) {
      const { number } = blocks.find(({ timestamp }) => timestamp * 1000 > expires_at)!
      expired.set(number, [...(expired.get(number) ?? []), id])
    }
    return expired
  }

  /** The requests for which a block becomes deep enough when the head moves. */
  const deepening = (chain: string, above: number, upTo: number): Promise<readonly { id: string }[]> =>
    db.all<{ id: string }>(sql`
      select request_id as id from pay_receipts
      where chain = ${chain} and block_number > ${above} and block_number <= ${upTo}
      union select id from pay_requests
      where chain = ${chain} and expired_block > ${above} and expired_block <= ${upTo}`)

  /** What is published of payments that arrived: each request as it is with them. */
  async function detectedSql(chain: Chain, head: Head, receipts: readonly ReceiptRow[]): Promise<Step[]> {
    if (!payments.takesArrivals || receipts.length === 0) return []
    const ids = [...new Set(receipts.map(({ request_id }) => request_id))]
    const requests = storedRequests(await db.all(selectRequestsSql(sql`r.id in (${sql.join(ids)})`)))
    return requests.flatMap((before) => {
      const added = receipts.filter(({ request_id }) => request_id === before.request.id)
      const stored = {
        ...before,
        head: { number: head.number, time: head.timestamp * 1000 },
        receipts: [...before.receipts, ...added],
      }
      const state = stateOf(stored, { depth: chain.depth })
      return payments.changedSql('detected', stored, { state, cause: head.hash })
    })
  }

  const headSql = (chain: string, { number, timestamp }: Pick<Block, 'number' | 'timestamp'>): Sql => sql`
    insert into pay_heads (chain, number, time) values (${chain}, ${number}, ${timestamp * 1000})
    on conflict (chain) do update set number = excluded.number, time = excluded.time`

  return {
    name: 'payments',
    topics: [TRANSFER],

    isNeeded: (chain) => isFollowed(db, chains.of(chain), clock.now()),

    async apply(chain: Chain, blocks, head) {
      const { name, depth } = chain
      const { receipts, isWhole } = await arrivalsIn(db, chain, blocks, clock.now())
      // What may have been paid in these blocks is found in later ones: until then the time is not over.
      const expired = isWhole ? await expiredBy(name, blocks) : new Map<number, string[]>()
      const deepest = head.number - depth + 1
      const hashes = await deepening(name, deepest - blocks.length, deepest)
      const changed = new Set([
        ...hashes.map(({ id }) => id),
        ...receipts.flatMap((one) => (one.block_number <= deepest ? [one.request_id] : [])),
        ...[...expired].flatMap(([number, ids]) => (number <= deepest ? ids : [])),
      ])
      return [
        // Before the receipts: what a recheck finds is stored before it, or not at all.
        headSql(name, head),
        ...receipts.map(insertReceiptSql),
        ...(await detectedSql(chain, head, receipts)),
        ...[...expired].flatMap(([number, ids]) => expireSql(number, ids)),
        ...(changed.size === 0 ? [] : [...markChangedSql([...changed]), settleSql(name, head.hash)]),
      ]
    },

    async rewind({ name }, number) {
      const rows = await db.all<{ id: string }>(sql`
        select request_id as id from pay_receipts where chain = ${name} and block_number > ${number}
        union select id from pay_requests where chain = ${name} and expired_block > ${number}`)
      const ids = rows.map(({ id }) => id)
      return [
        sql`update pay_heads set number = ${number}, looked_number = ${number}
          where chain = ${name} and number > ${number}`,
        sql`delete from pay_receipts where chain = ${name} and block_number > ${number}`,
        sql`update pay_requests set expired_block = null, is_open = 1 where chain = ${name} and expired_block > ${number}`,
        ...(ids.length === 0 ? [] : [...markChangedSql(ids), settleSql(name, `${number}-${clock.now()}`)]),
      ]
    },
  }
}
