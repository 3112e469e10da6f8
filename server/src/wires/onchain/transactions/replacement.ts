import { BoundedMap } from '../../../base/bounded-map.ts'
import { ApiError, errors } from '../../../base/errors.ts'
import { requireRow, type Step } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import { isQuantity, type Chain } from '../chains/chain.ts'
import type { Signers } from '../wallets/signers.ts'
import { maxFeeFor, TRANSFER_GAS } from './bounds.ts'
import type { Unmined } from './broadcast.ts'
import { bumpedFees, type CurrentFees, type Fees } from './fees.ts'
import { signTransaction, type Unsigned } from './signing.ts'
import type { OnchainTransactionEvents } from './transaction-events.ts'
import { insertSignedSql } from './transaction-rows.ts'

const REPORTED_MAX = 1_000
/** What the transfer of nothing may need at most: rollups count their own costs as gas. */
const CANCEL_GAS_MAX = 2_000_000n

/** Wei that the versions of one pass may cost; it goes down with each. */
export type Budget = { remaining: bigint }

export type Revision = {
  /** Why the new version cancels the transaction: it sends nothing to its own address. Undefined: as the newest version. */
  cancels?: string | undefined
  /** Whether no node has ever had a version: then the fees of now are enough. It is a condition of the statement as well. */
  isUnseen?: boolean
  budget?: Budget
  /** Steps that are kept with the new version or not at all, by its hash. */
  withSql?: (hash: string) => readonly Step[]
}

/** `changed`: it was mined or replaced meanwhile. `kept`: it stays as it is, and why, in words that follow "because". */
export type Revised = { kind: 'stored' } | { kind: 'changed' } | { kind: 'kept'; reason: string }

export type Replacements = {
  /**
   * Signs a new version of a transaction, and stores it as its newest if it is still the newest and in no block. A node takes
   * it only if both fees are higher by a tenth at least, and drops what is below a risen base fee.
   */
  revise(chain: Chain, row: Unmined, revision?: Revision): Promise<Revised>
  /** The same of a transaction that is stuck: if it is kept, the log says so once. @returns whether it was replaced */
  replace(chain: Chain, row: Unmined, budget: Budget): Promise<boolean>
  /** What the address of a queue has now. */
  budgetOf(chain: Chain, address: string): Promise<Budget>
}

const changedMeanwhile = errors.unavailable({ message: 'The transaction was mined or replaced meanwhile.' })

export function createReplacements(
  { db, clock, log }: Pick<WireContext, 'db' | 'clock' | 'log'>,
  {
    signers,
    fees: currentFees,
    events,
  }: { signers: Signers; fees: CurrentFees; events: Pick<OnchainTransactionEvents, 'publishSql'> },
): Replacements {
  /** Why a transaction was not replaced, by its id, so that the log says it once. */
  const reported = new BoundedMap<string, string>(REPORTED_MAX)

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
  async function feesFor(
    chain: Chain,
    id: string,
    gas: bigint,
    isUnseen: boolean,
  ): Promise<Fees | undefined> {
    const head = await chain.head()
    try {
      const current = await currentFees(chain, head)
      return isUnseen ? current : bumpedFees(await highestFees(id), current, maxFeeFor(chain, gas))
    } catch (error) {
      // The base fee is above the most that is paid.
      if (error instanceof ApiError && error.code === errors.unavailable.code) return undefined
      throw error
    }
  }

  async function budgetOf(chain: Chain, address: string): Promise<Budget> {
    const balance = await chain.rpc.call('eth_getBalance', [address, 'latest'])
    return { remaining: isQuantity(balance) ? BigInt(balance) : 0n }
  }

  async function store(
    row: Unmined,
    version: { hash: `0x${string}`; raw: `0x${string}`; fees: Fees; cost: bigint },
    { cancels, isUnseen = false, withSql }: Revision,
  ): Promise<boolean> {
    const now = clock.now()
    const { hash, raw, fees } = version
    // An earlier version may still be mined.
    const cost = version.cost > BigInt(row.cost) ? version.cost : BigInt(row.cost)
    const unseenSql: Sql = sql`not exists (
      select 1 from onchain_signed where transaction_id = ${row.id} and seen_at is not null)`
    try {
      await db.batch([
        requireRow(
          sql`update onchain_transactions set hash = ${hash}, cost = ${String(cost)}, error = ${cancels ?? null},
              broadcast_at = null, broadcasts = 0, updated_at = ${now}
            where id = ${row.id} and hash = ${row.hash} and block_number is null and is_final = 0
              and ${isUnseen ? unseenSql : sql`1 = 1`}
            returning id`,
          () => changedMeanwhile,
        ),
        insertSignedSql({
          hash,
          transaction_id: row.id,
          raw,
          max_fee: String(fees.maxFee),
          priority_fee: String(fees.priorityFee),
          created_at: now,
          ...(cancels !== undefined && { cancels }),
        }),
        ...events.publishSql('replaced', row.id),
        ...(withSql?.(hash) ?? []),
      ])
      return true
    } catch (error) {
      if (error === changedMeanwhile) return false
      throw error
    }
  }

  async function revise(chain: Chain, row: Unmined, revision: Revision = {}): Promise<Revised> {
    const keep = (reason: string): Revised => ({ kind: 'kept', reason })
    const cancels = revision.cancels ?? row.cancels ?? undefined
    const content = cancels === undefined ? contentOf(row) : await cancellationOf(chain, row)
    const fees = await feesFor(chain, row.id, content.gas, revision.isUnseen ?? false)
    if (!fees) return keep('its fee is the highest that the configuration allows')
    const cost = content.value + content.gas * fees.maxFee
    const budget = revision.budget ?? (await budgetOf(chain, row.sender))
    if (budget.remaining < cost) return keep('its address has too little for a higher fee')
    const signer = await signers.find(row.sender)
    if (!signer) return keep('its key is not here any more')
    const { chainId } = await chain.identity()
    const signature = await signTransaction(signer, { ...fees, ...content, chainId, nonce: row.nonce })
    if (signature.kind !== 'accepted') return keep(signature.reason)
    const isStored = await store(row, { ...signature, fees, cost }, { ...revision, cancels })
    if (!isStored) return { kind: 'changed' }
    budget.remaining -= cost
    reported.delete(row.id)
    log.info(
      {
        chain: chain.name,
        address: row.sender,
        nonce: row.nonce,
        before: row.hash,
        hash: signature.hash,
        ...(cancels !== undefined && { cancels }),
      },
      cancels === undefined
        ? 'a transaction is replaced with higher fees'
        : 'a transaction is cancelled: a transfer of nothing to its own address takes its nonce',
    )
    return { kind: 'stored' }
  }

  return {
    revise,
    budgetOf,
    async replace(chain, row, budget) {
      const revised = await revise(chain, row, { budget })
      if (revised.kind !== 'kept') return true
      const { id, sender, nonce, hash } = row
      if (reported.get(id) !== revised.reason)
        log.warn(
          { chain: chain.name, address: sender, nonce, hash, reason: revised.reason },
          'a transaction is stuck and is not replaced',
        )
      reported.set(id, revised.reason)
      return false
    },
  }
}

type Content = Pick<Unsigned, 'to' | 'value' | 'data' | 'gas'>

const contentOf = ({ recipient, value, data, gas }: Unmined): Content => ({
  to: recipient,
  value: BigInt(value),
  data,
  gas: BigInt(gas),
})

/** A transfer of nothing to the own address. */
async function cancellationOf(chain: Chain, { sender }: Unmined): Promise<Content> {
  const [answer] = await chain.rpc.batch([
    { method: 'eth_estimateGas', params: [{ from: sender, to: sender, value: '0x0' }] },
  ])
  const estimate = isQuantity(answer!.result) ? BigInt(answer!.result) : TRANSFER_GAS
  const gas = estimate <= TRANSFER_GAS ? TRANSFER_GAS : (estimate * 5n + 3n) / 4n
  return { to: sender, value: 0n, data: '0x', gas: gas < CANCEL_GAS_MAX ? gas : CANCEL_GAS_MAX }
}
