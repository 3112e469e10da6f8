import type { Database } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import { headOf, logsOf, quantity, type Block, type Chain } from '../../onchain/index.ts'
import { tokensIn, TRANSFER } from './arrivals.ts'
import { readTokenBalances } from './balances.ts'
import { knownUntil, type BlockReading } from './block-readings.ts'
import { upTo } from './moved-tokens.ts'
import { receiptOf, TOKEN_BALANCE, type ReceiptRow, type RequestRow } from './request-rows.ts'

/** Transfers to one address that one recheck stores. */
const TRANSFERS_MAX = 100

type Due = Pick<RequestRow, 'id' | 'address' | 'contract' | 'expired_block' | 'looked_block'>

/**
 * What addresses have of the tokens that were asked for beyond what is known until a block, by the logs of their transfers. If
 * the node does not answer logs of so many blocks, what the balance shows counts, without a transaction.
 *
 * @param requests whose time is over
 * @throws PROVIDER_ERROR
 */
export async function tokensBeyond(
  db: Pick<Database, 'all'>,
  chain: Chain,
  block: BlockReading['block'],
  requests: readonly Due[],
): Promise<ReceiptRow[]> {
  const tokenRequests = requests.filter(({ contract }) => contract !== '')
  const balances = await readTokenBalances(chain, tokenRequests, block)
  const holdings = tokenRequests.flatMap((request, at) =>
    balances[at]! > 0n ? [{ request, balance: balances[at]! }] : [],
  )
  if (holdings.length === 0) return []
  const stored = await db.all<ReceiptRow>(sql`
    select chain, block_number, address, transaction_hash, log_index, request_id, contract, amount, block_time
    from pay_receipts where chain = ${chain.name} and request_id in (${sql.join(holdings.map(({ request }) => request.id))})`)
  const payments = holdings.flatMap(({ request, balance }) => {
    const recordedReceipts = stored.filter(
      (one) => one.request_id === request.id && one.contract === request.contract,
    )
    const amount = balance - knownUntil(block.number, recordedReceipts)
    return amount > 0n ? [{ request, recordedReceipts, amount }] : []
  })
  const logged = await transfersTo(
    chain,
    block,
    payments.map(({ request }) => request),
  )
  return payments.flatMap(({ request, recordedReceipts, amount }, at) => {
    const transfers = logged[at]
    if (!transfers) {
      const { contract } = request
      return [receiptOf(chain.name, request, { contract, amount, hash: '', logIndex: TOKEN_BALANCE, block })]
    }
    const isKnown = (one: ReceiptRow): boolean =>
      recordedReceipts.some(
        ({ transaction_hash, log_index }) =>
          transaction_hash === one.transaction_hash && log_index === one.log_index,
      )
    return upTo(
      amount,
      transfers.filter((one) => !isKnown(one)),
    ).slice(0, TRANSFERS_MAX)
  })
}

/** The transfers to the addresses of requests since the last recheck; undefined for those of which the node does not answer the logs. */
async function transfersTo(
  chain: Chain,
  { number }: BlockReading['block'],
  requests: readonly Due[],
): Promise<(ReceiptRow[] | undefined)[]> {
  if (requests.length === 0) return []
  const answers = await chain.rpc.batch(
    requests.map(({ address, contract, expired_block, looked_block }) => ({
      method: 'eth_getLogs',
      params: [
        {
          address: contract,
          topics: [TRANSFER, null, `0x${address.slice(2).padStart(64, '0')}`],
          fromBlock: quantity(Math.min(number, Math.max(expired_block ?? 0, (looked_block ?? -1) + 1))),
          toBlock: quantity(number),
        },
      ],
    })),
  )
  const logs = answers.map((answer) => (answer.error ? undefined : logsOf(chain.name, answer)))
  const numbers = [...new Set(logs.flatMap((some) => some ?? []).map(({ blockNumber }) => blockNumber))]
  const heads = new Map(
    (numbers.length === 0
      ? []
      : await chain.rpc.batch(
          numbers.map((one) => ({ method: 'eth_getBlockByNumber', params: [quantity(one), false] })),
        )
    ).flatMap(({ result }) => {
      const head = headOf(result)
      return head ? [[head.number, head] as const] : []
    }),
  )
  return requests.map((request, at) =>
    logs[at]?.flatMap((one) => {
      const head = heads.get(one.blockNumber)
      if (!head) throw new Error(`the node has logs of block ${one.blockNumber}, and not the block`)
      const block: Block = { ...head, transactions: [], logs: [one] }
      return tokensIn(block)
        .filter(({ to, contract }) => to === request.address && contract === request.contract)
        .map((arrival) => receiptOf(chain.name, request, arrival))
    }),
  )
}
