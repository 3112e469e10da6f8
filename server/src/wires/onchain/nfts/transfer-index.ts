import type { Address } from '../../../base/hex.ts'
import { errors } from '../../../base/errors.ts'
import { Type } from '../../../base/schema.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import type { Chains } from '../chains/chains.ts'
import type { NftIndexRow, IndexedContract } from './index-rows.ts'
import { createIndexing } from './indexing.ts'
import { STANDARDS } from './standard.ts'
import type { Transfer } from './transfers.ts'

/** How long a request waits for the index. */
const REQUEST_MS = 10_000
/** How long a node may take for one range: in a request, and in the job. */
const REQUEST_CALL_MS = 4_000
const JOB_CALL_MS = 12_000
/** How long one claim of the job works. */
const CLAIM_MS = 20_000
const RETRY_SECONDS = 5

/** The index of a contract, and the transfers after it, as of one block. */
export type View = { index: NftIndexRow; recent: readonly Transfer[] }

export type TransferIndex = {
  /**
   * Reads from the index of a contract, as of the latest block.
   *
   * @param query may run several times: what it read counts if the index did not change meanwhile
   * @throws UNAVAILABLE if the index is not caught up in time; a job goes on with it
   * @throws PROVIDER_ERROR
   */
  read<T>(subject: IndexedContract, query: (view: View) => Promise<T>): Promise<T>
}

/** Indexes the transfers of NFT contracts: those in final blocks are stored, the newest are read each time. */
export function createTransferIndex(
  context: Pick<WireContext, 'db' | 'clock' | 'jobs' | 'log'>,
  { chains }: { chains: Chains },
): TransferIndex {
  const { clock, jobs } = context
  const indexing = createIndexing(context)

  const job = jobs.define(
    'onchain.nft-index',
    {
      payload: Type.Object({ chain: Type.String(), contract: Type.String(), standard: Type.Enum(STANDARDS) }),
      pool: { name: 'onchain.nft-index', atOnce: 2 },
    },
    async ({ payload: { chain: name, contract, standard }, stopping }) => {
      const chain = chains.all.find((one) => one.name === name)
      if (!chain?.isConfigured) return undefined
      const until = clock.elapsed() + CLAIM_MS
      while (!stopping.aborted && clock.elapsed() < until)
        if (await indexing.advance({ chain, contract: contract as Address, standard }, JOB_CALL_MS))
          return undefined
      return { againInMs: 0 }
    },
  )

  return {
    async read(subject, query) {
      const { chain, contract, standard } = subject
      const until = clock.elapsed() + REQUEST_MS
      while (clock.elapsed() < until) {
        if (!(await indexing.advance(subject, REQUEST_CALL_MS))) continue
        const index = await indexing.find(subject)
        const recent = index && (await indexing.recent(chain, index, REQUEST_CALL_MS))
        if (!recent) continue
        const answer = await query({ index, recent })
        const after = await indexing.find(subject)
        if (after?.id === index.id && after.version === index.version) return answer
      }
      const [index, head] = await Promise.all([indexing.find(subject), chain.head()])
      await job.enqueue(
        { chain: chain.name, contract, standard },
        { id: `onchain.nft-index ${chain.name} ${contract} ${standard}` },
      )
      const indexedBlock = Math.max(0, (index?.next_block ?? 0) - 1)
      throw errors.unavailable({
        message: `The transfers of this contract are being indexed, up to block ${indexedBlock} of ${head.number} so far: try again later.`,
        retryAfter: RETRY_SECONDS,
        details: { indexedBlock, head: head.number },
      })
    },
  }
}
