import { ApiError, errors } from '../../../base/errors.ts'
import { newId } from '../../../base/ids.ts'
import { createKeyedMutex } from '../../../base/keyed-mutex.ts'
import { requireRow, type Step } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import { onchainErrors } from '../errors.ts'
import { quantity } from '../chains/blocks.ts'
import { headOf, type Chain, type Head } from '../chains/chain.ts'
import { providerError } from '../chains/rpc.ts'
import {
  holdingsSql,
  insertTransfersSql,
  selectIndexSql,
  transfersAfter,
  type NftIndexRow,
  type IndexedContract,
} from './index-rows.ts'
import { creationOf, readRange, type RangeAnswer } from './log-range.ts'
import type { Transfer } from './transfers.ts'

/** Blocks of the first request to a node, and the most of one. */
const RANGE_FIRST = 2_000
const RANGE_MAX = 1_000_000
/** After a range with fewer transfers than this the next one is larger. */
const SPARSE = 500
/** Where so few blocks get no answer, the node is down, and the range is not too large. */
const RANGE_ANSWERED = 100
const CHECKPOINTS = 100
const WAITING_MAX = 1_000
const RETRY_SECONDS = 5

/** Indexes the transfers of contracts. Several processes may do it at once: a condition on the version lets one write. */
export type Indexing = {
  /** What is indexed of a contract; undefined if nothing is yet. */
  find(subject: IndexedContract): Promise<NftIndexRow | undefined>
  /**
   * Indexes one more range of final blocks.
   *
   * @returns whether all of them were indexed already
   * @throws PROVIDER_ERROR
   */
  advance(subject: IndexedContract, limitMs: number): Promise<boolean>
  /**
   * Reads the transfers after those that are indexed, up to the latest block.
   *
   * @returns undefined if the chain or the index changed meanwhile: advance first
   * @throws PROVIDER_ERROR
   */
  recent(chain: Chain, index: NftIndexRow, limitMs: number): Promise<Transfer[] | undefined>
}

const movedMeanwhile = errors.unavailable({ message: 'Another process indexes this contract.' })

type IndexingContext = Pick<WireContext, 'db' | 'clock' | 'log'> & {
  /** Sizes of ranges beyond which a node refused to answer, by index. */
  readonly ceilings: Map<string, number>
}

export function createIndexing({ db, clock, log }: Pick<WireContext, 'db' | 'clock' | 'log'>): Indexing {
  const steps = createKeyedMutex({ queue: WAITING_MAX, retryAfter: RETRY_SECONDS })
  const indexing: IndexingContext = { db, clock, log, ceilings: new Map() }

  return {
    find: (subject) => find(indexing, subject),
    recent: (chain, index, limitMs) => recent(indexing, chain, index, limitMs),
    async advance(subject, limitMs) {
      const { chain, contract, standard } = subject
      return steps.run(`${await networkOf(chain)} ${contract} ${standard}`, async () => {
        const head = await chain.head()
        const final = head.number - chain.depth
        const index = (await find(indexing, subject)) ?? (await begin(indexing, subject, final))
        // Some final blocks are left to be read each time, so that not each new block is a write.
        if (final < index.next_block + chain.depth) return true
        await extend(indexing, chain, index, final, limitMs).catch(ignoreMoved)
        return false
      })
    },
  }
}

async function find(
  indexing: IndexingContext,
  { chain, contract, standard }: IndexedContract,
): Promise<NftIndexRow | undefined> {
  return indexing.db.get(selectIndexSql({ network: await networkOf(chain), contract, standard }))
}

async function begin(
  indexing: IndexingContext,
  subject: IndexedContract,
  final: number,
): Promise<NftIndexRow> {
  const { chain, contract, standard } = subject
  const [id, network] = [newId(indexing.clock.now()), await networkOf(chain)]
  const start = await creationOf(chain, contract, final)
  const before = start === 0 ? undefined : await headerOf(chain, start - 1)
  await indexing.db.batch([
    sql`insert into onchain_nft_indexes (id, network, contract, standard, next_block, range_size, version, created_at)
      values (${id}, ${network}, ${contract}, ${standard}, ${start}, ${RANGE_FIRST}, 0, ${indexing.clock.now()})
      on conflict (network, contract, standard) do nothing`,
    // Another process may have begun first.
    ...(before
      ? [
          sql`insert into onchain_nft_checkpoints (index_id, block_number, hash)
            select id, ${before.number}, ${before.hash} from onchain_nft_indexes where id = ${id}`,
        ]
      : []),
  ])
  return (await find(indexing, subject))!
}

async function extend(
  indexing: IndexingContext,
  chain: Chain,
  index: NftIndexRow,
  final: number,
  limitMs: number,
): Promise<void> {
  const [from, to] = [index.next_block, Math.min(final, index.next_block + index.range_size - 1)]
  const answer = await readOrShrink(indexing, chain, index, { from, to }, limitMs)
  if (answer.kind !== 'read') return
  if (!(await isOnChain(indexing, index, answer.before))) return rewind(indexing, chain, index)
  const ceiling = indexing.ceilings.get(index.id) ?? RANGE_MAX
  // What was refused may be answered later: where there are fewer transfers, or by another node.
  indexing.ceilings.set(index.id, Math.min(RANGE_MAX, ceiling + Math.ceil(ceiling / 16)))
  const isFull = to - from + 1 === index.range_size
  const mayGrow = isFull && answer.transfers.length < SPARSE
  const rangeSize = mayGrow
    ? Math.min(index.range_size * 2, Math.max(ceiling, index.range_size))
    : index.range_size
  await change(indexing, index, { nextBlock: to + 1, rangeSize }, [
    ...insertTransfersSql(index.id, answer.transfers),
    ...(await holdingsSql(indexing.db, index, answer.transfers, 'apply')),
    sql`insert into onchain_nft_checkpoints (index_id, block_number, hash)
      values (${index.id}, ${to}, ${answer.last.hash})`,
    sql`delete from onchain_nft_checkpoints where index_id = ${index.id} and block_number <= (
      select block_number from onchain_nft_checkpoints where index_id = ${index.id}
      order by block_number desc limit 1 offset ${CHECKPOINTS})`,
  ])
}

/** Reads a range; one that is too much for the node makes the next one half as large. */
async function readOrShrink(
  indexing: IndexingContext,
  chain: Chain,
  index: NftIndexRow,
  { from, to }: { from: number; to: number },
  limitMs: number,
): Promise<RangeAnswer> {
  const size = to - from + 1
  const { contract, standard } = index
  const answer = await readRange(chain, { contract, standard, from, to }, limitMs).catch(
    (error: unknown): RangeAnswer => {
      if (size > RANGE_ANSWERED && isSilence(error)) return { kind: 'too-much', reason: 'no answer in time' }
      throw error
    },
  )
  if (answer.kind === 'too-much') {
    if (size === 1) throw providerError(chain.name, `eth_getLogs: ${answer.reason}`)
    const rangeSize = Math.floor(size / 2)
    indexing.ceilings.set(index.id, rangeSize)
    await indexing.db.write(
      sql`update onchain_nft_indexes set range_size = ${rangeSize} where id = ${index.id}`,
    )
  }
  return answer
}

/** Whether a block is the last one that was indexed. */
async function isOnChain(
  indexing: IndexingContext,
  index: NftIndexRow,
  before: Head | undefined,
): Promise<boolean> {
  if (index.next_block === 0) return true
  const row = await indexing.db.get(sql<{ hash: string }>`select hash from onchain_nft_checkpoints
    where index_id = ${index.id} and block_number = ${index.next_block - 1}`)
  return row !== undefined && row.hash === before?.hash
}

/** Goes back to the last checkpoint that the chain still has; without one the contract is indexed again. */
async function rewind(indexing: IndexingContext, chain: Chain, index: NftIndexRow): Promise<void> {
  const stored = await indexing.db.all(sql<{ number: number; hash: string }>`
    select block_number as number, hash from onchain_nft_checkpoints where index_id = ${index.id}
    order by block_number desc`)
  const answers = await chain.rpc.batch(stored.map(({ number }) => headerCall(number)))
  const fork = stored.find(({ hash }, at) => headOf(answers[at]!.result)?.hash === hash)
  indexing.log.warn(
    {
      chain: chain.name,
      contract: index.contract,
      from: (fork?.number ?? -1) + 1,
      to: index.next_block - 1,
    },
    'a chain was reorganised: the transfers of a contract are indexed again',
  )
  if (!fork) {
    const isSame = sql`id = ${index.id} and version = ${index.version}`
    await indexing.db.write(sql`delete from onchain_nft_indexes where ${isSame}`)
    return
  }
  const undone = await transfersAfter(indexing.db, index.id, fork.number)
  const isAfter = sql`index_id = ${index.id} and block_number > ${fork.number}`
  await change(indexing, index, { nextBlock: fork.number + 1, rangeSize: index.range_size }, [
    ...(await holdingsSql(indexing.db, index, undone, 'undo')),
    sql`delete from onchain_nft_transfers where ${isAfter}`,
    sql`delete from onchain_nft_checkpoints where ${isAfter}`,
  ])
}

/** Changes an index that is still as it was read. */
async function change(
  indexing: IndexingContext,
  index: NftIndexRow,
  { nextBlock, rangeSize }: { nextBlock: number; rangeSize: number },
  further: readonly Step[],
): Promise<void> {
  await indexing.db.batch([
    requireRow(
      sql`update onchain_nft_indexes
        set next_block = ${nextBlock}, range_size = ${rangeSize}, version = version + 1
        where id = ${index.id} and version = ${index.version} returning id`,
      () => movedMeanwhile,
    ),
    ...further,
  ])
}

async function recent(
  indexing: IndexingContext,
  chain: Chain,
  index: NftIndexRow,
  limitMs: number,
): Promise<Transfer[] | undefined> {
  const head = await chain.head({ isFresh: true })
  const transfers: Transfer[] = []
  let before: Head | undefined
  if (head.number < index.next_block && index.next_block > 0) {
    const [answer] = await chain.rpc.batch([headerCall(index.next_block - 1)])
    if (await isOnChain(indexing, index, headOf(answer!.result))) return []
  }
  for (let from = index.next_block; from <= head.number; from = before.number + 1) {
    const to = Math.min(head.number, from + index.range_size - 1)
    const answer = await readOrShrink(indexing, chain, index, { from, to }, limitMs)
    if (answer.kind !== 'read') return undefined
    const isNext = before
      ? before.hash === answer.before?.hash
      : await isOnChain(indexing, index, answer.before)
    if (!isNext && before) return undefined
    if (!isNext) break
    transfers.push(...answer.transfers)
    before = answer.last
  }
  if (before) return transfers
  await rewind(indexing, chain, index).catch(ignoreMoved)
  return undefined
}

/** Another process has changed the index first. */
function ignoreMoved(error: unknown): void {
  if (error !== movedMeanwhile) throw error
}

async function networkOf(chain: Chain): Promise<string> {
  const { chainId, genesisHash } = await chain.identity()
  return `${chainId} ${genesisHash}`
}

const headerCall = (number: number) => ({
  method: 'eth_getBlockByNumber',
  params: [quantity(number), false],
})

async function headerOf(chain: Chain, number: number): Promise<Head> {
  const head = headOf(await chain.rpc.call('eth_getBlockByNumber', [quantity(number), false]))
  if (!head) throw providerError(chain.name, `its node does not have the block ${number}`)
  return head
}

/** Whether no node gave an answer: a smaller request may get one. */
const isSilence = (error: unknown): boolean =>
  error instanceof ApiError && error.code === onchainErrors.provider_error.code
