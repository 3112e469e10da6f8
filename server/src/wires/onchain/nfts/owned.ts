import type { Address } from '../../../base/hex.ts'
import type { Database } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import type { Chain } from '../chains/chain.ts'
import { quantity } from '../chains/blocks.ts'
import { listSql } from './index-rows.ts'
import { nftAnswer, nftCall } from './nft-calls.ts'
import type { NftStandard } from './standard.ts'
import type { TransferIndex, View } from './transfer-index.ts'
import { changesOf, ownersAfter } from './transfers.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'

/** Calls of one request to a node: many refuse larger ones. */
const CALLS = 100

/** A token of an owner. `balance` is of ERC-1155 only. */
export type OwnedNft = {
  contractAddress: Address
  tokenId: string
  standard: NftStandard['name']
  owner: Address
  balance?: string
}

export type OwnedPage = { nfts: OwnedNft[]; total: number }

type Query = { chain: Chain; contract: Address; standard: NftStandard; owner: Address }
type Slice = { limit: number; offset: number }
type Holding = { tokenId: bigint; balance: bigint }
type HoldingRow = { token_id: string; balance: string }

export type Owned = {
  /**
   * Reads one page of an owner's tokens, as of one block: in the order of the contract if it lists them, else by token id.
   *
   * @throws UNAVAILABLE if the transfers are not indexed in time
   * @throws PROVIDER_ERROR
   */
  list(query: Query, slice: Slice): Promise<OwnedPage>
  /** Whether an ERC-1155 token was ever minted or moved. @throws as `list` */
  isSeen(query: Omit<Query, 'owner' | 'standard'>, tokenId: bigint): Promise<boolean>
}

export function createOwned({ db }: Pick<WireContext, 'db'>, { index }: { index: TransferIndex }): Owned {
  return {
    async list(query, slice) {
      const { chain, contract, standard, owner } = query
      const viewOf = ({ tokenId, balance }: Holding): OwnedNft => ({
        contractAddress: contract,
        tokenId: String(tokenId),
        standard: standard.name,
        owner,
        ...(standard.name === 'erc1155' && { balance: String(balance) }),
      })
      const page =
        (standard.isEnumerable && (await enumerated(query, slice))) ||
        (await index.read({ chain, contract, standard: standard.name }, (view) =>
          heldAt(db, view, owner, slice),
        ))
      return { nfts: page.holdings.map(viewOf), total: page.total }
    },
    isSeen: ({ chain, contract }, tokenId) =>
      index.read({ chain, contract, standard: 'erc1155' }, async ({ index: { id }, recent }) => {
        if (recent.some((one) => one.tokenId === tokenId)) return true
        const row = await db.get(sql`select token_id from onchain_nft_transfers
          where index_id = ${id} and token_id = ${String(tokenId)} limit 1`)
        return row !== undefined
      }),
  }
}

type HoldingPage = { holdings: Holding[]; total: number }

/**
 * Reads a page that the contract lists itself. https://eips.ethereum.org/EIPS/eip-721, ERC721Enumerable
 *
 * @returns undefined if it lists nothing after all
 */
async function enumerated(
  { chain, contract, owner }: Query,
  { limit, offset }: Slice,
): Promise<HoldingPage | undefined> {
  const block = quantity((await chain.head({ isFresh: true })).number)
  const [balance] = await chain.rpc.batch([nftCall(contract, 'balanceOf', [owner], block)])
  const total = nftAnswer(chain.name, 'balanceOf', balance!)
  if (total === undefined || total > BigInt(Number.MAX_SAFE_INTEGER)) return undefined
  const count = Math.max(0, Math.min(limit, Number(total) - offset))
  const holdings: Holding[] = []
  for (let at = 0; at < count; at += CALLS) {
    const indexes = Array.from({ length: Math.min(CALLS, count - at) }, (_one, i) => offset + at + i)
    const answers = await chain.rpc.batch(
      indexes.map((i) => nftCall(contract, 'tokenOfOwnerByIndex', [owner, BigInt(i)], block)),
    )
    for (const answer of answers) {
      const tokenId = nftAnswer(chain.name, 'tokenOfOwnerByIndex', answer)
      if (tokenId === undefined) return undefined
      holdings.push({ tokenId, balance: 1n })
    }
  }
  return { holdings, total: Number(total) }
}

const IN_ORDER = sql.literal('order by length(token_id), token_id')

/** Reads a page of what the index has, with the newest transfers taken into account. */
async function heldAt(
  db: Database,
  { index, recent }: View,
  owner: Address,
  { limit, offset }: Slice,
): Promise<HoldingPage> {
  const ofOwner = sql`index_id = ${index.id} and owner = ${owner}`
  const { changed, holdings } = await recentOf(db, { index, recent }, owner, ofOwner)
  // All that the newest transfers did not change is read from the index.
  const stored = sql`${ofOwner} and balance not like '-%' and token_id not in ${listSql(changed)}`
  const [count] = await db.scan<{ total: number }>(
    sql`select count(*) as total from onchain_nft_holdings where ${stored}`,
  )
  // So many of the first ones may come after what is held of the newest.
  const first = Math.max(0, offset - holdings.length)
  const rows = await db.scan<HoldingRow>(sql`select token_id, balance from onchain_nft_holdings
    where ${stored} ${IN_ORDER} limit ${limit + holdings.length} offset ${first}`)
  const lowest = first === 0 || rows.length === 0 ? 0n : BigInt(rows[0]!.token_id)
  const after = holdings.filter(({ tokenId }) => tokenId >= lowest)
  const merged = [...rows.map(holdingOf), ...after].toSorted((one, other) =>
    one.tokenId < other.tokenId ? -1 : 1,
  )
  const skipped = first + holdings.length - after.length
  return {
    holdings: merged.slice(offset - skipped, offset - skipped + limit),
    total: count!.total + holdings.length,
  }
}

/** What the newest transfers change for an owner: the tokens, and those of them that the owner has now. */
async function recentOf(
  db: Database,
  { index, recent }: View,
  owner: Address,
  ofOwner: Sql,
): Promise<{ changed: string[]; holdings: Holding[] }> {
  if (index.standard === 'erc721') {
    const owners = [...ownersAfter(recent)]
    return {
      changed: owners.map(([tokenId]) => String(tokenId)),
      holdings: owners.flatMap(([tokenId, one]) => (one === owner ? [{ tokenId, balance: 1n }] : [])),
    }
  }
  const changes = changesOf(recent).filter((one) => one.owner === owner)
  const changed = changes.map(({ tokenId }) => String(tokenId))
  const rows = await db.scan<HoldingRow>(sql`select token_id, balance from onchain_nft_holdings
    where ${ofOwner} and token_id in ${listSql(changed)}`)
  const stored = new Map(rows.map((row) => [row.token_id, BigInt(row.balance)]))
  const holdings = changes.map(({ tokenId, amount }) => ({
    tokenId,
    balance: (stored.get(String(tokenId)) ?? 0n) + amount,
  }))
  return { changed, holdings: holdings.filter(({ balance }) => balance > 0n) }
}

const holdingOf = ({ token_id, balance }: HoldingRow): Holding => ({
  tokenId: BigInt(token_id),
  balance: BigInt(balance),
})
