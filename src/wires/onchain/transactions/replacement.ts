import { BoundedMap } from '../../../base/bounded-map.ts'
import { ApiError, errors } from '../../../base/errors.ts'
import { requireRow } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import type { WireContext } from '../../../kernel/wire.ts'
import { isQuantity, type Chain } from '../chains/chain.ts'
import type { Signers } from '../wallets/signers.ts'
import { maxFeeFor } from './bounds.ts'
import type { Unmined } from './broadcast.ts'
import { bumpedFees, type CurrentFees, type Fees } from './fees.ts'
import { signTransaction } from './signing.ts'
import { insertSignedSql } from './transaction-rows.ts'

const REPORTED_MAX = 1_000

export type Replacements = {
  /**
   * Signs a transaction that is stuck again, with higher fees and else the same, and stores that version as its newest.
   * A node takes it only if both fees are higher by a tenth at least, and drops what is below a risen base fee.
   *
   * @returns false if it stays as it is: the fees are at the cap, or there is no money or no key for more
   */
  replace(chain: Chain, row: Unmined): Promise<boolean>
}

const changedMeanwhile = errors.unavailable({ message: 'The transaction was mined or replaced meanwhile.' })

export function createReplacements(
  { db, clock, log }: Pick<WireContext, 'db' | 'clock' | 'log'>,
  { signers, fees: currentFees }: { signers: Signers; fees: CurrentFees },
): Replacements {
  /** Why a transaction was not replaced, by its id, so that the log says it once. */
  const reported = new BoundedMap<string, string>(REPORTED_MAX)

  function keep(chain: Chain, { id, sender, nonce, hash }: Unmined, reason: string): false {
    if (reported.get(id) !== reason)
      log.warn(
        { chain: chain.name, address: sender, nonce, hash, reason },
        'a transaction is stuck and is not replaced',
      )
    reported.set(id, reason)
    return false
  }

  /** The highest fees of all versions: a node may have any of them. */
  async function highestFees(id: string): Promise<Fees> {
    const versions = await db.all(sql<{ max_fee: string; priority_fee: string }>`
      select max_fee, priority_fee from onchain_signed where transaction_id = ${id}`)
    const highest = (values: string[]): bigint =>
      values.map(BigInt).reduce((most, one) => (one > most ? one : most), 0n)
    return {
      maxFee: highest(versions.map(({ max_fee }) => max_fee)),
      priorityFee: highest(versions.map(({ priority_fee }) => priority_fee)),
    }
  }

  /** The fees of the next version; undefined if the operator allows none. */
  async function feesFor(chain: Chain, { id, gas }: Unmined): Promise<Fees | undefined> {
    const [old, head] = [await highestFees(id), await chain.head()]
    try {
      return bumpedFees(old, await currentFees(chain, head), maxFeeFor(chain, BigInt(gas)))
    } catch (error) {
      // The base fee is above the most that is paid.
      if (error instanceof ApiError && error.code === errors.unavailable.code) return undefined
      throw error
    }
  }

  return {
    async replace(chain, row) {
      const fees = await feesFor(chain, row)
      if (!fees) return keep(chain, row, 'its fee is the highest that the configuration allows')
      const cost = BigInt(row.value) + BigInt(row.gas) * fees.maxFee
      const balance = await chain.rpc.call('eth_getBalance', [row.sender, 'latest'])
      if (!isQuantity(balance) || BigInt(balance) < cost)
        return keep(chain, row, 'its address has too little for a higher fee')
      const signer = await signers.find(row.sender)
      if (!signer) return keep(chain, row, 'its key is not here any more')
      const signed = await signTransaction(signer, {
        ...fees,
        chainId: (await chain.identity()).chainId,
        nonce: row.nonce,
        to: row.recipient,
        value: BigInt(row.value),
        data: row.data,
        gas: BigInt(row.gas),
      })
      if (signed.kind !== 'accepted') return keep(chain, row, signed.reason)
      const now = clock.now()
      try {
        await db.batch([
          requireRow(
            sql`update onchain_transactions set hash = ${signed.hash}, cost = ${String(cost)},
                broadcast_at = null, broadcasts = 0, updated_at = ${now}
              where id = ${row.id} and hash = ${row.hash} and block_number is null and is_final = 0
              returning id`,
            () => changedMeanwhile,
          ),
          insertSignedSql({
            hash: signed.hash,
            transaction_id: row.id,
            raw: signed.raw,
            max_fee: String(fees.maxFee),
            priority_fee: String(fees.priorityFee),
            created_at: now,
          }),
        ])
      } catch (error) {
        if (error === changedMeanwhile) return true
        throw error
      }
      reported.delete(row.id)
      log.info(
        { chain: chain.name, address: row.sender, nonce: row.nonce, before: row.hash, hash: signed.hash },
        'a stuck transaction is replaced with higher fees',
      )
      return true
    },
  }
}
