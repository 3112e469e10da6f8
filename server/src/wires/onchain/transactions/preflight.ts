import type { Address } from '../../../base/hex.ts'
import { ApiError } from '../../../base/errors.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import type { Chain, Head } from '../chains/chain.ts'
import type { RpcAnswer } from '../chains/rpc.ts'
import { onchainErrors } from '../errors.ts'
import type { CurrentFees, Fees } from './fees.ts'
import type { Intent } from './intent.ts'
import { needsCode } from './limits.ts'
import {
  ACCOUNT_CALLS,
  accountCalls,
  accountDoubt,
  accountOf,
  minimumCount,
  type AccountState,
} from './account.ts'
import { estimateDoubt, isContractCode, simulationCall } from './simulation.ts'

/** The limit of a request that simulates. */
const SIMULATION_MS = 8_000
/** A node that failed sooner is asked once more, about the newest block. */
const SOON_MS = 3_000

/** What the nodes say about an address and about what it is to send, before anything is signed. */
export type Preflight = {
  head: Head
  /** Whether the head was asked for now, so that nothing that came in before can be missing. */
  isFresh: boolean
  chainId: number
  /** How many transactions of the address are final, at least. */
  minimum: number
  fees: Fees
  account: AccountState
  /** Of each intent; an error if this one alone could not be simulated. */
  simulations: readonly (RpcAnswer | ApiError)[]
  /** Of each intent: whether there is a contract at its destination, as far as a limit needs it. */
  hasCode: readonly boolean[]
}

/**
 * Makes the function that asks the nodes about intents of one address, in one request.
 *
 * @throws PROVIDER_ERROR if no node answers what can be believed
 */
export function createPreflight(
  { db, clock }: Pick<WireContext, 'db' | 'clock'>,
  { currentFees }: { currentFees: CurrentFees },
) {
  async function ask(intents: readonly Intent[], head: Head, isFresh: boolean): Promise<Preflight> {
    const { chain, signer } = intents[0]!
    const [{ chainId }, minimum, fees] = await Promise.all([
      chain.identity(),
      minimumCount(db, chain, signer.address),
      currentFees(chain, head),
    ])
    const doubtOf = (answers: readonly RpcAnswer[]) => accountDoubt(answers, { chainId, head, minimum })
    const [{ account, simulations }, hasCode] = await Promise.all([
      simulate(intents, head, doubtOf),
      readCode(chain, intents),
    ])
    return { head, isFresh, chainId, minimum, fees, account, simulations, hasCode }
  }

  return async (intents: readonly Intent[], wantsFresh: boolean): Promise<Preflight> => {
    const { chain } = intents[0]!
    const head = await chain.head({ isFresh: wantsFresh })
    const startedAt = clock.elapsed()
    try {
      return await ask(intents, head, wantsFresh)
    } catch (error) {
      // The block may be gone by a reorganisation, or not be at this node yet.
      const isNodes = error instanceof ApiError && error.code === onchainErrors.provider_error.code
      if (!isNodes || wantsFresh || clock.elapsed() - startedAt > SOON_MS) throw error
      return await ask(intents, await chain.head({ isFresh: true }), true)
    }
  }
}

type Doubt = (answers: readonly RpcAnswer[]) => string | undefined

async function simulate(
  intents: readonly Intent[],
  head: Head,
  doubtOf: Doubt,
): Promise<Pick<Preflight, 'account' | 'simulations'>> {
  const { chain, signer } = intents[0]!
  const account = accountCalls(signer.address, head)
  const estimatesDoubt = (of: readonly Intent[], answers: readonly RpcAnswer[]): string | undefined =>
    of.map((intent, at) => estimateDoubt(intent, answers[at]!)).find((doubt) => doubt !== undefined)
  try {
    const answers = await chain.rpc.batch([...account, ...intents.map(simulationCall)], {
      limitMs: SIMULATION_MS,
      believe: (all) =>
        doubtOf(all.slice(0, ACCOUNT_CALLS)) ?? estimatesDoubt(intents, all.slice(ACCOUNT_CALLS)),
    })
    return { account: accountOf(answers), simulations: answers.slice(ACCOUNT_CALLS) }
  } catch (error) {
    if (intents.length === 1) throw error
    // One of them may be too much for the nodes: the others are not to fail with it.
    const answers = await chain.rpc.batch(account, { believe: doubtOf })
    const simulations = await Promise.all(
      intents.map((intent) =>
        chain.rpc
          .batch([simulationCall(intent)], {
            limitMs: SIMULATION_MS,
            believe: (all) => estimatesDoubt([intent], all),
          })
          .then(([answer]) => answer!, apiErrorOf),
      ),
    )
    return { account: accountOf(answers), simulations }
  }
}

async function readCode(chain: Chain, intents: readonly Intent[]): Promise<boolean[]> {
  const addresses: Address[] = [...new Set(intents.filter(needsCode).map(({ to }) => to))]
  if (addresses.length === 0) return intents.map(() => false)
  const answers = await chain.rpc.batch(
    addresses.map((address) => ({ method: 'eth_getCode', params: [address, 'latest'] })),
    {
      believe: (all) =>
        all.every(({ result }) => typeof result === 'string') ? undefined : 'does not show the code',
    },
  )
  const contracts = new Set(addresses.filter((_address, at) => isContractCode(answers[at]!)))
  return intents.map(({ to }) => contracts.has(to))
}

function apiErrorOf(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  throw error
}
