import { errors } from '../../../base/errors.ts'
import { Type } from '../../../base/schema.ts'
import { afterCommit, requireRow, type Step } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import type { Job, NotYet } from '../../../kernel/jobs/job.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import { quantity } from '../chains/blocks.ts'
import { isQuantity, type Chain } from '../chains/chain.ts'
import type { Chains } from '../chains/chains.ts'
import { broadcast, seenSql, selectUnminedSql, sentSql, unminedSql, type Unmined } from './broadcast.ts'
import { cancelRefused } from './refused.ts'
import type { Replacements } from './replacement.ts'
import type { OnchainTransactionEvents } from './transaction-events.ts'
import { createUsedNonces, type UsedNonces } from './used-nonces.ts'
import { isUsual, verdictOf } from './verdicts.ts'

/** Queues that one process sends at the same time. */
const AT_ONCE = 16
/** Transactions of one request. */
const BATCH = 100
/** The lowest ones that wait to be mined: the others cannot be mined before them. */
const LOWEST = 20
/** The first pause before the same bytes are sent again; it doubles. */
const AGAIN_MS = 3_000
/** How long a queue that has nothing to do waits in place for more. */
const LINGER_MS = 50
/** How often a queue is checked while something is not mined: another process may have missed that it was just busy. */
const CHECK_MS = 1_000
/** How long one claim of the job sends while there is always more. */
const CLAIM_MS = 20_000
const FAULT_MS = { first: 1_000, most: 30_000 }

/** Sends what is signed: one queue of nonces for each address on a chain. */
export type NonceQueues = {
  /** The steps that have the queue of an address send what is stored, for the batch that stores it. */
  wakeSql(chain: string, address: string): Step[]
  /** Wakes every queue that has transactions which are not mined. */
  start(): Promise<void>
}

type Active = { isWoken: boolean; linger: AbortController }

type NonceQueueContext = {
  readonly wire: Pick<WireContext, 'db' | 'clock' | 'jobs' | 'log'>
  readonly chains: Chains
  readonly replacements: Replacements
  readonly stuckMs: number
  readonly usedNonces: UsedNonces
  /** The queues that this process works on. */
  readonly active: Map<string, Active>
  /** How often each queue has failed one after the other. */
  readonly faults: Map<string, number>
}

const hasMore = errors.unavailable({ message: 'The queue has more to send.' })

/**
 * Defines the job that sends: one of a queue at a time, across all replicas. Where two run all the same, the node gets the
 * same bytes twice, which is harmless.
 *
 * @param options.stuckMs how long a transaction waits before it is replaced
 */
export function createNonceQueues(
  context: NonceQueueContext['wire'],
  {
    events,
    ...options
  }: { chains: Chains; replacements: Replacements; events: OnchainTransactionEvents; stuckMs: number },
): NonceQueues {
  const queues: NonceQueueContext = {
    ...options,
    wire: context,
    usedNonces: createUsedNonces(context, { events }),
    active: new Map(),
    faults: new Map(),
  }

  const job = context.jobs.define(
    // The released kind of the job, as the name of the table below: it was a line then.
    'onchain.line',
    {
      payload: Type.Object({ chain: Type.String(), address: Type.String() }),
      lane: ({ chain, address }) => nameOf(chain, address),
      pool: { name: 'onchain.line', atOnce: AT_ONCE },
      neededFor: 'it sends the transactions of a wallet and follows them',
      retry: { firstMs: FAULT_MS.first, maxMs: FAULT_MS.most, attempts: Number.MAX_SAFE_INTEGER },
    },
    (one) => workOnQueue(queues, one),
  )

  const wakeSql: NonceQueues['wakeSql'] = (chain, address) => {
    const name = nameOf(chain, address)
    return [
      afterCommit(lockSql(chain, address), () => wake(queues, name)),
      job.hastenSql(name),
      job.enqueueSql({ chain, address }, { id: name }),
    ]
  }

  return {
    wakeSql,
    async start() {
      const isConfigured = new Set(
        queues.chains.all.filter((one) => one.isConfigured).map(({ name }) => name),
      )
      const unmined = await queues.wire.db.all(sql<{ chain: string; sender: string }>`
        select distinct chain, sender from onchain_transactions where block_number is null and is_final = 0`)
      for (const { chain, sender } of unmined)
        if (isConfigured.has(chain)) await queues.wire.db.batch(wakeSql(chain, sender))
    },
  }
}

async function workOnQueue(
  queues: NonceQueueContext,
  { payload: { chain: chainName, address }, stopping, deleteSql }: Job<{ chain: string; address: string }>,
): Promise<NotYet | undefined> {
  const chain = queues.chains.all.find(({ name }) => name === chainName)
  // If the configuration has the chain again, the queue goes on after that start.
  if (!chain?.isConfigured) return undefined
  const name = nameOf(chainName, address)
  const one: Active = { isWoken: false, linger: new AbortController() }
  queues.active.set(name, one)
  try {
    const next = await work(queues, chain, address, one, stopping, deleteSql)
    if (queues.faults.delete(name))
      queues.wire.log.info({ chain: chainName, address }, 'a line is sent again')
    return next
  } catch (error) {
    const count = queues.faults.get(name) ?? 0
    if (count === 0)
      queues.wire.log.warn(
        { chain: chainName, address, err: error },
        'a line cannot be sent, and is tried again',
      )
    queues.faults.set(name, count + 1)
    return { againInMs: Math.min(FAULT_MS.first * 2 ** count, FAULT_MS.most) }
  } finally {
    queues.active.delete(name)
  }
}

/** Sends until there is nothing to do for a while. */
async function work(
  queues: NonceQueueContext,
  chain: Chain,
  address: string,
  one: Active,
  stopping: AbortSignal,
  deleteSql: Sql,
): Promise<NotYet | undefined> {
  const until = queues.wire.clock.elapsed() + CLAIM_MS
  while (!stopping.aborted && queues.wire.clock.elapsed() < until) {
    one.isWoken = false
    const pauseMs = await round(queues, chain, address)
    if (pauseMs === 0) continue
    await linger(queues, one, stopping)
    if (one.isWoken) continue
    if (pauseMs !== undefined) return { againInMs: pauseMs }
    if (await deleteIfEmpty(queues, chain.name, address, deleteSql)) return undefined
  }
  return { againInMs: 0 }
}

async function linger(queues: NonceQueueContext, one: Active, stopping: AbortSignal): Promise<void> {
  if (one.isWoken) return
  one.linger = new AbortController()
  await queues.wire.clock.sleep(LINGER_MS, {
    signal: AbortSignal.any([one.linger.signal, stopping]),
    idle: true,
  })
}

/**
 * Does what is due.
 *
 * @returns after how many milliseconds there may be more to do; 0: now; undefined: when there is another transaction
 */
async function round(queues: NonceQueueContext, chain: Chain, address: string): Promise<number | undefined> {
  const queue = { chain: chain.name, address }
  const unsent = await queues.wire.db.all(selectUnminedSql(queue, { isUnsent: true, limit: BATCH }))
  if (unsent.length > 0) {
    await send(queues, chain, unsent)
    return 0
  }
  const lowest = await queues.wire.db.all(selectUnminedSql(queue, { limit: LOWEST }))
  const [first] = lowest
  if (!first) return undefined
  const now = queues.wire.clock.now()
  const stuckAt = await stuckAtOf(queues, first)
  const isDue = (row: Unmined): boolean => dueOf(queues, row, row === first ? stuckAt : Infinity) <= now
  const due = lowest.filter(isDue)
  if (due.length > 0) {
    await repeat(queues, chain, address, due, first.broadcasts > 1 && stuckAt <= now ? first : undefined)
    return 0
  }
  const nextDue = Math.min(...lowest.map((row) => dueOf(queues, row, row === first ? stuckAt : Infinity)))
  return Math.min(nextDue - now, CHECK_MS)
}

async function send(queues: NonceQueueContext, chain: Chain, rows: readonly Unmined[]): Promise<void> {
  const { batch, acceptances, refusals } = await broadcast(chain, rows)
  const now = queues.wire.clock.now()
  await queues.wire.db.batch([
    sentSql(batch, now),
    ...(acceptances.length > 0
      ? [
          seenSql(
            acceptances.map(({ hash }) => hash),
            now,
          ),
        ]
      : []),
  ])
  for (const { row, reason } of refusals) {
    if (!isUsual(reason))
      queues.wire.log.warn(
        { chain: chain.name, hash: row.hash, reason },
        'a node refuses a signed transaction, which is sent again later',
      )
    if (verdictOf(reason) === 'never')
      await cancelRefused(queues.wire, queues.replacements, chain, row, reason)
  }
}

/** A node may have dropped what it got, or never have had it. */
async function repeat(
  queues: NonceQueueContext,
  chain: Chain,
  address: string,
  due: readonly Unmined[],
  stuck: Unmined | undefined,
): Promise<void> {
  const { number } = await chain.head()
  const deepBlock = Math.max(0, number + 1 - chain.depth)
  const [latest, deep] = await chain.rpc.batch(
    ['latest', quantity(deepBlock)].map((block) => ({
      method: 'eth_getTransactionCount',
      params: [address, block],
    })),
  )
  const count = isQuantity(latest!.result) ? Number(latest!.result) : 0
  const usedRows = due.filter(({ nonce }) => nonce < count)
  const open = due.filter(({ nonce }) => nonce >= count)
  if (usedRows.length > 0) {
    // Mined, so no node needs it; the follower of the chain finds out what became of it.
    await queues.wire.db.write(sentSql(usedRows, queues.wire.clock.now()))
    const deepCount = isQuantity(deep!.result) ? Number(deep!.result) : 0
    await queues.usedNonces.settle(
      chain,
      usedRows.filter(({ nonce }) => nonce < deepCount),
      deepBlock,
    )
  }
  const replacedIds = stuck && open.includes(stuck) ? await replaceFrom(queues, chain, stuck) : new Set()
  const again = open.filter(({ id }) => !replacedIds.has(id))
  if (again.length > 0) await send(queues, chain, again)
}

/**
 * Replaces the lowest transaction, which is stuck, and with it all that pay less than the base fee of now: these would only
 * be stuck one after the other.
 *
 * @returns the ids of those that were replaced
 */
async function replaceFrom(queues: NonceQueueContext, chain: Chain, first: Unmined): Promise<Set<string>> {
  const [{ baseFeePerGas = 0n }, budget] = [
    await chain.head(),
    await queues.replacements.budgetOf(chain, first.sender),
  ]
  const replaced = new Set<string>()
  const queue = { chain: chain.name, address: first.sender }
  for (let rows: readonly Unmined[] = [first]; rows.length > 0;) {
    for (const row of rows)
      if (row === first || BigInt(row.max_fee) < baseFeePerGas) {
        if (!(await queues.replacements.replace(chain, row, budget))) return replaced
        replaced.add(row.id)
      } else budget.remaining -= BigInt(row.cost)
    rows = await queues.wire.db.all(selectUnminedSql(queue, { above: rows.at(-1)!.nonce, limit: BATCH }))
  }
  return replaced
}

/** When it is taken to be stuck: it waits for itself only since it is the lowest of its queue. */
async function stuckAtOf(
  queues: NonceQueueContext,
  { chain, sender, nonce, signed_at, updated_at }: Unmined,
): Promise<number> {
  const before = await queues.wire.db.get(sql<{
    updated_at: number
  }>`select updated_at from onchain_transactions
    where chain = ${chain} and sender = ${sender} and nonce = ${nonce - 1}`)
  return Math.max(signed_at, updated_at, before?.updated_at ?? 0) + queues.stuckMs
}

function dueOf(queues: NonceQueueContext, { broadcast_at, broadcasts }: Unmined, stuckAt: number): number {
  const sentAt = broadcast_at ?? 0
  const againAt = sentAt + Math.min(AGAIN_MS * 2 ** Math.max(0, broadcasts - 1), queues.stuckMs)
  return stuckAt > sentAt ? Math.min(againAt, stuckAt) : againAt
}

/** Deletes the job if nothing is left to send; answers whether it did. */
async function deleteIfEmpty(
  queues: NonceQueueContext,
  chain: string,
  address: string,
  deleteSql: Sql,
): Promise<boolean> {
  try {
    await queues.wire.db.batch([
      lockSql(chain, address),
      requireRow(
        sql`select 1 as is_empty where not exists (
          select 1 from onchain_transactions where ${unminedSql(chain, address)})`,
        () => hasMore,
      ),
      deleteSql,
    ])
    return true
  } catch (error) {
    if (error === hasMore) return false
    throw error
  }
}

function wake(queues: NonceQueueContext, name: string): void {
  const one = queues.active.get(name)
  if (!one) return
  one.isWoken = true
  one.linger.abort()
}

const nameOf = (chain: string, address: string): string => `${chain} ${address}`

/**
 * Locks the row of a queue, so that a job which ends waits for the batch that adds a transaction, and the other way round:
 * the job cannot end unseen while its work is added. The table has its released name.
 */
const lockSql = (chain: string, address: string): Sql => sql`
  update onchain_lines set next_nonce = next_nonce where chain = ${chain} and address = ${address}`
