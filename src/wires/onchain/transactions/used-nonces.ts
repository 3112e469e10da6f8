import { sql } from '../../../db/sql.ts'
import type { WireContext } from '../../../kernel/wire.ts'
import type { Chain } from '../chains/chain.ts'
import type { Unmined } from './broadcast.ts'

export type UsedNonces = {
  /**
   * Settles transactions whose nonces were used, deep enough in the chain, if not by any version of them: the key is also
   * used outside of this server. They can never be mined.
   */
  settle(chain: Chain, rows: readonly Unmined[]): Promise<void>
}

export function createUsedNonces({ db, clock, log }: Pick<WireContext, 'db' | 'clock' | 'log'>): UsedNonces {
  /** Whether each node of the chain answers that it has no receipt of any version. */
  async function isUnknownToAll(chain: Chain, row: Unmined): Promise<boolean> {
    const versions = await db.all(sql<{ hash: string }>`
      select hash from onchain_signed where transaction_id = ${row.id} order by created_at`)
    const calls = versions.map(({ hash }) => ({ method: 'eth_getTransactionReceipt', params: [hash] }))
    const answers = await chain.rpc.all(calls)
    return (
      answers.length === chain.rpc.hosts.length &&
      answers.flat().every(({ result, error }) => error === undefined && result === null)
    )
  }

  return {
    async settle(chain, rows) {
      for (const row of rows) {
        if (!(await isUnknownToAll(chain, row))) continue
        await db.write(sql`
          update onchain_transactions set
            status = 'failed', error = 'nonce used elsewhere', is_final = 1, updated_at = ${clock.now()}
          where id = ${row.id} and block_number is null`)
        log.error(
          { chain: chain.name, address: row.sender, nonce: row.nonce, hash: row.hash },
          'a nonce was used by a transaction of another program: its key must be used by this server only',
        )
      }
    },
  }
}
