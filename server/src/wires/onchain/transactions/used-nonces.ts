import { sql, type Sql } from '../../../db/sql.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import { headOf, type Chain } from '../chains/chain.ts'
import type { RpcAnswer } from '../chains/rpc.ts'
import type { Unmined } from './broadcast.ts'
import { receiptOf } from './receipt.ts'
import type { OnchainTransactionEvents } from './transaction-events.ts'
import { TRANSACTIONS_CONSUMER } from './transaction-rows.ts'

export type UsedNonces = {
  /**
   * Settles transactions whose nonces are used by a block that is deep enough, if not by any version of them: the key is also
   * used outside of this server. They can never be mined. One that is mined after all, and that the follower has overlooked,
   * is looked for again in its block.
   *
   * @param block the number of that block
   */
  settle(chain: Chain, rows: readonly Unmined[], block: number): Promise<void>
}

const LATEST = { method: 'eth_getBlockByNumber', params: ['latest', false] }

export function createUsedNonces(
  { db, clock, log }: Pick<WireContext, 'db' | 'clock' | 'log'>,
  { events }: { events: OnchainTransactionEvents },
): UsedNonces {
  /** The block of a version that is mined; null if each node answers that it has no receipt of any; undefined: not known. */
  async function blockOf(chain: Chain, row: Unmined, block: number): Promise<number | null | undefined> {
    const versions = await db.all(sql<{ hash: string }>`
      select hash from onchain_signed where transaction_id = ${row.id} order by created_at`)
    const calls = versions.map(({ hash }) => ({ method: 'eth_getTransactionReceipt', params: [hash] }))
    const answers = await chain.rpc.all([LATEST, ...calls], {
      believe: ([latest]) => ((headOf(latest!.result)?.number ?? -1) < block ? 'is behind' : undefined),
    })
    const receipts: RpcAnswer[] = answers.flatMap(([, ...all]) => all)
    const numbers = receipts.flatMap(({ result }) => receiptOf(result)?.blockNumber ?? [])
    if (numbers.length > 0) return Math.min(...numbers)
    const isNowhere = receipts.every(({ result, error }) => error === undefined && result === null)
    return answers.length === chain.rpc.hosts.length && isNowhere ? null : undefined
  }

  const cursorIsFromSql = ({ name }: Chain, block: number): Sql =>
    sql`chain = ${name} and consumer = ${TRANSACTIONS_CONSUMER} and number >= ${block}`

  async function fail(chain: Chain, row: Unmined, block: number): Promise<void> {
    // The follower would have found it in a block up to this one, which it may not have read yet.
    const [failedRows] = await db.batch([
      sql`
      update onchain_transactions set
        status = 'failed', error = 'nonce used elsewhere', is_final = 1, updated_at = ${clock.now()}
      where id = ${row.id} and block_number is null
        and exists (select 1 from onchain_cursors where ${cursorIsFromSql(chain, block)})
      returning id`,
      ...events.failedSql(row.id),
    ])
    if (failedRows.length > 0)
      log.error(
        { chain: chain.name, address: row.sender, nonce: row.nonce, hash: row.hash },
        'a nonce was used by a transaction of another program: its key must be used by this server only',
      )
  }

  /** A node that was behind may have hidden it from the follower. */
  async function rereadBlock(chain: Chain, row: Unmined, block: number): Promise<void> {
    const movedRows = await db.write(sql`
      update onchain_cursors set number = ${block - 1}, hash = ''
      where ${cursorIsFromSql(chain, block)}
        and exists (select 1 from onchain_transactions where id = ${row.id} and block_number is null)
      returning number`)
    if (movedRows.length > 0)
      log.warn(
        { chain: chain.name, hash: row.hash, block },
        'a transaction was overlooked in a block, which is read again',
      )
  }

  return {
    async settle(chain, rows, block) {
      for (const row of rows) {
        const mined = await blockOf(chain, row, block)
        if (mined === null) await fail(chain, row, block)
        else if (mined !== undefined && mined <= block) await rereadBlock(chain, row, mined)
      }
    },
  }
}
