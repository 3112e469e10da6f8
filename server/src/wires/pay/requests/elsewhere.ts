import { sql } from '../../../db/sql.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import type { Chain, Chains } from '../../onchain/index.ts'
import { beginReading, coinBeyond } from './block-readings.ts'
import { insertReceiptSql, type RequestRow } from './request-rows.ts'

/** How often the chains are asked. */
export const ELSEWHERE_MS = 600_000
/** Requests of one statement, and so of five calls of a node. */
const ROUND = 5_000

type Request = Pick<RequestRow, 'id' | 'address'>

/**
 * Looks for coin that was sent to the addresses of requests on other chains than they ask for, which nobody may follow: by the
 * balances. A thousand addresses cost one call.
 */
export function createElsewhere(
  { db, clock, log }: Pick<WireContext, 'db' | 'clock' | 'log'>,
  { chains }: { chains: Chains },
): () => Promise<void> {
  async function recheck(chain: Chain): Promise<void> {
    for (let after = ''; ;) {
      const requests = await db.scan<Request>(sql`
        select id, address from pay_requests
        where id > ${after} and watched_until > ${clock.now()} and is_swept = 0 and chain <> ${chain.name}
        order by id limit ${ROUND}`)
      const reading = requests.length === 0 ? undefined : await beginReading(db, chain, clock.now())
      if (!reading) return
      const receipts = await coinBeyond(db, chain, reading.block, requests)
      if (receipts.length > 0) await db.batch([reading.unchangedSql, ...receipts.map(insertReceiptSql)])
      after = requests.at(-1)!.id
    }
  }

  return async () => {
    for (const chain of chains.all) {
      if (!chain.isConfigured) continue
      try {
        await recheck(chain)
      } catch (error) {
        log.warn(
          { err: error, chain: chain.name },
          'coin of requests for other chains could not be looked for',
        )
      }
    }
  }
}
