import type { Hex } from '../../../base/hex.ts'
import type { Database } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import type { Block, Chain } from '../../onchain/index.ts'
import { contractCoin } from './contract-coin.ts'
import { movedTokens } from './moved-tokens.ts'
import { chunksOf, COIN, receiptOf, type ReceiptRow, type RequestRow } from './request-rows.ts'

/** `Transfer(address,address,uint256)`. https://eips.ethereum.org/EIPS/eip-20#events */
export const TRANSFER: Hex = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
/** With two indexed addresses; ERC-721 indexes the id of the token as well. */
const TRANSFER_TOPICS = 3
/** Receipts of one request beyond which those of other tokens and chains are not stored. */
const UNEXPECTED_MAX = 100
/** `0x` and a uint256. */
const AMOUNT_LENGTH = 66

/** A transfer of coin or tokens in a block, to any address. */
type Arrival = {
  to: string
  from: string
  contract: string
  amount: bigint
  hash: string
  logIndex: number
  block: Block
}

/**
 * What arrived at addresses of requests in blocks: transfers of any token as its logs show them, and of the token that was
 * asked for no more than the balance has grown by; coin as transactions show it, and coin that a contract sent as the balances show it. The number of requests to the node does not depend on how many
 * payments are awaited.
 *
 * @returns `isWhole`: whether the balances are known
 * @throws PROVIDER_ERROR
 */
export async function arrivalsIn(
  db: Pick<Database, 'all'>,
  chain: Chain,
  blocks: readonly Block[],
  now: number,
): Promise<{ receipts: ReceiptRow[]; isWhole: boolean }> {
  const arrivals = blocks.flatMap((block) => [...coinIn(block), ...tokensIn(block)])
  const requests = await requestsAt(db, [...new Set(arrivals.map(({ to }) => to))], now)
  const ours = arrivals.filter(({ to }) => requests.has(to))
  const [own, failures] = await Promise.all([ownPairs(db, chain.name, ours), failedOf(chain, ours)])
  const receipts = ours
    .filter(
      ({ hash, from, to, contract }) => !failures.has(hash) && !(contract === '' && own.has(`${from} ${to}`)),
    )
    .map((one) => receiptOf(chain.name, requests.get(one.to)!, one))
  const unspammed = await withoutSpam(db, receipts, [...requests.values()])
  const limited = await withBalances(db, chain, { blocks, arrivals, requests, receipts: unspammed })
  const coin = await contractCoin(db, chain, blocks, limited)
  return { receipts: [...limited, ...(coin ?? [])], isWhole: coin !== undefined }
}

const coinIn = (block: Block): Arrival[] =>
  block.transactions.flatMap(({ to, from, value, hash }) =>
    to === null || value === 0n
      ? []
      : [
          {
            to: to.toLowerCase(),
            from: from.toLowerCase(),
            contract: '',
            amount: value,
            hash,
            logIndex: COIN,
            block,
          },
        ],
  )

export const tokensIn = (block: Block): Arrival[] =>
  block.logs.flatMap(({ address, topics, data, transactionHash, logIndex }) =>
    topics.length !== TRANSFER_TOPICS ||
    topics[0] !== TRANSFER ||
    data.length !== AMOUNT_LENGTH ||
    BigInt(data) === 0n
      ? []
      : [
          {
            to: addressIn(topics[2]!),
            from: addressIn(topics[1]!),
            contract: address.toLowerCase(),
            amount: BigInt(data),
            hash: transactionHash,
            logIndex,
            block,
          },
        ],
  )

/** An address as a topic, which has 32 bytes. */
const addressIn = (topic: Hex): string => `0x${topic.slice(-40)}`

type Awaited = Pick<RequestRow, 'id' | 'chain' | 'contract' | 'address' | 'is_swept'>

/** The requests that are paid at these addresses, on whatever chain, by address. */
async function requestsAt(
  db: Pick<Database, 'all'>,
  addresses: readonly string[],
  now: number,
): Promise<Map<string, Awaited>> {
  const logs = await Promise.all(
    chunksOf(addresses).map((chunk) =>
      db.all<Awaited>(sql`
        select id, chain, contract, address, is_swept from pay_requests where address in (${sql.join(chunk)}) and watched_until > ${now}`),
    ),
  )
  return new Map(logs.flat().map((one) => [one.address, one]))
}

/** The receipts with what arrived of the tokens that were asked for. Nobody relies on what others log. */
async function withBalances(
  db: Pick<Database, 'all'>,
  chain: Chain,
  shown: {
    blocks: readonly Block[]
    arrivals: readonly Arrival[]
    requests: ReadonlyMap<string, Awaited>
    receipts: readonly ReceiptRow[]
  },
): Promise<ReceiptRow[]> {
  const { blocks, arrivals, requests, receipts } = shown
  const isAskedToken = ({ address, contract }: ReceiptRow): boolean => {
    const request = requests.get(address)!
    return contract !== '' && request.chain === chain.name && request.contract === contract
  }
  const groups = Map.groupBy(
    receipts.filter(isAskedToken),
    ({ address, block_number }) => `${block_number} ${address}`,
  )
  const logged = [...groups.values()].map((group) => {
    const { address, contract, block_number: number } = group[0]!
    const block = blocks.find((one) => one.number === number)!
    const isSent = (one: Arrival): boolean =>
      one.block === block && one.from === address && one.contract === contract
    const outgoing = arrivals.filter(isSent).reduce((sum, { amount }) => sum + amount, 0n)
    const isSwept = requests.get(address)!.is_swept === 1
    return { contract, address, block, receipts: group, sent: isSwept ? outgoing : undefined }
  })
  return [...receipts.filter((one) => !isAskedToken(one)), ...(await movedTokens(db, chain, logged))]
}

/** Anybody can make a contract that shows transfers to our addresses: of what nobody asked for a part is enough. */
async function withoutSpam(
  db: Pick<Database, 'all'>,
  receipts: readonly ReceiptRow[],
  requests: readonly Awaited[],
): Promise<ReceiptRow[]> {
  const byId = new Map(requests.map((one) => [one.id, one]))
  const isUnexpected = ({ request_id, chain, contract }: ReceiptRow): boolean =>
    byId.get(request_id)!.chain !== chain || byId.get(request_id)!.contract !== contract
  const ids = [...new Set(receipts.filter(isUnexpected).map(({ request_id }) => request_id))]
  if (ids.length === 0) return [...receipts]
  const rows = await db.all<{ id: string; count: number }>(sql`
    select request_id as id, count(*) as count from pay_receipts where request_id in (${sql.join(ids)}) group by request_id`)
  const counts = new Map(rows.map(({ id, count }) => [id, count]))
  return receipts.filter((one) => {
    if (!isUnexpected(one)) return true
    const count = counts.get(one.request_id) ?? 0
    counts.set(one.request_id, count + 1)
    return count < UNEXPECTED_MAX
  })
}

/** Who sent coin of ours to an address, to pay for the gas of its sweep, as `from to`. */
async function ownPairs(
  db: Pick<Database, 'all'>,
  chain: string,
  arrivals: readonly Arrival[],
): Promise<ReadonlySet<string>> {
  const addresses = arrivals.flatMap(({ to, contract }) => (contract === '' ? [to] : []))
  if (addresses.length === 0) return new Set()
  const rows = await db.all<{ sender: string; address: string }>(sql`
    select sender, address from pay_sweep_funding where chain = ${chain} and address in (${sql.join(addresses)})`)
  return new Set(rows.map(({ sender, address }) => `${sender} ${address}`))
}

/** The transactions that are in a block and moved no coin. Those of logs succeeded. */
async function failedOf({ rpc }: Chain, arrivals: readonly Arrival[]): Promise<ReadonlySet<string>> {
  const coin = arrivals.filter(({ contract }) => contract === '')
  if (coin.length === 0) return new Set()
  const answers = await rpc.batch(
    coin.map(({ hash }) => ({ method: 'eth_getTransactionReceipt', params: [hash] })),
    {
      believe: (receipts) =>
        coin.every(({ block }, at) => statusIn(block, receipts[at]!.result) !== undefined)
          ? undefined
          : 'shows a transaction in a block and no receipt of it there',
    },
  )
  return new Set(
    coin.flatMap(({ hash, block }, at) => (statusIn(block, answers[at]!.result) === '0x1' ? [] : [hash])),
  )
}

/** Of a transaction in this block: in another one, after a reorganisation, it may have ended otherwise. */
function statusIn({ hash }: Block, receipt: unknown): string | undefined {
  const { status, blockHash } = (receipt ?? {}) as { status?: unknown; blockHash?: unknown }
  const isThere = typeof blockHash === 'string' && blockHash.toLowerCase() === hash
  return isThere && typeof status === 'string' ? status : undefined
}
