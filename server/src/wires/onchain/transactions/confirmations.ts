import type { Address, Hex } from '../../../base/hex.ts'
import type { Step } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import { quantity, type Block } from '../chains/blocks.ts'
import { headOf, type Chain, type Head } from '../chains/chain.ts'
import type { Chains } from '../chains/chains.ts'
import { createFollower, type Follower } from '../chains/follower.ts'
import type { RpcAnswer } from '../chains/rpc.ts'
import type { NonceQueues } from './nonce-queue.ts'
import { mintedTokenId, receiptOf, type TransactionReceipt } from './receipt.ts'
import type { OnchainTransactionEvents } from './transaction-events.ts'
import { TRANSACTIONS_CONSUMER, type TransactionKind } from './transaction-rows.ts'

/** Finds out which transactions were mined, and takes that back if a chain is reorganised. */
export type Confirmations = Follower

/** A pause of more blocks is not read block by block: what waits is asked for by its hashes. */
const GAP_MAX = 100
/** Blocks above it after which a transaction is not looked at any more. */
const FINAL_DEPTH = 64
/** Values of one statement, and calls of one request. */
const PART = 200

/** A signed version of a transaction, with what is known of that transaction. */
type Version = {
  hash: Hex
  id: string
  kind: TransactionKind
  sender: Address
  recipient: Address
  block_number: number | null
  block_hash: string | null
  /** Why it cancels the transaction: mined, it is the end of it. */
  cancels: string | null
}

/** @param options.queues sends again what a reorganisation took out of the chain */
export function createConfirmations(
  context: Pick<WireContext, 'db' | 'clock' | 'jobs' | 'log'>,
  {
    chains,
    queues,
    events,
  }: { chains: Chains; queues: Pick<NonceQueues, 'wakeSql'>; events: OnchainTransactionEvents },
): Confirmations {
  const { db, clock } = context

  const selectVersionsSql = (chain: string, condition: Sql): Sql<Version> => sql`
    select s.hash, s.cancels, t.id, t.kind, t.sender, t.recipient, t.block_number, t.block_hash
    from onchain_signed s join onchain_transactions t on t.id = s.transaction_id
    where t.chain = ${chain} and ${condition}`

  const openSql = (chain: string): Sql => sql`chain = ${chain} and is_final = 0`

  /** The transactions of this server in these blocks, each with its block. */
  async function findIn(
    chain: string,
    blocks: readonly Block[],
  ): Promise<{ version: Version; block: Block }[]> {
    // Not `distinct`, for which SQLite would walk through all senders instead of what is open.
    const rows = await db.all(sql<{ sender: Address }>`
      select sender from onchain_transactions where ${openSql(chain)}`)
    const senders = new Set(rows.map(({ sender }) => sender))
    const byHash = new Map(
      blocks.flatMap((block) =>
        block.transactions.filter(({ from }) => senders.has(from)).map(({ hash }) => [hash, block] as const),
      ),
    )
    const versions: Version[] = []
    for (const part of partsOf([...byHash.keys()]))
      versions.push(...(await db.all(selectVersionsSql(chain, sql`s.hash in (${sql.join(part)})`))))
    return versions.map((version) => ({ version, block: byHash.get(version.hash)! }))
  }

  /**
   * @param head a node that does not have it as well is behind
   * @param believe says what is wrong with a receipt at an index; undefined: nothing
   */
  async function readReceipts(
    chain: Chain,
    hashes: readonly Hex[],
    head: Head,
    believe: (receipt: TransactionReceipt | undefined, at: number) => string | undefined,
  ): Promise<(TransactionReceipt | undefined)[]> {
    const receipts: (TransactionReceipt | undefined)[] = []
    for (const part of partsOf(hashes)) {
      const begin = receipts.length
      const [, ...answers] = await chain.rpc.batch(
        [
          { method: 'eth_getBlockByNumber', params: [quantity(head.number), false] },
          ...part.map((hash) => ({ method: 'eth_getTransactionReceipt', params: [hash] })),
        ],
        {
          believe: ([block, ...all]) =>
            headOf(block!.result)?.hash === head.hash
              ? firstFault(all, part, (one, at) => believe(one, begin + at))
              : `shows another block ${head.number}`,
        },
      )
      receipts.push(...answers.map(({ result }) => receiptOf(result)))
    }
    return receipts
  }

  const minedSql = (chain: string, version: Version, receipt: TransactionReceipt): Step[] => [
    sql`
    update onchain_transactions set
      hash = ${receipt.hash}, status = 'pending', is_final = 0,
      block_number = ${receipt.blockNumber}, block_hash = ${receipt.blockHash},
      succeeded = ${receipt.succeeded && version.cancels === null ? 1 : 0}, gas_used = ${String(receipt.gasUsed)}, fee = ${String(receipt.fee)},
      token_id = ${tokenIdOf(chain, version, receipt) ?? null},
      error = ${version.cancels ?? (receipt.succeeded ? null : 'the contract reverted')}, updated_at = ${clock.now()}
    where id = ${version.id}`,
    ...events.publishSql('mined', version.id),
  ]

  /** What is deep enough; not `updated_at`, which says when a queue went on. */
  const settleSql = (chain: Chain, head: Head): Step[] => [
    ...events.settledSql(
      sql`${openSql(chain.name)} and status = 'pending' and block_number <= ${head.number + 1 - chain.depth}`,
    ),
    sql`update onchain_transactions set status = case when succeeded = 1 then 'confirmed' else 'failed' end
      where ${openSql(chain.name)} and status = 'pending' and block_number <= ${head.number + 1 - chain.depth}`,
    sql`update onchain_transactions set is_final = 1
      where ${openSql(chain.name)} and block_number <= ${head.number - Math.max(chain.depth, FINAL_DEPTH)}`,
  ]

  /** Has transactions sent again that are in no block any more. */
  async function unminedSql(chain: string, condition: Sql): Promise<Step[]> {
    const affected = sql`chain = ${chain} and block_number is not null and ${condition}`
    const rows = await db.all(sql<{ sender: Address }>`
      select sender from onchain_transactions where ${affected}`)
    const senders = new Set(rows.map(({ sender }) => sender))
    return [
      ...events.unminedSql(affected),
      sql`update onchain_transactions set
          status = 'pending', is_final = 0, block_number = null, block_hash = null, succeeded = null, gas_used = null,
          fee = null, token_id = null, error = null, broadcast_at = null, broadcasts = 0, updated_at = ${clock.now()}
        where ${affected}`,
      ...Array.from(senders, (sender) => queues.wakeSql(chain, sender)).flat(),
    ]
  }

  return createFollower(context, {
    chains,
    consumer: {
      name: TRANSACTIONS_CONSUMER,
      maxGap: GAP_MAX,

      async isNeeded(chain) {
        const row = await db.get(sql`select id from onchain_transactions where ${openSql(chain)} limit 1`)
        return row !== undefined
      },

      async apply(chain, blocks, head) {
        const mined = await findIn(chain.name, blocks)
        const hashes = mined.map(({ version }) => version.hash)
        const receipts = await readReceipts(chain, hashes, head, (receipt, at) =>
          receipt?.blockHash === mined[at]!.block.hash
            ? undefined
            : 'shows a transaction in a block, and not its receipt',
        )
        return [
          ...mined.flatMap(({ version }, at) => minedSql(chain.name, version, receipts[at]!)),
          ...settleSql(chain, head),
        ]
      },

      // Both values, so that an index is used.
      rewind: (chain, number) => unminedSql(chain.name, sql`is_final in (0, 1) and block_number > ${number}`),

      async skip(chain, head) {
        const versions = await db.scan(selectVersionsSql(chain.name, sql`t.is_final = 0`))
        const hashes = versions.map(({ hash }) => hash)
        const receipts = await readReceipts(chain, hashes, head, () => undefined)
        // What is above the head is read with its block.
        const mined = versions.flatMap((version, at) => {
          const receipt = receipts[at]
          return receipt && receipt.blockNumber <= head.number ? [{ version, receipt }] : []
        })
        const isMined = new Set(mined.map(({ version }) => version.id))
        const lostVersions = versions.filter(
          ({ id, block_number }) => block_number !== null && !isMined.has(id),
        )
        const steps: Step[] = []
        for (const part of partsOf([...new Set(lostVersions.map(({ id }) => id))]))
          steps.push(...(await unminedSql(chain.name, sql`id in (${sql.join(part)})`)))
        return [
          ...steps,
          ...mined
            .filter(({ version, receipt }) => version.block_hash !== receipt.blockHash)
            .flatMap(({ version, receipt }) => minedSql(chain.name, version, receipt)),
          ...settleSql(chain, head),
        ]
      },
    },
  })
}

function firstFault(
  answers: readonly RpcAnswer[],
  hashes: readonly Hex[],
  believe: (receipt: TransactionReceipt | undefined, at: number) => string | undefined,
): string | undefined {
  for (const [at, { result, error }] of answers.entries()) {
    const receipt = receiptOf(result)
    if (error) return `eth_getTransactionReceipt: ${error.message}`
    if (receipt && receipt.hash !== hashes[at]) return 'answers the receipt of another transaction'
    const fault = believe(receipt, at)
    if (fault !== undefined) return fault
  }
  return undefined
}

const tokenIdOf = (
  chain: string,
  { kind, recipient }: Version,
  receipt: TransactionReceipt,
): string | undefined =>
  kind === 'mint' && receipt.succeeded ? mintedTokenId(chain, receipt, recipient) : undefined

const partsOf = <T>(all: readonly T[]): T[][] =>
  Array.from({ length: Math.ceil(all.length / PART) }, (_part, at) => all.slice(at * PART, (at + 1) * PART))
