import type { Address } from '../../../base/hex.ts'
import type { Database } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import { quantity } from '../chains/blocks.ts'
import { isQuantity, type Chain } from '../chains/chain.ts'
import type { RpcAnswer } from '../chains/rpc.ts'
import type { Intent } from './intent.ts'
import type { Preflight } from './preflight.ts'
import type { OnchainTransactionRow } from './transaction-rows.ts'

/** How long every node is waited for, to compare what they say. */
const COMPARE_MS = 4_000

/** The nonces that an address may take. */
export type Nonces = {
  /** The next one as the database has it; undefined: nothing was sent from this address yet. */
  stored: number | undefined
  /** The first one to take: higher than the stored one if the key was used elsewhere. */
  next: number
  /** Wei that signed transactions may cost of which the block that the balance is of has nothing. */
  pending: bigint
}

/**
 * Finds the next nonce of an address: that of our own queue, 0 of a key that was created here. An address that is new here, with
 * a key from elsewhere, begins where nodes agree; and one whose key was used elsewhere goes on after that.
 *
 * @throws PROVIDER_ERROR
 */
export async function noncesOf(
  { db, log }: Pick<WireContext, 'db' | 'log'>,
  { chain, signer: { address, isCreatedHere = false } }: Intent,
  preflight: Preflight,
): Promise<Nonces> {
  const minedCount = preflight.account.count
  const queue = await readNonceQueue(db, chain, address, minedCount)
  const { nextNonce } = queue
  const nonces = (next: number, pending = queue.pending): Nonces => ({ stored: nextNonce, next, pending })
  if (nextNonce === undefined && !isCreatedHere) return nonces(await firstNonce(chain, address, preflight))
  if (minedCount <= (nextNonce ?? 0)) return nonces(nextNonce ?? 0)
  const count = await agreedCount(chain, address, preflight)
  if (nextNonce === undefined) return nonces(count)
  const { pending } = await readNonceQueue(db, chain, address, count)
  if (count <= nextNonce) return nonces(nextNonce, pending)
  log.warn(
    { chain: chain.name, address, nextNonce, count },
    'the key of an address is used elsewhere: its nonces go on after those',
  )
  return nonces(count, pending)
}

type NonceQueue = { nextNonce: number | undefined; pending: bigint }

type PendingRow = { next_nonce: number } & {
  [K in 'cost' | 'status' | 'fee']: OnchainTransactionRow[K] | null
}

/** Reads both at one moment. @param count of the transactions of the address at the block that its balance is of */
async function readNonceQueue(
  db: Database,
  chain: Chain,
  address: Address,
  count: number,
): Promise<NonceQueue> {
  const rows = await db.all(sql<PendingRow>`
    select l.next_nonce, t.cost, t.status, t.fee from onchain_lines l
    left join onchain_transactions t on t.chain = l.chain and t.sender = l.address and t.nonce >= ${count}
    where l.chain = ${chain.name} and l.address = ${address}`)
  const costs = rows.map(({ cost, status, fee }) => BigInt((status === 'failed' ? fee : cost) ?? 0))
  return { nextNonce: rows[0]?.next_nonce, pending: costs.reduce((sum, cost) => sum + cost, 0n) }
}

/**
 * The first nonce of an address that has sent nothing from here, with a key that may be in use elsewhere: what is mined, and
 * what waits in a pool as far as a second node shows it too. After a gap that one node made up nothing would ever be mined; a
 * nonce that is too low only fails.
 *
 * @throws PROVIDER_ERROR
 */
async function firstNonce(chain: Chain, address: Address, preflight: Preflight): Promise<number> {
  const [mined, answers] = await Promise.all([
    agreedCount(chain, address, preflight),
    chain.rpc.all([{ method: 'eth_getTransactionCount', params: [address, 'pending'] }], {
      limitMs: COMPARE_MS,
    }),
  ])
  const [, confirmed = 0] = countsIn(answers.flat()).toSorted((one, other) => other - one)
  return Math.max(mined, confirmed)
}

/**
 * The count of transactions at a block on which all nodes that have the block agree: the lowest one. A nonce after a gap would
 * never be mined, so a single node is not believed that it is higher.
 *
 * @param minimum nodes that show fewer lag behind
 * @throws PROVIDER_ERROR
 */
async function agreedCount(
  { rpc }: Chain,
  address: Address,
  { head, minimum, account }: Preflight,
): Promise<number> {
  const answers = await rpc.all(
    [{ method: 'eth_getTransactionCount', params: [address, quantity(head.number)] }],
    { limitMs: COMPARE_MS },
  )
  return Math.min(account.count, ...countsIn(answers.flat()).filter((one) => one >= minimum))
}

const countsIn = (answers: readonly RpcAnswer[]): number[] =>
  answers
    .map(({ result }) => result)
    .filter(isQuantity)
    .map(Number)
    .filter(Number.isSafeInteger)
