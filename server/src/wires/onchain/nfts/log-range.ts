import type { Address, Hex } from '../../../base/hex.ts'
import { logsOf, quantity } from '../chains/blocks.ts'
import { headOf, type Chain, type Head } from '../chains/chain.ts'
import type { RpcCall } from '../chains/rpc.ts'
import { transfersIn, TRANSFER_TOPICS, type Transfer } from './transfers.ts'
import type { NftStandard } from './standard.ts'

/** More transfers than this are read in smaller ranges. */
const TRANSFERS_MAX = 5_000

/** Blocks of which all transfers of a contract are read. */
export type LogRange = { contract: Address; standard: NftStandard['name']; from: number; to: number }

/**
 * What a node says about a range: `read`, as of one chain; `too-much` to answer at once; or `moved`, because the chain has
 * changed meanwhile or the node does not have the last block.
 */
export type RangeAnswer =
  | { kind: 'read'; transfers: Transfer[]; before: Head | undefined; last: Head }
  | { kind: 'too-much'; reason: string }
  | { kind: 'moved' }

/**
 * Reads the transfers of a range in one request.
 *
 * @throws PROVIDER_ERROR if no node answers
 */
export async function readRange(
  chain: Chain,
  { contract, standard, from, to }: LogRange,
  limitMs: number,
): Promise<RangeAnswer> {
  const header = (number: number): RpcCall => ({
    method: 'eth_getBlockByNumber',
    params: [quantity(number), false],
  })
  const filter = {
    address: contract,
    fromBlock: quantity(from),
    toBlock: quantity(to),
    topics: [TRANSFER_TOPICS[standard]],
  }
  // A node that reorganises between the calls shows another last block afterwards.
  const answers = await chain.rpc.batch(
    [
      header(to),
      { method: 'eth_getLogs', params: [filter] },
      header(to),
      ...(from === 0 ? [] : [header(from - 1)]),
    ],
    { limitMs },
  )
  const [last, logs, again, before] = [
    headOf(answers[0]!.result),
    answers[1]!,
    headOf(answers[2]!.result),
    headOf(answers[3]?.result),
  ]
  if (!last || last.hash !== again?.hash) return { kind: 'moved' }
  if (logs.error) return { kind: 'too-much', reason: logs.error.message }
  const transfers = logsOf(chain.name, logs).flatMap(transfersIn)
  if (transfers.length > TRANSFERS_MAX && to > from)
    return { kind: 'too-much', reason: `${transfers.length} transfers` }
  transfers.sort((one, other) => one.blockNumber - other.blockNumber || one.logIndex - other.logIndex)
  return { kind: 'read', transfers, before, last }
}

/** How many contracts' codes are asked for in one request. */
const PROBES = 15

/**
 * Finds the block that created a contract.
 *
 * @param to the highest block that is searched
 * @returns the block after `to` if it was not created by then; 0 if the nodes keep no old states
 * @throws PROVIDER_ERROR
 */
export async function creationOf(chain: Chain, contract: Address, to: number): Promise<number> {
  const hasCode = async (blocks: readonly number[]): Promise<boolean[] | undefined> => {
    const answers = await chain.rpc.batch(
      blocks.map((number) => ({ method: 'eth_getCode', params: [contract, quantity(number)] })),
    )
    return answers.every(({ result }) => typeof result === 'string')
      ? answers.map(({ result }) => (result as Hex) !== '0x')
      : undefined
  }
  if (to < 0) return 0
  let [without, first] = [-1, to + 1]
  let blocks = [to]
  while (blocks.length > 0) {
    const answers = await hasCode(blocks)
    if (!answers) return 0
    const at = answers.indexOf(true)
    if (at !== 0) without = blocks.at(at === -1 ? -1 : at - 1)!
    if (at !== -1) first = blocks[at]!
    blocks = probesBetween(without, first)
  }
  return first
}

/** Numbers between two, evenly spaced. */
function probesBetween(low: number, high: number): number[] {
  const room = high - low - 1
  const count = Math.min(PROBES, room)
  return Array.from({ length: count }, (_one, at) => low + 1 + Math.floor((at * room) / count))
}
