import type { Hex } from '../../../base/hex.ts'
import { getAddress } from '../../../base/viem.ts'
import { isoTime } from '../../../base/clock.ts'
import { ApiError, errors } from '../../../base/errors.ts'
import { formatUnits } from '../../../base/money.ts'
import { includesOwner, type RowFilter } from '../../../base/row-filter.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import type { Page } from '../../../http/page.ts'
import { createCountedList } from '../../../kernel/requests/counted-list.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import { headOf, isQuantity, type Chain, type Head } from '../chains/chain.ts'
import { providerError, type RpcAnswer, type RpcCall } from '../chains/rpc.ts'
import { mintedTokenId, receiptOf, type TransactionReceipt } from './receipt.ts'
import { selectTransactionsSql, TRANSACTION_COLUMNS, type OnchainTransactionRow } from './transaction-rows.ts'

/** The decimal places of every chain's native coin. */
const DECIMALS = 18
/** How often a transaction is looked at that a request waits for. */
const CHECK_MS = 100

/** A transaction as the API shows it. */
export type SentTransaction = {
  hash: string
  status: 'pending' | 'confirmed' | 'failed' | 'replaced'
  chain: string
  from: string
  to: string | null
  /** Decimal, in the native coin. */
  value: string
  nonce: number
  /** Absent while it is in no block. */
  blockNumber?: number
  /** Only of a transaction that is read by its hash; the head block is the first confirmation. */
  confirmations?: number
  gasUsed?: string
  /** Decimal, in the native coin. */
  fee?: string
  /** Of the token that it minted. */
  tokenId?: string
  /** The hash of the version that took the place of this one. */
  replacedBy?: string
  /** Why it failed, or is being cancelled. */
  reason?: string
  /** The wallet of this server that sent it. */
  walletId?: string
  /** When this server signed it. */
  createdAt?: string
}

/** The states by which transactions are listed: `stuck` are the pending ones that are in no block for too long. */
export const TRANSACTION_FILTERS = ['pending', 'stuck', 'confirmed', 'failed'] as const

/** The filters of the list. */
export type SentQuery = {
  walletId?: string
  chain?: string
  status?: (typeof TRANSACTION_FILTERS)[number]
}

export type OnchainTransactions = {
  /** Reads one page of what this server sent, newest first. */
  list(
    rowFilter: RowFilter,
    query: SentQuery,
    page: Page,
  ): Promise<{
    transactions: (SentTransaction & { owner: string })[]
    total: number | undefined
    nextCursor?: string
  }>
  /**
   * Reads a transaction as the chain shows it now. What this server has recorded of it is part of the answer for its owner.
   *
   * @throws NOT_FOUND if the node has not got it and this server did not send it; PROVIDER_ERROR if no node answers and this
   *   server did not send it
   */
  get(chain: Chain, hash: string, rowFilter: RowFilter): Promise<SentTransaction>
  /** The row of a transaction of this server once it is mined, or as it is when the time is over. */
  mined(id: string, limitMs: number): Promise<OnchainTransactionRow>
}

/** Where a transaction is in the chain. */
type Place = { receipt: TransactionReceipt; head: Head; cancels?: string | null }

const LATEST: RpcCall = { method: 'eth_getBlockByNumber', params: ['latest', false] }

/** @param stuckMs how long a transaction may be in no block */
export function createTransactions(
  { db, clock }: Pick<WireContext, 'db' | 'clock'>,
  { stuckMs }: { stuckMs: number },
): OnchainTransactions {
  const list = createCountedList<OnchainTransactionRow>(
    { db },
    {
      name: 'onchain.transactions',
      table: sql.literal('onchain_transactions'),
      columns: TRANSACTION_COLUMNS,
    },
  )

  const find = (chain: string, hash: string): Promise<OnchainTransactionRow | undefined> =>
    db.get(
      selectTransactionsSql(
        sql`chain = ${chain} and id = (select transaction_id from onchain_signed where hash = ${hash})`,
      ),
    )

  /** Which version of a transaction of this server is in the chain, and where; undefined if none is. */
  async function placeOf(chain: Chain, row: OnchainTransactionRow): Promise<Place | undefined> {
    const versions = await db.all(sql<{ hash: Hex; cancels: string | null }>`
      select hash, cancels from onchain_signed where transaction_id = ${row.id} order by created_at`)
    const calls = versions.map(({ hash }) => ({ method: 'eth_getTransactionReceipt', params: [hash] }))
    const answers = await chain.rpc.batch([LATEST, ...calls], {
      believe: ([latest, ...receipts]) => {
        const head = headOf(latest!.result)
        if (!head) return 'shows no latest block'
        // A node that is behind does not show what others have shown.
        if (row.block_number !== null && head.number < row.block_number)
          return `is behind: it shows block ${head.number}, and ${row.block_number} was seen`
        return receiptsFault(receipts, versions)
      },
    })
    const head = headOf(answers[0]!.result)!
    const receipt = answers
      .slice(1)
      .map(({ result }) => receiptOf(result))
      .find((one) => one !== undefined)
    return receipt && { receipt, head, cancels: versions.find(({ hash }) => hash === receipt.hash)!.cancels }
  }

  /** A transaction of this server by one of its hashes. */
  async function getOwn(chain: Chain, row: OnchainTransactionRow, hash: Hex): Promise<SentTransaction> {
    let place: Place | undefined
    try {
      place = await placeOf(chain, row)
    } catch (error) {
      // Without a node it is shown as it was when one last answered.
      if (!(error instanceof ApiError)) throw error
      return versionOf(storedOf(row), hash)
    }
    const { blockNumber: _number, gasUsed: _gas, fee: _fee, tokenId: _token, ...base } = storedOf(row)
    // The transaction was final, so no reorganisation removed it: the node has deleted its old receipts.
    if (!place && row.is_final === 1 && row.block_number !== null) return versionOf(storedOf(row), hash)
    if (!place) return versionOf({ ...base, status: settledElsewhere(row), confirmations: 0 }, hash)
    const { receipt, cancels } = place
    const tokenId =
      row.kind === 'mint' && receipt.succeeded && mintedTokenId(chain.name, receipt, row.recipient)
    const { reason: _reason, ...withoutReason } = base
    return versionOf(
      {
        ...withoutReason,
        hash: receipt.hash,
        ...placed(chain, place),
        ...(tokenId && { tokenId }),
        ...((cancels || !receipt.succeeded) && { reason: cancels ?? REVERTED }),
      },
      hash,
    )
  }

  /** Any transaction, by what a node says. */
  async function getForeign(chain: Chain, hash: Hex): Promise<SentTransaction> {
    const params = [hash]
    const answers = await chain.rpc.batch(
      [
        LATEST,
        { method: 'eth_getTransactionByHash', params },
        { method: 'eth_getTransactionReceipt', params },
      ],
      {
        believe: ([latest, , receipt]) =>
          headOf(latest!.result) ? receiptsFault([receipt!], [{ hash }]) : 'shows no latest block',
      },
    )
    const [head, { result, error }] = [headOf(answers[0]!.result)!, answers[1]!]
    if (error) throw providerError(chain.name, `eth_getTransactionByHash: ${error.message}`)
    if (result === null) throw notFound(chain.name)
    const view = shownOf(chain.name, result)
    if (view?.hash !== hash) throw providerError(chain.name, 'its node shows another transaction')
    const receipt = receiptOf(answers[2]!.result)
    return receipt
      ? { ...view, ...placed(chain, { receipt, head }) }
      : { ...view, status: 'pending', confirmations: 0 }
  }

  return {
    async list(rowFilter, { walletId, chain, status }, page) {
      const conditions = [
        ...(walletId === undefined ? [] : [sql`wallet_id = ${walletId}`]),
        ...(chain === undefined ? [] : [sql`chain = ${chain}`]),
        ...(status === undefined ? [] : [statusSql(status, clock.now() - stuckMs)]),
      ]
      const { rows, ...rest } = await list(rowFilter, conditions, page)
      return { transactions: rows.map((row) => ({ ...storedOf(row), owner: row.owner })), ...rest }
    },

    async get(chain, text, rowFilter) {
      const hash = text.toLowerCase() as Hex
      const row = await find(chain.name, hash)
      return row && includesOwner(rowFilter, row.owner) ? getOwn(chain, row, hash) : getForeign(chain, hash)
    },

    async mined(id, limitMs) {
      const until = clock.elapsed() + limitMs
      for (;;) {
        const row = await db.get(selectTransactionsSql(sql`id = ${id}`))
        if (!row) throw new Error(`there is no transaction ${id}`)
        const remainingMs = until - clock.elapsed()
        if (row.block_number !== null || row.is_final === 1 || remainingMs <= 0) return row
        await clock.sleep(Math.min(CHECK_MS, remainingMs))
      }
    },
  }
}

/** Literals, because a partial index on a status is not used with a parameter. */
function statusSql(status: (typeof TRANSACTION_FILTERS)[number], stuckBefore: number): Sql {
  if (status !== 'stuck') return sql.literal(`status = '${status}'`)
  return sql`status = 'pending' and block_number is null and is_final = 0 and created_at <= ${stuckBefore}`
}

const REVERTED = 'the contract reverted'

const notFound = (chain: string): ApiError =>
  errors.not_found({ message: `The chain ${chain} has no transaction of this hash.` })

/** A transaction of this server as the routes that send one answer it. */
export const sentOf = (row: OnchainTransactionRow): SentTransaction & { status: 'pending' } => ({
  hash: row.hash,
  status: 'pending',
  chain: row.chain,
  from: row.sender,
  to: row.recipient,
  value: formatUnits(BigInt(row.value), DECIMALS),
  nonce: row.nonce,
})

/** A transaction of this server as lists and events show it. */
export const storedOf = (row: OnchainTransactionRow): SentTransaction => ({
  ...sentOf(row),
  status: row.status,
  ...(row.block_number !== null && { blockNumber: row.block_number }),
  ...(row.gas_used !== null && { gasUsed: row.gas_used }),
  ...(row.fee !== null && { fee: formatUnits(BigInt(row.fee), DECIMALS) }),
  ...(row.token_id !== null && { tokenId: row.token_id }),
  ...(row.error !== null && { reason: row.error }),
  ...(row.wallet_id !== '' && { walletId: row.wallet_id }),
  createdAt: isoTime(row.created_at),
})

/** Of a transaction that is in no block: it failed for good only if its nonce was used by another one. */
const settledElsewhere = ({ status, block_number }: OnchainTransactionRow): 'pending' | 'failed' =>
  status === 'failed' && block_number === null ? 'failed' : 'pending'

/** A transaction as one of its hashes shows it, which may be that of a version that was replaced. */
function versionOf(transaction: SentTransaction, hash: Hex): SentTransaction {
  if (transaction.hash === hash) return transaction
  const { chain, from, to, value, nonce, walletId, createdAt } = transaction
  return {
    hash,
    status: 'replaced',
    replacedBy: transaction.hash,
    chain,
    from,
    to,
    value,
    nonce,
    confirmations: 0,
    ...(walletId !== undefined && { walletId }),
    ...(createdAt !== undefined && { createdAt }),
  }
}

function placed(
  { depth }: Chain,
  { receipt, head, cancels }: Place,
): Pick<SentTransaction, 'status' | 'blockNumber' | 'confirmations' | 'gasUsed' | 'fee'> {
  const confirmations = Math.max(1, head.number - receipt.blockNumber + 1)
  const final = receipt.succeeded && !cancels ? 'confirmed' : 'failed'
  return {
    status: confirmations < depth ? 'pending' : final,
    blockNumber: receipt.blockNumber,
    confirmations,
    gasUsed: String(receipt.gasUsed),
    fee: formatUnits(receipt.fee, DECIMALS),
  }
}

/** What is wrong with answers to `eth_getTransactionReceipt`. */
function receiptsFault(
  answers: readonly RpcAnswer[],
  versions: readonly { hash: Hex }[],
): string | undefined {
  for (const [at, { result, error }] of answers.entries()) {
    if (error) return `eth_getTransactionReceipt: ${error.message}`
    const receipt = receiptOf(result)
    if (receipt && receipt.hash !== versions[at]!.hash) return 'answers the receipt of another transaction'
  }
  return undefined
}

/** Reads a transaction as a node shows it; undefined if it is none. */
function shownOf(chain: string, result: unknown): Omit<SentTransaction, 'status'> | undefined {
  const { hash, from, to, value, nonce } = (result ?? {}) as Record<string, unknown>
  if (typeof hash !== 'string' || typeof from !== 'string' || !isQuantity(value) || !isQuantity(nonce))
    return undefined
  return {
    hash: hash.toLowerCase(),
    chain,
    from: getAddress(from),
    to: typeof to === 'string' ? getAddress(to) : null,
    value: formatUnits(BigInt(value), DECIMALS),
    nonce: Number(nonce),
  }
}
