import { sql, type Sql } from '../../../db/sql.ts'
import type { Head } from '../../onchain/index.ts'
import type { TransactionRow } from '../ledger/transaction-rows.ts'
import { requestState, type RequestState } from './request-state.ts'

/** A payment request as it is stored. */
export type RequestRow = {
  id: string
  chain: string
  chain_id: number
  token: string
  /** In lower case; empty: the native coin. */
  contract: string
  display_amount: string
  /** In lower case. */
  address: string
  fingerprint: string
  address_index: number
  created_at: number
  expires_at: number
  watched_until: number
  expired_block: number | null
  is_open: number
  is_swept: number
  changes: number
  settled_changes: number
  /** When the balances are read next; null: no more. */
  look_at: number | null
  /** The block of which they were read last. */
  looked_block: number | null
}

/** What arrived at an address, in one block. */
export type ReceiptRow = {
  chain: string
  block_number: number
  address: string
  transaction_hash: string
  log_index: number
  request_id: string
  contract: string
  amount: string
  block_time: number
}

/** The place of native coin among the logs of a transaction. */
export const COIN = -1
/** The place of what the balance of a token shows. */
export const TOKEN_BALANCE = -2
/** How long after the expiry late payments are looked for first. */
export const RECHECK_MIN_MS = 60_000
/** How many ids a statement names. */
const CHUNK = 5_000

/** A request with its transaction, what arrived, and how far its chain is known, all of one moment. */
export type StoredRequest = {
  request: RequestRow
  order: Pick<TransactionRow, 'owner' | 'amount' | 'exponent' | 'status'>
  head: { number: number; time: number } | undefined
  receipts: readonly ReceiptRow[]
}

type JoinedRow = RequestRow &
  Pick<TransactionRow, 'owner' | 'amount' | 'exponent' | 'status'> & {
    head_number: number | null
    head_time: number | null
    receipt_chain: string | null
    receipt_block: number
    receipt_hash: string
    receipt_log: number
    receipt_contract: string
    receipt_amount: string
    receipt_time: number
  }

const COLUMNS =
  sql.literal(`r.id, r.chain, r.chain_id, r.token, r.contract, r.display_amount, r.address, r.fingerprint,
  r.address_index, r.created_at, r.expires_at, r.watched_until, r.expired_block, r.is_open, r.is_swept, r.changes,
  r.settled_changes, r.look_at, r.looked_block`)

/** Reads requests, in the order in which the condition names them. */
export const selectRequestsSql = (where: Sql): Sql<JoinedRow> => sql<JoinedRow>`
  select ${COLUMNS}, t.owner, t.amount, t.exponent, t.status,
    case when h.looked_number > h.number then h.looked_number else h.number end as head_number, h.time as head_time,
    p.chain as receipt_chain, p.block_number as receipt_block, p.transaction_hash as receipt_hash,
    p.log_index as receipt_log, p.contract as receipt_contract, p.amount as receipt_amount, p.block_time as receipt_time
  from pay_requests r
  join pay_transactions t on t.id = r.id
  left join pay_heads h on h.chain = r.chain
  left join pay_receipts p on p.request_id = r.id
  where ${where}
  order by r.id desc, p.block_number, p.log_index`

export function storedRequests(rows: readonly JoinedRow[]): StoredRequest[] {
  return [...Map.groupBy(rows, ({ id }) => id).values()].map((group) => {
    const { owner, amount, exponent, status, head_number, head_time, ...request } = group[0]!
    return {
      request,
      order: { owner, amount, exponent, status },
      head: head_number === null ? undefined : { number: head_number, time: head_time! },
      receipts: group.flatMap((row) =>
        row.receipt_chain === null
          ? []
          : [
              {
                chain: row.receipt_chain,
                block_number: row.receipt_block,
                address: request.address,
                transaction_hash: row.receipt_hash,
                log_index: row.receipt_log,
                request_id: request.id,
                contract: row.receipt_contract,
                amount: row.receipt_amount,
                block_time: row.receipt_time,
              },
            ],
      ),
    }
  })
}

/** Whether a receipt is of the chain and the token that were asked for. */
const isAsked = ({ chain, contract }: RequestRow, receipt: ReceiptRow): boolean =>
  receipt.chain === chain && receipt.contract === contract

/** @param isSilent whether the time is over and the chain has made no block since */
export const stateOf = (
  { request, order, head, receipts }: StoredRequest,
  { depth, isSilent = false }: { depth: number; isSilent?: boolean },
): RequestState =>
  requestState(
    {
      amount: BigInt(order.amount),
      expiresAt: request.expires_at,
      head: head?.number,
      depth,
      expiredBlock: request.expired_block,
      isSilent,
    },
    receipts
      .filter((one) => isAsked(request, one))
      .map((one) => ({
        amount: BigInt(one.amount),
        block: one.block_number,
        time: one.block_time,
        transactionHash: one.transaction_hash || undefined,
      })),
  )

/** What arrived in another token, or on another chain, summed by both. */
export function unexpectedIn({
  request,
  receipts,
}: StoredRequest): { chain: string; contract: string; amount: bigint }[] {
  const others = receipts.filter((one) => !isAsked(request, one))
  return [...Map.groupBy(others, ({ chain, contract }) => `${chain} ${contract}`).values()].map((group) => ({
    chain: group[0]!.chain,
    contract: group[0]!.contract,
    amount: group.reduce((sum, { amount }) => sum + BigInt(amount), 0n),
  }))
}

/** The receipt of a request for what a block shows. */
export const receiptOf = (
  chain: string,
  request: Pick<RequestRow, 'id' | 'address'>,
  arrival: {
    contract: string
    amount: bigint
    /** Empty: a contract sent coin. */
    hash: string
    logIndex: number
    block: Pick<Head, 'number' | 'timestamp'>
  },
): ReceiptRow => ({
  chain,
  block_number: arrival.block.number,
  address: request.address,
  transaction_hash: arrival.hash,
  log_index: arrival.logIndex,
  request_id: request.id,
  contract: arrival.contract,
  amount: arrival.amount.toString(),
  block_time: arrival.block.timestamp * 1000,
})

/**
 * Stores what arrived, once. A receipt without a transaction is what a balance showed, so it counts all until its block: what a
 * transaction shows later of a block before is part of it.
 */
export const insertReceiptSql = (receipt: ReceiptRow): Sql => sql`
  insert into pay_receipts (chain, block_number, address, transaction_hash, log_index, request_id, contract, amount, block_time)
  select ${receipt.chain}, ${receipt.block_number}, ${receipt.address}, ${receipt.transaction_hash}, ${receipt.log_index},
    ${receipt.request_id}, ${receipt.contract}, ${receipt.amount}, ${receipt.block_time}
  where not exists (
    select 1 from pay_receipts
    where request_id = ${receipt.request_id} and chain = ${receipt.chain} and contract = ${receipt.contract}
      and transaction_hash = '' and block_number >= ${receipt.block_number})
  on conflict (chain, block_number, address, transaction_hash, log_index) do nothing`

/** Counts a change of requests, so that the ledger is brought up to it. */
export const markChangedSql = (ids: readonly string[]): Sql[] =>
  chunksOf(ids).map(
    (chunk) => sql`update pay_requests set changes = changes + 1 where id in (${sql.join(chunk)})`,
  )

export const chunksOf = <T>(list: readonly T[], size = CHUNK): T[][] =>
  Array.from({ length: Math.ceil(list.length / size) }, (_one, at) => list.slice(at * size, (at + 1) * size))

/** Stores in which block the time of requests was over. */
export const expireSql = (block: number, ids: readonly string[]): Sql[] =>
  chunksOf(ids).map(
    (chunk) => sql`update pay_requests set expired_block = ${block} where id in (${sql.join(chunk)})`,
  )
