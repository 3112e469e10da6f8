import { errors, type ApiError } from '../../../base/errors.ts'
import { sql } from '../../../db/sql.ts'
import { COMMAND_LINE, type Actor } from '../../../http/actor.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import { isQuantity } from '../chains/chain.ts'
import type { Chains } from '../chains/chains.ts'
import { selectUnminedByIdSql } from './broadcast.ts'
import type { NonceQueues } from './nonce-queue.ts'
import type { Replacements } from './replacement.ts'
import { selectTransactionsSql, type OnchainTransactionRow } from './transaction-rows.ts'

/** How often it is begun again because the transaction was replaced meanwhile. */
const ATTEMPTS = 5
const CANCELLED = 'cancelled by an operator'

/**
 * What an operator does to a transaction that is in no block; the audit log has it. Both are found by the hash of any of its
 * versions.
 */
export type Revisions = {
  /**
   * Has a transfer of nothing to the own address take its nonce. Whichever of both is mined first counts: the transaction may
   * still be mined instead.
   *
   * @throws NOT_FOUND; CONFLICT if it is in a block, or no fee that nodes take is allowed or affordable; PROVIDER_ERROR
   */
  cancel(hash: string, actor?: Actor): Promise<OnchainTransactionRow>
  /** Raises its fees at once, or those of its cancellation. @throws as `cancel` */
  speedUp(hash: string, actor?: Actor): Promise<OnchainTransactionRow>
}

export function createRevisions(
  { db, audit }: Pick<WireContext, 'db' | 'audit'>,
  {
    chains,
    replacements,
    queues,
  }: { chains: Chains; replacements: Replacements; queues: Pick<NonceQueues, 'wakeSql'> },
): Revisions {
  async function find(hash: string): Promise<OnchainTransactionRow> {
    const row = await db.get(
      selectTransactionsSql(
        sql`id = (select transaction_id from onchain_signed where hash = ${hash.toLowerCase()})`,
      ),
    )
    if (!row) throw errors.not_found({ message: 'This server sent no transaction of this hash.' })
    return row
  }

  async function revise(
    hash: string,
    { actor = COMMAND_LINE, cancels }: { actor?: Actor | undefined; cancels?: string },
  ): Promise<OnchainTransactionRow> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const row = await find(hash)
      const chain = chains.of(row.chain)
      const unmined = await db.get(selectUnminedByIdSql(row.id))
      if (!unmined) throw settledError(row)
      const count = await chain.rpc.call('eth_getTransactionCount', [row.sender, 'latest'])
      // The follower of the chain has not read that block yet.
      if (isQuantity(count) && Number(count) > row.nonce) throw settledError(row)
      // Another call was faster.
      if (attempt > 0 && cancels !== undefined && unmined.cancels !== null) return row
      const revised = await replacements.revise(chain, unmined, {
        cancels,
        withSql: (version) => [
          audit.entrySql(actor, {
            action: cancels === undefined ? 'transaction.sped-up' : 'transaction.cancelled',
            target: `transaction:${unmined.hash}`,
            before: { hash: unmined.hash, chain: chain.name },
            after: { hash: version },
          }),
        ],
      })
      if (revised.kind === 'kept')
        throw errors.conflict({ message: `The transaction stays as it is: ${revised.reason}.` })
      if (revised.kind === 'changed') continue
      await db.batch(queues.wakeSql(row.chain, row.sender))
      return find(hash)
    }
    throw errors.unavailable({
      message: 'The transaction was replaced again and again: try again.',
      retryAfter: 1,
    })
  }

  return {
    cancel: (hash, actor) => revise(hash, { actor, cancels: CANCELLED }),
    speedUp: (hash, actor) => revise(hash, { actor }),
  }
}

const settledError = ({ block_number, is_final, error }: OnchainTransactionRow): ApiError =>
  errors.conflict({
    message:
      block_number === null
        ? `The nonce of the transaction is used already${is_final === 1 && error !== null ? `: ${error}` : ''}.`
        : `The transaction is in block ${block_number} already.`,
  })
