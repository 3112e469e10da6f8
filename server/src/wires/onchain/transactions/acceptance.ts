import { formatEther } from '../../../base/viem.ts'
import { ApiError } from '../../../base/errors.ts'
import { onchainErrors } from '../errors.ts'
import type { Intent } from './intent.ts'
import { feesWithin, sizeRefusal, TRANSFER_GAS } from './bounds.ts'
import type { Fees } from './fees.ts'
import { listRefusal, type Allowance } from './limits.ts'
import type { Preflight } from './preflight.ts'
import { gasOf } from './simulation.ts'

/** A caller who waits for what becomes of an intent. */
export type Candidate = { readonly intent: Intent; reject(error: unknown): void }

/** How an intent is signed. `cost` is its value and the most that its gas can cost, in wei. */
type Terms = { gas: bigint; fees: Fees; cost: bigint }

/** An intent that may be signed. */
export type AcceptedIntent<C extends Candidate> = Terms & { entry: C }

/**
 * Decides which of the intents of one address may be signed, one after the other; the others are rejected. What lacks funds
 * at a block of some moments ago is neither: it has to be checked again.
 *
 * @param pending wei that transactions may cost which are signed and not mined
 */
export function accept<C extends Candidate>(
  entries: readonly C[],
  state: Preflight,
  pending: bigint,
  allowance: Allowance,
): AcceptedIntent<C>[] {
  const accepted: AcceptedIntent<C>[] = []
  let reserved = pending
  for (const [at, entry] of entries.entries()) {
    const decision = decide(entry.intent, at, state, reserved)
    const refusal = decision instanceof ApiError ? decision : decision && allowance.take(entry.intent)
    if (refusal) entry.reject(refusal)
    else if (decision && !(decision instanceof ApiError)) {
      reserved += decision.cost
      accepted.push({ entry, ...decision })
    }
  }
  return accepted
}

function decide(
  intent: Intent,
  at: number,
  { head, account, fees: current, simulations, hasCode, isFresh }: Preflight,
  pending: bigint,
): Terms | ApiError | undefined {
  const { balance, blockGas } = account
  const costOf = (gas: bigint): bigint => intent.value + gas * current.maxFee
  const lacks = (cost: bigint): ApiError | undefined =>
    isFresh ? fundsError(intent, { balance, pending, cost }) : undefined
  const refusal = listRefusal(intent, hasCode[at]!) ?? sizeRefusal(intent.data ?? '0x')
  if (refusal) return refusal
  // Before the node's answer, which may be about the value as well, or about a contract that never got it.
  if (intent.value > balance - pending) return lacks(costOf(TRANSFER_GAS))
  const simulation = simulations[at]!
  if (simulation instanceof ApiError) return simulation
  const gas = gasOf(intent, simulation, blockGas)
  if (gas instanceof ApiError) return gas
  if (gas === 'no funds') return lacks(costOf(TRANSFER_GAS))
  const fees = feesWithin(intent.chain, head, current, gas)
  if (fees instanceof ApiError) return fees
  const cost = intent.value + gas * fees.maxFee
  return cost > balance - pending ? lacks(cost) : { gas, fees, cost }
}

function fundsError(
  { chain, signer }: Intent,
  amounts: { balance: bigint; pending: bigint; cost: bigint },
): ApiError {
  const [balance, pending, cost] = [amounts.balance, amounts.pending, amounts.cost].map((wei) =>
    formatEther(wei),
  )
  return onchainErrors.insufficient_funds({
    message: `${signer.address} has ${balance} ${chain.symbol} on ${chain.name}, of which ${pending} are for transactions that are not mined yet: the value and the fee need up to ${cost}.`,
    details: { balance, pending, cost },
  })
}
