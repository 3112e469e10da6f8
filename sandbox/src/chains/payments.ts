import { setTimeout as delay } from 'node:timers/promises'

import { formatUnits, isAddress, parseUnits } from 'viem/utils'

import type { Address, Hex } from '../../../server/src/base/hex.ts'
import { errors, invalid } from '../../../server/src/base/errors.ts'
import type { ChainAccounts } from './accounts.ts'
import type { LocalChain } from './chain.ts'
import { balanceCall, forwardCall, TOKEN, transferCall } from './contracts.ts'
import { NodeError } from './node.ts'

const MINED_TRIES = 200
const MINED_PAUSE_MS = 10

export const NATIVE = { symbol: 'ETH', decimals: 18 } as const
const AMOUNT = /^(?:0|[1-9]\d*)(?:\.(\d+))?$/
/** The account that pays: the first one is often imported into a wallet, whose nonces must not be taken. */
const PAYER = 1

export type ChainPayment = {
  to: string
  /** Decimal, in major units. */
  amount: string
  /** The symbol of the token; undefined for the native coin. */
  token?: string | undefined
  /** Whether a contract sends the native coin on. */
  viaContract?: boolean | undefined
}

export type Payments = {
  /**
   * Sends coin or tokens from the payer's account, and returns the hash.
   *
   * @throws VALIDATION_ERROR if there is no such address, amount or token, or more than the payer has
   */
  pay(chain: LocalChain, payment: ChainPayment): Promise<Hex>
  /** What the accounts have, as decimals in major units. */
  balances(chain: LocalChain): Promise<{ address: Address; balance: string; erc20: string }[]>
}

export function createPayments(accounts: ChainAccounts): Payments {
  /** One payment after the other, by chain: each takes the next nonce. */
  const last = new Map<string, Promise<unknown>>()

  function callOf(chain: LocalChain, payment: ChainPayment): { to: Address; value: bigint; data: Hex } {
    const { to, amount, token = NATIVE.symbol, viaContract = false } = payment
    if (!isAddress(to))
      throw invalid({
        path: '/body/to',
        message: 'must be 0x and 40 hexadecimal digits, in mixed case with the checksum of EIP-55',
      })
    const coin = [NATIVE, TOKEN].find(({ symbol }) => symbol === token)
    if (!coin)
      throw invalid({
        path: '/body/token',
        message: `must be ${TOKEN.symbol}, or absent for ${NATIVE.symbol}`,
      })
    const digits = AMOUNT.exec(amount)
    if (!digits || (digits[1]?.length ?? 0) > coin.decimals)
      throw invalid({
        path: '/body/amount',
        message: `must be a decimal number like 12.5, with ${coin.decimals} decimals at most`,
      })
    const value = parseUnits(amount, coin.decimals)
    if (value === 0n || value >= 2n ** 256n)
      throw invalid({ path: '/body/amount', message: 'must be more than 0, and less than 2^256' })
    const { erc20, forwarder } = accounts.contracts(chain.name)
    if (coin === NATIVE)
      return viaContract ? { to: forwarder, value, data: forwardCall(to) } : { to, value, data: '0x' }
    if (viaContract)
      throw invalid({
        path: '/body/viaContract',
        message: `must not be set with a token: a contract sends ${NATIVE.symbol} on`,
      })
    return { to: erc20, value: 0n, data: transferCall(to, value) }
  }

  async function send(chain: LocalChain, payment: ChainPayment): Promise<Hex> {
    const { to, value, data } = callOf(chain, payment)
    const payer = accounts.funded[PAYER]!
    const from = payer.address
    const [gas, price, nonce] = (await chain
      .batch([
        ['eth_estimateGas', [{ from, to, data, value: `0x${value.toString(16)}` }]],
        ['eth_gasPrice'],
        ['eth_getTransactionCount', [from, 'pending']],
      ])
      .catch(refused)) as [Hex, Hex, Hex]
    const raw = await payer.signTransaction({
      chainId: chain.chainId,
      to,
      value,
      data,
      nonce: Number(nonce),
      gas: (BigInt(gas) * 5n) / 4n,
      maxFeePerGas: BigInt(price) * 2n,
      maxPriorityFeePerGas: 1n,
    })
    const hash = (await chain.call('eth_sendRawTransaction', [raw]).catch(refused)) as Hex
    // The node mines the block shortly after it answers. Wait for it, so that the payment is found when this returns.
    for (let tries = 0; tries < MINED_TRIES; tries++) {
      if (await chain.call('eth_getTransactionReceipt', [hash])) break
      await delay(MINED_PAUSE_MS)
    }
    return hash
  }

  return {
    pay(chain, payment) {
      const previous = last.get(chain.name) ?? Promise.resolve()
      const current = previous.then(() => send(chain, payment))
      last.set(
        chain.name,
        current.catch(() => undefined),
      )
      return current
    },
    async balances(chain) {
      const { erc20 } = accounts.contracts(chain.name)
      const addresses = accounts.funded.map(({ address }) => address)
      const answers = (await chain.batch([
        ...addresses.map((address) => ['eth_getBalance', [address, 'latest']] as const),
        ...addresses.map(
          (address) => ['eth_call', [{ to: erc20, data: balanceCall(address) }, 'latest']] as const,
        ),
      ])) as Hex[]
      return addresses.map((address, at) => ({
        address,
        balance: formatUnits(BigInt(answers[at]!), NATIVE.decimals),
        erc20: formatUnits(BigInt(answers[addresses.length + at]!), TOKEN.decimals),
      }))
    },
  }
}

/** What the node says of a payment that it refuses: more than there is, or a contract that reverts. */
function refused(error: unknown): never {
  if (error instanceof NodeError)
    throw errors.validation_error({ message: `The node refuses it: ${error.message}` })
  throw error
}
