import { formatGwei } from '../../../base/viem.ts'
import type { Clock } from '../../../base/clock.ts'
import { errors } from '../../../base/errors.ts'
import { quantity } from '../chains/blocks.ts'
import { isQuantity, type Chain, type Head } from '../chains/chain.ts'
import type { RpcAnswer } from '../chains/rpc.ts'
import { NO_BASE_FEE, onchainErrors } from '../errors.ts'

/** How long a tip that a node suggested is used. */
const KEPT_MS = 3_000
/** How many blocks are read to compare what a node suggests, and how much more than they paid is believed. */
const HISTORY = 20
const MOST_OF_HISTORY = 2n
/** The same where no node shows them, in the chain's usual tips. */
const MOST_UNCHECKED = 5n
const RETRY_AFTER = 30

/** What a transaction pays per unit of gas, in wei (EIP-1559). */
export type Fees = {
  /** At most, the base fee included. */
  maxFee: bigint
  /** To who mines it: the tip. */
  priorityFee: bigint
}

/**
 * What a transaction of now should pay.
 *
 * @throws PROVIDER_ERROR if no node answers; UNSUPPORTED_CHAIN if the chain has no base fee; UNAVAILABLE if its base fee is above the most
 *   that the operator allows
 */
export type CurrentFees = (chain: Chain, head: Head) => Promise<Fees>

/** The fees of each chain; a tip is asked for once in a few seconds. */
export function createFees({ clock }: { clock: Clock }): CurrentFees {
  const tips = new Map<string, { at: number; tip: Promise<bigint> }>()

  function tipOf(chain: Chain): Promise<bigint> {
    const cachedTip = tips.get(chain.name)
    if (cachedTip && clock.elapsed() - cachedTip.at < KEPT_MS) return cachedTip.tip
    const request = { at: clock.elapsed(), tip: askTip(chain) }
    tips.set(chain.name, request)
    request.tip.catch(() => {
      if (tips.get(chain.name) === request) tips.delete(chain.name)
    })
    return request.tip
  }

  return async (chain, { baseFeePerGas }) => {
    const { name, maxFee: cap } = chain
    if (baseFeePerGas === undefined)
      throw onchainErrors.unsupported_chain({ message: `Nothing can be sent on ${name}: ${NO_BASE_FEE}.` })
    if (baseFeePerGas > cap)
      throw errors.unavailable({
        message: `The base fee of ${name} is ${formatGwei(baseFeePerGas)} gwei, and transactions pay ${formatGwei(cap)} at most: try again later.`,
        retryAfter: RETRY_AFTER,
      })
    const tip = await tipOf(chain)
    // Twice the base fee: it may rise for six full blocks before the transaction has to be replaced.
    const maxFee = least(2n * baseFeePerGas + tip, cap)
    return { maxFee, priorityFee: least(tip, maxFee) }
  }
}

/**
 * The tip that a node suggests, compared with what blocks paid: a node that is wrong by a factor would cost all that the cap
 * allows. Quiet blocks pay nothing, so the chain's usual tip is always believed.
 *
 * @see https://ethereum.github.io/execution-apis/api/methods/eth_maxPriorityFeePerGas/
 */
async function askTip({ rpc, usualTip }: Chain): Promise<bigint> {
  const [suggested, history] = await rpc.batch([
    { method: 'eth_maxPriorityFeePerGas' },
    { method: 'eth_feeHistory', params: [quantity(HISTORY), 'latest', [50]] },
  ])
  const tips = medianTips(history!)
  if (!isQuantity(suggested!.result)) return tips[Math.floor(tips.length / 2)] ?? usualTip
  const most =
    tips.length > 0 ? greatest(tips.at(-1)! * MOST_OF_HISTORY, usualTip) : usualTip * MOST_UNCHECKED
  return least(BigInt(suggested!.result), most)
}

/** The median tip of each recent block, the lowest first. */
function medianTips({ result }: RpcAnswer): bigint[] {
  const { reward } = (result ?? {}) as { reward?: unknown }
  if (!Array.isArray(reward)) return []
  return (reward as unknown[])
    .map((block) => (Array.isArray(block) ? (block[0] as unknown) : undefined))
    .filter(isQuantity)
    .map(BigInt)
    .toSorted((one, other) => (one < other ? -1 : 1))
}

/**
 * The fees of a transaction that replaces another one of the same nonce. Nodes take it if both are higher by 10 %; these are
 * by 12.5 %, and at least what a transaction of now pays.
 *
 * @param cap the most that is paid per unit of gas
 * @returns undefined if the cap allows none that nodes would take
 */
export function bumpedFees(old: Fees, current: Fees, cap: bigint): Fees | undefined {
  const maxFee = raise(old.maxFee)
  const priorityFee = raise(old.priorityFee)
  if (maxFee > cap || priorityFee > cap) return undefined
  const most = least(greatest(maxFee, current.maxFee, priorityFee), cap)
  return { maxFee: most, priorityFee: least(greatest(priorityFee, current.priorityFee), most) }
}

const raise = (fee: bigint): bigint => greatest((fee * 9n + 7n) / 8n, fee + 1n)
const least = (one: bigint, other: bigint): bigint => (one < other ? one : other)
const greatest = (...values: readonly bigint[]): bigint =>
  values.reduce((one, two) => (one > two ? one : two))
