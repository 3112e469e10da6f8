import type { Hex } from '../../../base/hex.ts'
import { errors } from '../../../base/errors.ts'
import { Type } from '../../../base/schema.ts'
import { requireRow, type Step } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import type { Job, NotYet } from '../../../kernel/jobs/job.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import { quantity, readBlocks, type Block } from './blocks.ts'
import { headOf, type Chain, type Head } from './chain.ts'
import type { Chains } from './chains.ts'

/** Blocks that one batch takes over. */
const ROUND = 25
/** Blocks that are remembered: a reorganisation that is deeper begins at the oldest of them. */
const REMEMBERED = 300
/** How long one claim of the job follows; its row is written once in this time. */
const CLAIM_MS = 20_000
/** The pause after a fault. */
const FAULT_MS = 2_000
/** Whether a chain has to be followed is looked up this often as well, in case a job ended at that very moment. */
const NEED_MS = 10_000

/** What follows the blocks of a chain. */
export type Consumer = {
  /** Its name in the database: `transactions`. It must not change. */
  readonly name: string
  /** The first topics of the logs that its blocks come with. Default: none. */
  readonly topics?: readonly Hex[]
  /** Whether the chain has to be followed now. */
  isNeeded(chain: string): Promise<boolean>
  /**
   * What blocks mean, as steps of the batch that moves the cursor behind them: each block is applied exactly once, in order.
   * It may call the node, and is called again with the same blocks if the batch fails.
   *
   * @param head the last of the blocks, and so the head that confirmations are counted from
   */
  apply(chain: Chain, blocks: readonly Block[], head: Head): Promise<readonly Step[]>
  /** What it means that the blocks above a number are no longer part of the chain; -1: none of them is. */
  rewind(chain: Chain, number: number): Promise<readonly Step[]>
  /** The most blocks that are read one by one after a pause. Beyond them `skip` is called. Default: all are read. */
  readonly maxGap?: number
  /** What is to be done instead of reading all blocks up to the head; the cursor is then there. */
  skip?(chain: Chain, head: Head): Promise<readonly Step[]>
}

/** Follows the blocks of chains for one consumer. */
export type Follower = {
  readonly consumer: Pick<Consumer, 'name' | 'isNeeded'>
  /**
   * The steps that have a chain followed from the block after `head` on, for the batch that creates the need. A chain that
   * is followed already goes on where it is.
   *
   * @param head as `chain.head()` answered before what is awaited could happen
   */
  followSql(chain: Chain, head: Head): Promise<Step[]>
  /** Up to which block the chain is followed; undefined if it is not. */
  cursor(chain: string): Promise<{ number: number; hash: string } | undefined>
}

type FollowerContext = Pick<WireContext, 'db' | 'clock' | 'log'> & {
  readonly chains: Chains
  readonly consumer: Consumer
  /** The chains that could not be followed the last time. */
  readonly faulty: Set<string>
}

type Cursor = { number: number; hash: string; genesis_hash: string }

const movedMeanwhile = errors.unavailable({ message: 'Another process follows this chain.' })

/**
 * Defines the jobs that follow chains for a consumer: one of a chain at a time, across all replicas. Where two run all the
 * same, the condition on the cursor lets one of them write.
 */
export function createFollower(
  { db, clock, jobs, log }: Pick<WireContext, 'db' | 'clock' | 'jobs' | 'log'>,
  { chains, consumer }: { chains: Chains; consumer: Consumer },
): Follower {
  const following: FollowerContext = { db, clock, log, chains, consumer, faulty: new Set() }
  const job = jobs.define(
    `onchain.follow-${consumer.name}`,
    {
      payload: Type.Object({ chain: Type.String() }),
      lane: ({ chain }) => `${following.consumer.name} ${chain}`,
      pool: { name: 'onchain.follow', atOnce: 16 },
      neededFor: 'it reads the blocks of a chain',
      retry: { firstMs: 1_000, maxMs: 30_000, attempts: Number.MAX_SAFE_INTEGER },
    },
    (one) => follow(following, one),
  )

  const enqueueSql = (chain: string): Step =>
    job.enqueueSql({ chain }, { id: `onchain.follow-${consumer.name}-${chain}` })
  jobs.every(`onchain.needed-${consumer.name}`, NEED_MS, async () => {
    for (const { name: chain, isConfigured } of chains.all)
      if (isConfigured && (await consumer.isNeeded(chain))) await db.batch([enqueueSql(chain)])
  })

  return {
    consumer,
    followSql: async (chain, head) => [
      // What nobody needed for long is not caught up with. Nearer ones stay: another request may be about to need them.
      ...((await following.consumer.isNeeded(chain.name))
        ? []
        : [
            sql`delete from onchain_cursors
              where chain = ${chain.name} and consumer = ${following.consumer.name} and number < ${head.number - REMEMBERED}`,
          ]),
      ...(await startSql(following, chain, head)),
      enqueueSql(chain.name),
    ],
    async cursor(chain) {
      const row = await readCursor(following, chain)
      return row && { number: row.number, hash: row.hash }
    },
  }
}

async function follow(
  following: FollowerContext,
  { payload, stopping }: Job<{ chain: string }>,
): Promise<NotYet | undefined> {
  const chain = following.chains.all.find((one) => one.name === payload.chain)
  // A chain that the configuration has no more is followed again once it is back.
  if (!chain?.isConfigured) return undefined
  const until = following.clock.elapsed() + CLAIM_MS
  while (!stopping.aborted && following.clock.elapsed() < until) {
    if (!(await following.consumer.isNeeded(chain.name))) return undefined
    try {
      const isBehind = await round(following, chain)
      if (following.faulty.delete(chain.name))
        following.log.info(
          { chain: chain.name, consumer: following.consumer.name },
          'a chain is followed again',
        )
      if (!isBehind) await following.clock.sleep(chain.pollMs, { signal: stopping, idle: true })
    } catch (error) {
      // Another replica is there already.
      if (error === movedMeanwhile) continue
      if (!following.faulty.has(chain.name))
        following.log.warn(
          { chain: chain.name, consumer: following.consumer.name, err: error },
          'a chain cannot be followed',
        )
      following.faulty.add(chain.name)
      return { againInMs: FAULT_MS }
    }
  }
  return { againInMs: 0 }
}

const readCursor = (following: FollowerContext, chain: string): Promise<Cursor | undefined> =>
  following.db.get(sql<Cursor>`
    select number, hash, genesis_hash from onchain_cursors where chain = ${chain} and consumer = ${following.consumer.name}`)

const rememberSql =
  (chain: string, consumer: string) =>
  ({ number, hash }: Head) =>
    sql`insert into onchain_blocks (chain, consumer, number, hash) values (${chain}, ${consumer}, ${number}, ${hash})
      on conflict (chain, consumer, number) do update set hash = excluded.hash`

/** Applies what is new; answers whether there may be more at once. */
async function round(following: FollowerContext, chain: Chain): Promise<boolean> {
  const [head, { genesisHash }] = [await chain.head(), await chain.identity()]
  const cursor = await readCursor(following, chain.name)
  if (!cursor) {
    await following.db.batch(await startSql(following, chain, head))
    return true
  }
  if (cursor.genesis_hash !== genesisHash) {
    await move(
      following,
      chain,
      cursor,
      { number: -1, hash: '' },
      genesisHash,
      await following.consumer.rewind(chain, -1),
      [],
    )
    return true
  }
  if (following.consumer.skip && head.number - cursor.number > (following.consumer.maxGap ?? Infinity)) {
    await move(following, chain, cursor, head, genesisHash, await following.consumer.skip(chain, head), [
      head,
    ])
    return true
  }
  if (head.number === cursor.number && head.hash === cursor.hash) return false
  if (head.number <= cursor.number) {
    // A node that is behind shows the block that was applied; another block there is a reorganisation.
    return (await isApplied(following, chain.name, head))
      ? false
      : unwind(following, chain, cursor, head.number, genesisHash)
  }
  const to = Math.min(head.number, cursor.number + ROUND)
  const blocks = await readBlocks(chain, {
    from: cursor.number + 1,
    to,
    topics: following.consumer.topics ?? [],
  })
  const [first] = blocks
  if (!first) return false
  if (cursor.hash !== '' && first.parentHash !== cursor.hash)
    return unwind(following, chain, cursor, cursor.number, genesisHash)
  const torn = blocks.findIndex((block, at) => at > 0 && block.parentHash !== blocks[at - 1]!.hash)
  const whole = torn === -1 ? blocks : blocks.slice(0, torn)
  const last = whole.at(-1)!
  await move(
    following,
    chain,
    cursor,
    last,
    genesisHash,
    await following.consumer.apply(chain, whole, last),
    whole,
  )
  return last.number < head.number
}

async function isApplied(
  following: FollowerContext,
  chain: string,
  { number, hash }: Head,
): Promise<boolean> {
  const row = await following.db.get(sql<{ hash: string }>`select hash from onchain_blocks
    where chain = ${chain} and consumer = ${following.consumer.name} and number = ${number}`)
  return row === undefined || row.hash === hash
}

/** Goes back to the last block that the chain still has. */
async function unwind(
  following: FollowerContext,
  chain: Chain,
  cursor: Cursor,
  highest: number,
  genesisHash: string,
): Promise<true> {
  const stored = await following.db.all(sql<{
    number: number
    hash: string
  }>`select number, hash from onchain_blocks
    where chain = ${chain.name} and consumer = ${following.consumer.name} and number <= ${highest} order by number desc`)
  const answers = await chain.rpc.batch(
    stored.map(({ number }) => ({
      method: 'eth_getBlockByNumber',
      params: [quantity(number), false],
    })),
  )
  const at = stored.findIndex(({ hash }, index) => headOf(answers[index]!.result)?.hash === hash)
  // Deeper than what is remembered: what is older is taken to be as it was.
  const fork = stored[at] ?? { number: (stored.at(-1)?.number ?? cursor.number) - 1, hash: '' }
  following.log.warn(
    {
      chain: chain.name,
      consumer: following.consumer.name,
      from: fork.number + 1,
      to: cursor.number,
    },
    'a chain was reorganised',
  )
  await move(
    following,
    chain,
    cursor,
    fork,
    genesisHash,
    await following.consumer.rewind(chain, fork.number),
    [],
  )
  return true
}

async function move(
  following: FollowerContext,
  chain: Chain,
  before: Cursor,
  to: { number: number; hash: string },
  genesisHash: string,
  steps: readonly Step[],
  blocks: readonly Head[],
): Promise<void> {
  await following.db.batch([
    requireRow(
      sql`update onchain_cursors set number = ${to.number}, hash = ${to.hash}, genesis_hash = ${genesisHash}
        where chain = ${chain.name} and consumer = ${following.consumer.name} and number = ${before.number} and hash = ${before.hash}
          and genesis_hash = ${before.genesis_hash}
        returning number`,
      () => movedMeanwhile,
    ),
    sql`delete from onchain_blocks where chain = ${chain.name} and consumer = ${following.consumer.name}
      and (number > ${to.number - blocks.length} or number <= ${to.number - REMEMBERED})`,
    ...blocks.map(rememberSql(chain.name, following.consumer.name)),
    ...steps,
  ])
}

/** Begins at a block, if the chain is not followed yet. */
async function startSql(following: FollowerContext, chain: Chain, head: Head): Promise<Step[]> {
  const { genesisHash } = await chain.identity()
  return [
    sql`insert into onchain_cursors (chain, consumer, number, hash, genesis_hash)
      values (${chain.name}, ${following.consumer.name}, ${head.number}, ${head.hash}, ${genesisHash})
      on conflict (chain, consumer) do nothing`,
    rememberSql(chain.name, following.consumer.name)(head),
  ]
}
