import { errors } from '../../../base/errors.ts'
import { requireRow } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import type { Step } from '../../../db/database.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import type { Chain, Chains } from '../../onchain/index.ts'
import { tokensBeyond } from './late-tokens.ts'
import { beginReading, coinBeyond } from './block-readings.ts'
import { insertReceiptSql, RECHECK_MIN_MS, markChangedSql, type RequestRow } from './request-rows.ts'

/** How often requests that are due are rechecked. */
export const LATE_MS = 60_000
/** The longest distance of two rechecks of a request. */
const RECHECK_MAX_MS = 12 * 3_600_000
/** Requests of one recheck. */
const ROUND = 500

type Due = Pick<RequestRow, 'id' | 'address' | 'contract' | 'expired_block' | 'looked_block'>

/**
 * Finds payments of requests whose time is over, without following their chain: by the balances of their addresses, at distances
 * that grow with the age, from a minute to 12 hours.
 *
 * @param settleSql the step that brings the ledger up to the changed requests of a chain
 */
export function createLateRechecks(
  { db, clock, log }: Pick<WireContext, 'db' | 'clock' | 'log'>,
  { chains, settleSql }: { chains: Chains; settleSql: (chain: string, series: string) => Step },
): () => Promise<void> {
  /** The chains whose last recheck failed. */
  const faulty = new Set<string>()

  async function recheck(chain: Chain): Promise<void> {
    const { name } = chain
    // Mostly there is none, and a thread for scans would be kept for that.
    const isAnyDue = await db.get(sql`
      select 1 as one from pay_requests where chain = ${name} and look_at <= ${clock.now()} and is_swept = 0 limit 1`)
    if (!isAnyDue) return
    for (let after = ''; ;) {
      const now = clock.now()
      const due = await db.scan<Due>(sql`
        select id, address, contract, expired_block, looked_block from pay_requests
        where chain = ${name} and look_at <= ${now} and is_swept = 0 and is_open = 0 and expired_block is not null
          and id > ${after} order by id limit ${ROUND}`)
      const reading = due.length === 0 ? undefined : await beginReading(db, chain, now)
      if (!reading) return
      const { block, unchangedSql } = reading
      const receipts = [
        ...(await tokensBeyond(db, chain, block, due)),
        ...(await coinBeyond(db, chain, block, due)),
      ]
      const requestIds = [...new Set(receipts.map(({ request_id }) => request_id))]
      await db.batch([
        unchangedSql,
        // Of two rechecks at the same time one stores what both find.
        ...requestIds.map((id) =>
          requireRow(
            sql`${recheckedSql(block.number, now)} where id = ${id} and look_at <= ${now} returning id`,
            () => recheckedMeanwhile,
          ),
        ),
        sql`${recheckedSql(block.number, now)}
          where id in (${sql.join(due.map(({ id }) => id))}) and look_at <= ${now}`,
        ...receipts.map(insertReceiptSql),
        ...(requestIds.length === 0
          ? []
          : [...markChangedSql(requestIds), settleSql(name, `look-${requestIds[0]!}-${block.number}`)]),
      ])
      after = due.at(-1)!.id
    }
  }

  return async () => {
    for (const chain of chains.all) {
      if (!chain.isConfigured) continue
      try {
        await recheck(chain)
        faulty.delete(chain.name)
      } catch (error) {
        // They stay due.
        if (!faulty.has(chain.name))
          log.warn({ err: error, chain: chain.name }, 'late payments could not be looked for')
        faulty.add(chain.name)
      }
    }
  }
}

/** The next recheck is after as long as it is since the expiry; the last one at the end of the time for which payments are noticed. */
function recheckedSql(block: number, now: number): Sql {
  const distance = sql`
    case when ${now} - expires_at < ${RECHECK_MIN_MS} then ${RECHECK_MIN_MS}
      when ${now} - expires_at > ${RECHECK_MAX_MS} then ${RECHECK_MAX_MS} else ${now} - expires_at end`
  return sql`update pay_requests set looked_block = ${block}, look_at = case
    when watched_until <= ${now} then null
    when watched_until < ${now} + ${distance} then watched_until
    else ${now} + ${distance} end`
}

const recheckedMeanwhile = errors.unavailable({
  message: 'Another process looks for late payments of this request.',
  retryAfter: 1,
})
