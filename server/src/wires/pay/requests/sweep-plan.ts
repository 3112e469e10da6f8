import type { Address, Hex } from '../../../base/hex.ts'
import { once } from '../../../base/once.ts'
import { encodeFunctionData, getAddress, isHex, parseAbi } from '../../../base/viem.ts'
import type { Database } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import type { Chain, Onchain, RpcCall } from '../../onchain/index.ts'
import { readBalances } from './balances.ts'
import { chunksOf } from './request-rows.ts'

const CALLS = 500
const COIN_DECIMALS = 18
/** What is kept of the coin for the gas, and paid for the gas of a token: fees rise, and layer 2 chains add theirs. */
export const MARGIN = 2n

const erc20 = once(() =>
  parseAbi([
    'function balanceOf(address owner) view returns (uint256)',
    'function transfer(address to, uint256 value) returns (bool)',
  ]),
)

/** What lies at a receiving address. */
export type SweepItem = {
  requestId: string
  chain: string
  address: Address
  /** In lower case; empty: the native coin. */
  contract: string
  symbol: string
  decimals: number
  /** In the smallest unit. */
  amount: bigint
  /** That the transfer needs. */
  gas: bigint
  /** Wei that the transfer may cost now. */
  cost: bigint
  /** Wei at the address. */
  coin: bigint
}

type Place = { id: string; address: string }

/** The call that moves an amount to the treasury: of a token, or of the native coin. */
export const transferOf = (
  { contract, amount }: Pick<SweepItem, 'contract' | 'amount'>,
  treasury: Address,
): { to: Address; value: bigint; data?: Hex } =>
  contract === ''
    ? { to: treasury, value: amount }
    : {
        to: getAddress(contract),
        value: 0n,
        data: encodeFunctionData({ abi: erc20(), functionName: 'transfer', args: [treasury, amount] }),
      }

/**
 * Reads what lies at the addresses of requests that no payment is awaited for, on all chains: the native coin and the
 * configured tokens. Coin that is worth less than its transfer costs, as an earlier one leaves it, is left out.
 *
 * @throws PROVIDER_ERROR
 */
export async function readSweepItems(
  db: Pick<Database, 'scan'>,
  { chains, tokens, fees }: Pick<Onchain, 'chains' | 'tokens' | 'fees'>,
  { fingerprint, treasury }: { fingerprint: string; treasury: Address },
): Promise<SweepItem[]> {
  const plannedItems: SweepItem[] = []
  for (const chain of chains.all.filter(({ isConfigured }) => isConfigured)) {
    const places = await db.scan<Place>(sql`
      select id, address from pay_requests r where is_open = 0 and fingerprint = ${fingerprint}
        and address <> ${treasury.toLowerCase()}
        and not exists (select 1 from pay_sweeps s
          where s.request_id = r.id and s.chain = ${chain.name} and s.status in ('waiting', 'sent'))
      order by id`)
    if (places.length === 0) continue
    const { maxFee } = await fees(chain, await chain.head())
    const [coins] = await readBalances(
      chain,
      places.map(({ address }) => address),
      ['latest'],
    )
    const coinOf = ({ address }: Place): bigint => coins?.get(address) ?? 0n
    const base = (place: Place) => ({
      requestId: place.id,
      chain: chain.name,
      address: getAddress(place.address),
      coin: coinOf(place),
    })
    const items: Omit<SweepItem, 'gas' | 'cost'>[] = []
    for (const [symbol, contract] of Object.entries(chain.tokens)) {
      const token = await tokens.read(chain, getAddress(contract.toLowerCase()))
      if (!token) continue
      const amounts = await tokenBalances(chain, token.address, places)
      for (const [at, amount] of amounts.entries())
        if (amount > 0n)
          items.push({
            ...base(places[at]!),
            contract: contract.toLowerCase(),
            symbol,
            decimals: token.decimals,
            amount,
          })
    }
    // Last, because the transfers of tokens are paid with it.
    for (const place of places)
      if (coinOf(place) > 0n)
        items.push({
          ...base(place),
          contract: '',
          symbol: chain.symbol,
          decimals: COIN_DECIMALS,
          amount: coinOf(place),
        })
    const gas = await estimate(chain, items, treasury)
    const priced = items.map((item, at) => ({ ...item, gas: gas[at]!, cost: gas[at]! * maxFee }))
    plannedItems.push(...priced.filter(({ contract, coin, cost }) => contract !== '' || coin > cost * MARGIN))
  }
  return plannedItems
}

async function batches(chain: Chain, calls: readonly RpcCall[]): Promise<unknown[]> {
  const answers: unknown[] = []
  for (const chunk of chunksOf(calls, CALLS))
    answers.push(...(await chain.rpc.batch(chunk)).map(({ result }) => result))
  return answers
}

async function tokenBalances(chain: Chain, contract: Address, places: readonly Place[]): Promise<bigint[]> {
  const results = await batches(
    chain,
    places.map(({ address }) => {
      const data = encodeFunctionData({
        abi: erc20(),
        functionName: 'balanceOf',
        args: [address as Address],
      })
      return { method: 'eth_call', params: [{ to: contract, data }, 'latest'] }
    }),
  )
  return results.map((result) => (isHex(result) && result.length === 66 ? BigInt(result) : 0n))
}

/** The gas of each transfer, with a quarter more; 0: it would fail. */
async function estimate(
  chain: Chain,
  items: readonly Omit<SweepItem, 'gas' | 'cost'>[],
  treasury: Address,
): Promise<bigint[]> {
  const results = await batches(
    chain,
    items.map((item) => {
      const { to, value, data } = transferOf(item, treasury)
      // One wei of coin, so that enough is left for the gas.
      const transaction = { from: item.address, to, value: value > 0n ? '0x1' : '0x0', ...(data && { data }) }
      return { method: 'eth_estimateGas', params: [transaction] }
    }),
  )
  return results.map((result) => (isHex(result) ? (BigInt(result) * 5n) / 4n : 0n))
}
