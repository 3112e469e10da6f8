import type { Address } from '../../../base/hex.ts'
import { getAddress, isAddress } from '../../../base/viem.ts'
import { ApiError } from '../../../base/errors.ts'
import { newId } from '../../../base/ids.ts'
import { Type } from '../../../base/schema.ts'
import { StartError } from '../../../base/start-error.ts'
import { allRows } from '../../../base/row-filter.ts'
import { ConstraintError, requireRow } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import type { NotYet } from '../../../kernel/jobs/job.ts'
import { COMMAND_LINE, type Actor } from '../../../http/actor.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import type { Chain, Onchain } from '../../onchain/index.ts'
import { payErrors } from '../errors.ts'
import type { Receivers } from './receivers.ts'
import { MARGIN, readSweepItems, transferOf, type SweepItem } from './sweep-plan.ts'

const RECHECK_MS = 2_000
const FAULT_MS = 30_000
const POOL = { name: 'pay.sweep', atOnce: 8 }
const RETRY = { firstMs: 1_000, maxMs: 60_000, attempts: 1_000 }

type SweepRow = {
  id: string
  request_id: string
  chain: string
  contract: string
  treasury: Address
  gas_wallet: string | null
  gas: number
  status: 'waiting' | 'sent' | 'done' | 'failed'
  amount: string
  hash: string | null
  fundings: number
  funded_until: string
  error: string | null
  address: string
  address_index: number
  fingerprint: string
}

export type SweepProgress = Pick<
  SweepRow,
  'chain' | 'contract' | 'amount' | 'status' | 'hash' | 'error' | 'address'
>

/** Gathers what was paid into the treasury. */
export type CoinSweep = {
  /** Where it goes. @throws StartError if it is not configured */
  readonly treasury: Address
  /** Reads what lies at the addresses of requests that no payment is awaited for. @throws PROVIDER_ERROR */
  plan(): Promise<SweepItem[]>
  /**
   * Has a running server gather these. What is under way already is left out, so nothing is sent twice.
   *
   * @param gasWallet the id of the wallet that pays for the gas of addresses without coin
   * @returns how many transfers that are
   * @throws NOT_FOUND if there is no such wallet
   */
  begin(items: readonly SweepItem[], gasWallet: string | undefined, actor?: Actor): Promise<number>
  /** The transfers that are not done, and the failed ones of the last day. */
  progress(): Promise<SweepProgress[]>
}

type SweepContext = Pick<WireContext, 'db' | 'clock' | 'audit'> & {
  readonly onchain: Onchain
  readonly receivers: Receivers
  readonly treasury: string | undefined
}

export function createSweep(
  { db, clock, jobs, audit }: Pick<WireContext, 'db' | 'clock' | 'jobs' | 'audit'>,
  options: Omit<SweepContext, 'db' | 'clock' | 'audit'>,
): CoinSweep {
  const context: SweepContext = { ...options, db, clock, audit }
  // In lower case it has no checksum, and its check needs a package that a start does not.
  if (context.treasury !== undefined && /[A-F]/.test(context.treasury) && !isAddress(context.treasury))
    throw new StartError('TREASURY_ADDRESS: its checksum (EIP-55) is wrong: a digit or its case was mistyped')
  const job = jobs.define(
    'pay.sweep',
    {
      payload: Type.Object({ id: Type.String(), place: Type.String() }),
      lane: ({ place }) => place,
      pool: POOL,
      retry: RETRY,
      neededFor: 'it sends coins that were received to the treasury',
    },
    ({ payload: { id } }) => sweepOne(context, id),
  )

  return {
    get treasury() {
      return destination(context)
    },
    plan: () =>
      readSweepItems(context.db, context.onchain, {
        fingerprint: context.receivers.fingerprint,
        treasury: destination(context),
      }),
    async begin(items, gasWallet, actor = COMMAND_LINE) {
      if (gasWallet !== undefined) await context.onchain.wallets.signerOf(gasWallet, allRows)
      let count = 0
      for (const item of items) {
        if (item.gas === 0n) continue
        const now = context.clock.now()
        const id = newId(now)
        const row = {
          id,
          request_id: item.requestId,
          chain: item.chain,
          contract: item.contract,
          treasury: destination(context),
          gas_wallet: gasWallet ?? null,
          gas: Number(item.gas),
          status: 'waiting',
          amount: item.amount.toString(),
          hash: null,
          fundings: 0,
          funded_until: '0',
          error: null,
          created_at: now,
          updated_at: now,
        }
        const rows = await context.db
          .batch([
            // Not of a request that is open again.
            requireRow(
              sql`update pay_requests set is_swept = 1 where id = ${item.requestId} and is_open = 0 returning id`,
              () => notSwept,
            ),
            sql.insert('pay_sweeps', row, ['id']),
            job.enqueueSql({ id, place: `${item.chain} ${item.address}` }),
            context.audit.entrySql(actor, {
              action: 'coins.swept',
              target: `payment-request:${item.requestId}`,
              after: { chain: item.chain, amount: row.amount, treasury: row.treasury },
            }),
          ])
          .catch((error: unknown) => {
            if (error !== notSwept && !isUnderWay(error)) throw error
          })
        if (rows) count++
      }
      return count
    },
    progress: () =>
      context.db.scan<SweepProgress>(sql`
        select s.chain, s.contract, s.amount, s.status, s.hash, s.error, r.address
        from pay_sweeps s join pay_requests r on r.id = s.request_id
        where s.status in ('waiting', 'sent') or (s.status = 'failed' and s.updated_at > ${context.clock.now() - DAY_MS})
        order by s.id`),
  }
}

async function sweepOne(context: SweepContext, id: string): Promise<NotYet | undefined> {
  const row = await readRow(context, id)
  const chain = context.onchain.chains.all.find(({ name }) => name === row?.chain)
  if (!row || row.status === 'done' || row.status === 'failed') return undefined
  if (!chain?.isConfigured || row.fingerprint !== context.receivers.fingerprint)
    return note(context, row, 'the chain, or the mnemonic of the address, is not configured any more')
  try {
    return row.status === 'sent' ? await follow(context, row, chain) : await send(context, row, chain)
  } catch (error) {
    // Sentences of ours; anything else is a fault of the job.
    if (error instanceof ApiError && error.code === 'CONTRACT_REVERTED')
      return end(context, row, 'failed', error.message).then(() => undefined)
    if (error instanceof ApiError) return note(context, row, error.message)
    throw error
  }
}

const readRow = (context: SweepContext, id: string): Promise<SweepRow | undefined> =>
  context.db.get(sql<SweepRow>`
    select s.id, s.request_id, s.chain, s.contract, s.treasury, s.gas_wallet, s.gas, s.status, s.amount, s.hash, s.fundings,
      s.funded_until, s.error, r.address, r.address_index, r.fingerprint
    from pay_sweeps s join pay_requests r on r.id = s.request_id where s.id = ${id}`)

async function note(context: SweepContext, { id }: SweepRow, error: string): Promise<NotYet> {
  await context.db.write(
    sql`update pay_sweeps set error = ${error}, updated_at = ${context.clock.now()} where id = ${id}`,
  )
  return { againInMs: FAULT_MS }
}

async function end(
  context: SweepContext,
  { id }: SweepRow,
  status: 'done' | 'failed',
  error: string | null,
): Promise<void> {
  await context.db.write(sql`
    update pay_sweeps set status = ${status}, error = ${error}, updated_at = ${context.clock.now()} where id = ${id}`)
}

/** Checks whether the transfer is final. A replaced one has another hash. */
async function follow(context: SweepContext, row: SweepRow, chain: Chain): Promise<NotYet | undefined> {
  const { status, replacedBy } = await context.onchain.transactions.get(chain, row.hash!, allRows)
  if (status === 'replaced' && replacedBy !== undefined)
    await context.db.write(sql`update pay_sweeps set hash = ${replacedBy} where id = ${row.id}`)
  if (status !== 'confirmed' && status !== 'failed') return { againInMs: RECHECK_MS }
  await end(
    context,
    row,
    status === 'confirmed' ? 'done' : 'failed',
    status === 'failed' ? 'the transfer failed' : null,
  )
  return undefined
}

/** Sends what there is now, or first the coin for its gas. */
async function send(context: SweepContext, row: SweepRow, chain: Chain): Promise<NotYet | undefined> {
  const address = getAddress(row.address)
  const { maxFee } = await context.onchain.fees(chain, await chain.head({ isFresh: true }))
  const reserve = BigInt(row.gas) * maxFee * MARGIN
  const coin = BigInt(await chain.rpc.call<string>('eth_getBalance', [address, 'latest']))
  const isCoin = row.contract === ''
  const amount = isCoin ? coin - reserve : BigInt(row.amount)
  if (amount <= 0n) {
    await end(context, row, 'failed', 'its gas costs more than it is worth')
    return undefined
  }
  if (!isCoin && coin < reserve) return fund(context, row, chain, { address, coin, reserve })
  await context.onchain.submit({
    chain,
    signer: context.receivers.signerOf(row.address_index),
    owner: OWNER,
    walletId: '',
    kind: 'sweep',
    ...transferOf({ contract: row.contract, amount }, row.treasury),
    reference: `sweep ${row.id}`,
    stepsSql: ({ hash }) => [
      sql`update pay_sweeps set status = 'sent', amount = ${amount.toString()}, hash = ${hash}, error = null,
          updated_at = ${context.clock.now()}
        where id = ${row.id}`,
    ],
  })
  return { againInMs: RECHECK_MS }
}

async function fund(
  context: SweepContext,
  row: SweepRow,
  chain: Chain,
  { address, coin, reserve }: { address: Address; coin: bigint; reserve: bigint },
): Promise<NotYet | undefined> {
  if (row.gas_wallet === null) {
    await end(
      context,
      row,
      'failed',
      `the address has too little ${chain.symbol} for the gas: name a --gas-wallet`,
    )
    return undefined
  }
  // The last one is not mined yet.
  if (coin < BigInt(row.funded_until)) return { againInMs: RECHECK_MS }
  const signer = await context.onchain.wallets.signerOf(row.gas_wallet, allRows)
  await context.onchain.submit({
    chain,
    signer,
    owner: OWNER,
    walletId: row.gas_wallet,
    kind: 'sweep',
    to: address,
    value: reserve - coin,
    reference: `sweep-gas ${row.id} ${row.fundings + 1}`,
    stepsSql: () => [
      sql`insert into pay_sweep_funding (chain, address, sender)
        values (${row.chain}, ${row.address}, ${signer.address.toLowerCase()}) on conflict do nothing`,
      sql`update pay_sweeps set fundings = ${row.fundings + 1}, funded_until = ${reserve.toString()}, error = null,
          updated_at = ${context.clock.now()}
        where id = ${row.id}`,
    ],
  })
  return { againInMs: RECHECK_MS }
}

const destination = (context: SweepContext): Address => {
  if (context.treasury === undefined) throw new StartError('TREASURY_ADDRESS: it is not set')
  return getAddress(context.treasury.toLowerCase())
}

const DAY_MS = 86_400_000
/** The owner of the transactions: no user. */
const OWNER = 'sweep'

const notSwept = payErrors.invalid_state()

/** Another sweep of the same coin or token at the address was begun meanwhile. */
const isUnderWay = (error: unknown): boolean => error instanceof ConstraintError && error.kind === 'unique'
