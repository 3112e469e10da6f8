import type { WireContext } from '../../../kernel/wire/wire.ts'
import type { Chain } from '../chains/chain.ts'
import { seenSql, type Unmined } from './broadcast.ts'
import type { Replacements } from './replacement.ts'
import { verdictOf } from './verdicts.ts'

/**
 * Gives up a transaction that no node takes, so that the next ones of its queue are mined: a transfer of nothing to the own
 * address takes its nonce. That is done only if every configured node refuses these bytes for good and shows none of them now,
 * and if no node was ever seen to have a version. If one was mined all the same, the follower of the chain finds it.
 *
 * @param reason of the node that was asked first
 */
export async function cancelRefused(
  { db, clock, log }: Pick<WireContext, 'db' | 'clock' | 'log'>,
  replacements: Replacements,
  chain: Chain,
  row: Unmined,
  reason: string,
): Promise<void> {
  // What is refused as a transfer of nothing is refused for another reason.
  if (row.cancels !== null) return
  const answers = await chain.rpc.all([
    { method: 'eth_sendRawTransaction', params: [row.raw] },
    { method: 'eth_getTransactionByHash', params: [row.hash] },
  ])
  const isTaken = answers.some(
    ([sent, shown]) =>
      !sent!.error || verdictOf(sent!.error.message) === 'known' || (!shown!.error && shown!.result !== null),
  )
  if (isTaken) {
    await db.write(seenSql([row.hash], clock.now()))
    return
  }
  const isRefused =
    answers.length === chain.rpc.hosts.length &&
    answers.every(
      ([sent, shown]) =>
        verdictOf(sent!.error!.message) === 'never' && !shown!.error && shown!.result === null,
    )
  if (!isRefused) return
  const revised = await replacements.revise(chain, row, {
    cancels: `no node takes it: ${reason}`,
    isUnseen: true,
  })
  log.error(
    {
      chain: chain.name,
      address: row.sender,
      nonce: row.nonce,
      hash: row.hash,
      reason,
      ...(revised.kind === 'kept' && { kept: revised.reason }),
    },
    revised.kind === 'kept'
      ? 'no node takes a transaction, and it cannot be cancelled: it holds up what follows'
      : 'no node takes a transaction: it is cancelled',
  )
}
