import { getAddress } from '../../../base/viem.ts'
import { errors, invalid, type ApiError } from '../../../base/errors.ts'
import { parseUnits, unitsFault } from '../../../base/money.ts'
import { includesOwner, type RowFilter } from '../../../base/row-filter.ts'
import type { Step } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import type { Page } from '../../../http/page.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import type { Chain, Head, Onchain } from '../../onchain/index.ts'
import type { MerchantColumns } from '../ledger/merchant-columns.ts'
import type { TransactionEvents } from '../ledger/transaction-events.ts'
import { insertHistorySql, newTransaction, type TransactionRow } from '../ledger/transaction-rows.ts'
import { readBalances } from './balances.ts'
import type { ReceivingAddress, Receivers } from './receivers.ts'
import {
  RECHECK_MIN_MS,
  selectRequestsSql,
  stateOf,
  storedRequests,
  type RequestRow,
  type StoredRequest,
} from './request-rows.ts'
import { countRequests, pageOfRequests, type RequestQuery } from './request-list.ts'
import type { RequestState } from './request-state.ts'
import type { PaymentRequestEvents } from './payment-events.ts'
import {
  answerOf,
  chainNamed,
  depthOf,
  detailsOf,
  statusShown,
  type PaymentRequest,
  type PaymentRequestDetails,
} from './request-record.ts'

/** The decimals of the native coin. */
const COIN_DECIMALS = 18
/** How long payments are noticed after the expiry. */
const LATE_MS = 30 * 24 * 3_600_000
/** Addresses that are passed over because there is something at them. */
const USED_MAX = 100
const OPEN_MAX = 20

/** A request that did not expire, as the page of the sandbox lists it. */
export type OpenPaymentRequest = Pick<
  PaymentRequestDetails,
  | '_id'
  | 'chain'
  | 'token'
  | 'displayAmount'
  | 'receiverAddress'
  | 'status'
  | 'expiresAt'
  | 'receivedAmount'
  | 'confirmations'
  | 'transactionHashes'
>

/** A request as the list has it. */
export type PaymentRequestItem = PaymentRequestDetails & { userId: string; exponent: number }

export type PaymentRequests = {
  /**
   * Creates a request with an address of its own, and its transaction.
   *
   * @param order.id the same one again answers the same request
   * @throws VALIDATION_ERROR, PROVIDER_NOT_CONFIGURED, PROVIDER_ERROR
   */
  create(
    order: { id: string; chain: string; token: string; amount: string },
    options: { merchant: MerchantColumns; cause: string },
  ): Promise<PaymentRequest>
  /** @throws NOT_FOUND */
  get(id: string, rowFilter: RowFilter): Promise<PaymentRequestDetails>
  /** Reads a page, newest first, with what arrived. */
  list(
    query: RequestQuery,
    page: Page,
  ): Promise<{ requests: PaymentRequestItem[]; total?: number; nextCursor?: string }>
  /** Those that did not expire, the paid ones included, newest first. */
  open(): Promise<OpenPaymentRequest[]>
}

type RequestContext = Pick<WireContext, 'db' | 'clock'> & {
  readonly onchain: Pick<Onchain, 'chains' | 'tokens'>
  readonly receivers: Receivers
  readonly events: { readonly transactions: TransactionEvents; readonly payments: PaymentRequestEvents }
  readonly lifeMs: number
  /** The steps that have the chain of a new request followed from the block after this one on. */
  followSql(chain: Chain, head: Head): Promise<Step[]>
  /** Brings the transaction of a request up to what its chain shows. */
  settle(id: string): Promise<void>
  /** Whether a chain has no block that was not applied yet. */
  isCaughtUp(chain: Chain): Promise<boolean>
}

export function createPaymentRequests(
  { db, clock }: Pick<WireContext, 'db' | 'clock'>,
  options: Omit<RequestContext, 'db' | 'clock'>,
): PaymentRequests {
  const context: RequestContext = { ...options, db, clock }
  return {
    async create(order, { merchant, cause }) {
      const existing = await find(context, order.id)
      if (existing) return answerOf(existing, (await stateNow(context, existing)).status)
      const chain = context.onchain.chains.of(order.chain)
      // Throws if the chain is not configured.
      void chain.rpc
      const [head, { chainId }] = [await chain.head(), await chain.identity()]
      const { contract, decimals } = await tokenOf(context, chain, order.token)
      checkAmount(order.amount, decimals)
      const receiver = await nextReceiver(context, chain)
      const { transaction, request } = rowsOf(context, order, {
        chain,
        chainId,
        contract,
        decimals,
        merchant,
        receiver,
      })
      await context.db.batch([
        sql.insert('pay_transactions', transaction, ['id']),
        insertHistorySql({ transactionId: order.id, seq: 0, status: 'pending', cause }, request.created_at),
        sql.insert('pay_requests', request, ['id']),
        await context.followSql(chain, head),
        ...context.events.transactions.createdSql(order.id),
        ...createdSql(context, { request, order: transaction, head: undefined, receipts: [] }),
      ])
      const stored = (await find(context, order.id))!
      return answerOf(stored, (await stateNow(context, stored)).status)
    },

    async get(id, rowFilter) {
      const stored = await find(context, id)
      if (!stored || !includesOwner(rowFilter, stored.order.owner))
        throw errors.not_found({ message: `There is no payment request ${JSON.stringify(id)}.` })
      // What is shown as confirmed is completed in the list of transactions.
      if (stored.request.changes > stored.request.settled_changes) await context.settle(id)
      const state = await stateNow(context, stored)
      return detailsOf(context.onchain.chains, stored, state)
    },

    async list(query, page) {
      // A page asks each chain once how far it is.
      const isCaughtUp = oncePerKey((chain: Chain) => context.isCaughtUp(chain))
      const stateOnce = oncePerKey((stored: StoredRequest) => stateNow({ ...context, isCaughtUp }, stored))
      const statusOf = async (stored: StoredRequest) => statusShown(stored, (await stateOnce(stored)).status)
      const [{ rows, ...rest }, total] = await Promise.all([
        pageOfRequests(context.db, query, { page, statusOf }),
        page.counts === false ? undefined : countRequests(context.db, query),
      ])
      const requests = await Promise.all(
        rows.map(async (stored) => ({
          ...detailsOf(context.onchain.chains, stored, await stateOnce(stored)),
          userId: stored.order.owner,
          exponent: stored.order.exponent,
        })),
      )
      return { requests, ...(total !== undefined && { total }), ...rest }
    },

    async open() {
      const rows = await context.db.all(
        selectRequestsSql(
          sql`r.id in (select id from pay_requests where is_open = 1 and expires_at >= ${context.clock.now()}
            order by id desc limit ${OPEN_MAX})`,
        ),
      )
      return storedRequests(rows).map((stored) => {
        const state = stateOf(stored, { depth: depthOf(context.onchain.chains, stored) })
        const { _id, chain, token, displayAmount, receiverAddress, status, expiresAt } = answerOf(
          stored,
          state.status,
        )
        return {
          _id,
          chain,
          token,
          displayAmount,
          receiverAddress,
          status,
          expiresAt,
          receivedAmount: state.received.toString(),
          confirmations: state.confirmations,
          transactionHashes: [...state.transactionHashes],
        }
      })
    },
  }
}

function createdSql({ onchain, events }: RequestContext, stored: StoredRequest): readonly Step[] {
  const state = stateOf(stored, { depth: depthOf(onchain.chains, stored) })
  return events.payments.changedSql('created', stored, { state, cause: '' })
}

const find = async (context: RequestContext, id: string): Promise<StoredRequest | undefined> =>
  storedRequests(await context.db.all(selectRequestsSql(sql`r.id = ${id}`)))[0]

/** The contract of a token, in lower case, and its decimals. */
async function tokenOf(
  context: RequestContext,
  chain: Chain,
  symbol: string,
): Promise<{ contract: string; decimals: number }> {
  if (symbol === chain.symbol) return { contract: '', decimals: COIN_DECIMALS }
  const address = Object.hasOwn(chain.tokens, symbol) ? chain.tokens[symbol] : undefined
  if (address === undefined)
    throw invalid({
      path: '/body/token',
      message: `is none of the tokens that ${chain.name} takes: ${[chain.symbol, ...Object.keys(chain.tokens)].join(', ')}`,
    })
  const token = await context.onchain.tokens.read(chain, getAddress(address.toLowerCase()))
  if (token) return { contract: address.toLowerCase(), decimals: token.decimals }
  throw errors.provider_not_configured({
    message: `The contract of ${symbol} on ${chain.name} is no ERC-20 token: the operator corrects ${chain.name.toUpperCase()}_TOKENS.`,
    details: { chain: chain.name },
  })
}

/** The next address that has no coin, which a database restored from a backup could give twice. */
async function nextReceiver(context: RequestContext, chain: Chain): Promise<ReceivingAddress> {
  for (let usedCount = 0; usedCount < USED_MAX; usedCount++) {
    const receiver = await context.receivers.next()
    const address = receiver.address.toLowerCase()
    const [[balances], isKnown] = await Promise.all([
      readBalances(chain, [address], ['latest']),
      context.db.get(sql`select 1 as one from pay_requests where address = ${address}`),
    ])
    if (balances?.size === 0 && !isKnown) return receiver
  }
  throw errors.unavailable({ message: 'No unused address was found: try again.', retryAfter: 1 })
}

function rowsOf(
  context: RequestContext,
  order: { id: string; token: string; amount: string },
  {
    chain,
    chainId,
    contract,
    decimals,
    merchant,
    receiver,
  }: {
    chain: Chain
    chainId: number
    contract: string
    decimals: number
    merchant: MerchantColumns
    receiver: ReceivingAddress
  },
): { transaction: TransactionRow; request: RequestRow } {
  const now = context.clock.now()
  const { id, token } = order
  const expiresAt = merchant.expires_at ?? now + context.lifeMs
  return {
    transaction: newTransaction(
      {
        ...merchant,
        id,
        provider: 'onchain',
        amount: parseUnits(order.amount, decimals).toString(),
        currency: token,
        exponent: decimals,
        expires_at: expiresAt,
      },
      now,
      id,
    ),
    request: {
      id,
      chain: chain.name,
      chain_id: chainId,
      token,
      contract,
      display_amount: order.amount,
      address: receiver.address.toLowerCase(),
      fingerprint: receiver.fingerprint,
      address_index: receiver.index,
      created_at: now,
      expires_at: expiresAt,
      watched_until: expiresAt + LATE_MS,
      expired_block: null,
      is_open: 1,
      is_swept: 0,
      changes: 0,
      settled_changes: 0,
      look_at: expiresAt + RECHECK_MIN_MS,
      looked_block: null,
    },
  }
}

async function stateNow(
  context: Pick<RequestContext, 'onchain' | 'clock' | 'isCaughtUp'>,
  stored: StoredRequest,
): Promise<RequestState> {
  const { request } = stored
  const chain = chainNamed(context.onchain.chains, request.chain)
  const depth = depthOf(context.onchain.chains, stored)
  const state = stateOf(stored, { depth })
  const isOver = state.status === 'pending' && context.clock.now() > request.expires_at
  // A chain that makes no blocks never shows that the time is over.
  return isOver && chain && (await context.isCaughtUp(chain))
    ? stateOf(stored, { depth, isSilent: true })
    : state
}

/** Keeps the promise of each key. */
function oncePerKey<K, V>(work: (key: K) => Promise<V>): (key: K) => Promise<V> {
  const promises = new Map<K, Promise<V>>()
  return (key) => {
    const promise = promises.get(key) ?? work(key)
    promises.set(key, promise)
    return promise
  }
}

function checkAmount(amount: string, decimals: number): void {
  const refuse = (message: string): ApiError => invalid({ path: '/body/amount', message })
  const fault = unitsFault(amount, decimals)
  if (fault !== undefined) throw refuse(fault)
  if (parseUnits(amount, decimals) === 0n) throw refuse('must be more than 0')
}
