import type { Address, Hex } from '../../../base/hex.ts'
import { decodeAbiParameters, getAddress, size, slice } from '../../../base/viem.ts'
import { ZERO_ADDRESS, type EventLog } from '../chains/blocks.ts'
import type { NftStandard } from './standard.ts'

// Transfer(address indexed, address indexed, uint256 indexed), https://eips.ethereum.org/EIPS/eip-721
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
// TransferSingle and TransferBatch(address indexed, address indexed, address indexed, …), https://eips.ethereum.org/EIPS/eip-1155
const TRANSFER_SINGLE = '0xc3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62'
const TRANSFER_BATCH = '0x4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb'

const BATCH = [{ type: 'uint256[]' }, { type: 'uint256[]' }] as const

/** The first topics of the transfers of a standard. */
export const TRANSFER_TOPICS: Readonly<Record<NftStandard['name'], readonly Hex[]>> = {
  erc721: [TRANSFER],
  erc1155: [TRANSFER_SINGLE, TRANSFER_BATCH],
}

/** Tokens that changed their owner. The zero address mints and burns. */
export type Transfer = {
  blockNumber: number
  /** Within the block. */
  logIndex: number
  /** Within a TransferBatch. */
  position: number
  tokenId: bigint
  from: Address
  to: Address
  amount: bigint
}

/** The transfers in a log: none, if it is of another form than its standard says, as that of ERC-20 is. */
export function transfersIn({ topics, data, blockNumber, logIndex }: EventLog): Transfer[] {
  const [kind, ...indexed] = topics
  if (indexed.length !== 3) return []
  const place = { blockNumber, logIndex }
  const [first, second, third] = indexed as [Hex, Hex, Hex]
  if (kind === TRANSFER) {
    const parties = { from: addressIn(first), to: addressIn(second) }
    return [{ ...place, ...parties, position: 0, tokenId: BigInt(third), amount: 1n }]
  }
  const parties = { from: addressIn(second), to: addressIn(third) }
  if (kind === TRANSFER_SINGLE) {
    if (size(data) !== 64) return []
    const [tokenId, amount] = [BigInt(slice(data, 0, 32)), BigInt(slice(data, 32, 64))]
    return [{ ...place, ...parties, position: 0, tokenId, amount }]
  }
  if (kind !== TRANSFER_BATCH) return []
  const [ids, amounts] = batchIn(data)
  if (ids.length !== amounts.length) return []
  return ids.map((tokenId, position) => ({
    ...place,
    ...parties,
    position,
    tokenId,
    amount: amounts[position]!,
  }))
}

const addressIn = (topic: Hex): Address => getAddress(slice(topic, 12))

function batchIn(data: Hex): readonly [readonly bigint[], readonly bigint[]] {
  try {
    return decodeAbiParameters(BATCH, data)
  } catch {
    return [[], []]
  }
}

/** How many of a token an owner has more, or fewer. */
export type HoldingChange = { owner: Address; tokenId: bigint; amount: bigint }

/** What transfers change, without the zero address. A change of 0 is left out. */
export function changesOf(transfers: readonly Transfer[]): HoldingChange[] {
  const changes = new Map<string, HoldingChange>()
  const add = (owner: Address, tokenId: bigint, amount: bigint): void => {
    if (owner === ZERO_ADDRESS) return
    const key = `${owner} ${tokenId}`
    const change = changes.get(key)
    if (change) change.amount += amount
    else changes.set(key, { owner, tokenId, amount })
  }
  for (const { from, to, tokenId, amount } of transfers) {
    add(from, tokenId, -amount)
    add(to, tokenId, amount)
  }
  return [...changes.values()].filter(({ amount }) => amount !== 0n)
}

/** Whose each token is after transfers, in their order; the zero address's is burned. */
export const ownersAfter = (transfers: readonly Transfer[]): Map<bigint, Address> =>
  new Map(transfers.map(({ tokenId, to }) => [tokenId, to]))

/** Whose each token was before transfers, in their order. */
export const ownersBefore = (transfers: readonly Transfer[]): Map<bigint, Address> =>
  new Map(transfers.toReversed().map(({ tokenId, from }) => [tokenId, from]))
