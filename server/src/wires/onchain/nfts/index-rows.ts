import type { Address } from '../../../base/hex.ts'
import type { Database, Step } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import { ZERO_ADDRESS } from '../chains/blocks.ts'
import type { Chain } from '../chains/chain.ts'
import type { NftStandard } from './standard.ts'
import { changesOf, ownersAfter, ownersBefore, type Transfer } from './transfers.ts'

/** A contract whose transfers are indexed. */
export type IndexedContract = { chain: Chain; contract: Address; standard: NftStandard['name'] }

/** Rows of one statement. */
const ROWS = 200

/** How far the transfers of a contract are indexed. */
export type NftIndexRow = {
  id: string
  network: string
  contract: Address
  standard: NftStandard['name']
  /** All blocks before it are indexed. */
  next_block: number
  /** How many blocks the next request to a node is about. */
  range_size: number
  /** Grows with each change of what is indexed. */
  version: number
}

type TransferRow = {
  block_number: number
  log_index: number
  position: number
  token_id: string
  sender: Address
  recipient: Address
  amount: string
}

export const selectIndexSql = ({
  network,
  contract,
  standard,
}: Pick<NftIndexRow, 'network' | 'contract' | 'standard'>): Sql<NftIndexRow> => sql<NftIndexRow>`
  select id, network, contract, standard, next_block, range_size, version from onchain_nft_indexes
  where network = ${network} and contract = ${contract} and standard = ${standard}`

/** A list of texts, however many, as the right side of `in`. */
export const listSql = (texts: readonly string[]): Sql => {
  const list = JSON.stringify(texts)
  return sql`(${sql.either({
    sqlite: sql`select value from json_each(${list})`,
    postgres: sql`select jsonb_array_elements_text(${list}::jsonb)`,
  })})`
}

/** Inserts transfers of an index. */
export const insertTransfersSql = (indexId: string, transfers: readonly Transfer[]): Sql[] =>
  chunksOf(transfers).map(
    (chunk) => sql`
    insert into onchain_nft_transfers (index_id, block_number, log_index, position, token_id, sender, recipient, amount)
    values ${sql.join(
      chunk.map(
        (
          one,
        ) => sql`(${indexId}, ${one.blockNumber}, ${one.logIndex}, ${one.position}, ${String(one.tokenId)},
          ${one.from}, ${one.to}, ${String(one.amount)})`,
      ),
    )}`,
  )

/** Reads the transfers after a block, in their order. */
export async function transfersAfter(db: Database, indexId: string, block: number): Promise<Transfer[]> {
  const rows = await db.scan(sql<TransferRow>`
    select block_number, log_index, position, token_id, sender, recipient, amount from onchain_nft_transfers
    where index_id = ${indexId} and block_number > ${block} order by block_number, log_index, position`)
  return rows.map((row) => ({
    blockNumber: row.block_number,
    logIndex: row.log_index,
    position: row.position,
    tokenId: BigInt(row.token_id),
    from: row.sender,
    to: row.recipient,
    amount: BigInt(row.amount),
  }))
}

/**
 * The steps by which what is held follows transfers, or is as it was before them. They depend on what is stored, so their
 * batch must have the condition that the index has not changed.
 */
export const holdingsSql = (
  db: Database,
  index: NftIndexRow,
  transfers: readonly Transfer[],
  direction: 'apply' | 'undo',
): Promise<Step[]> | Step[] =>
  index.standard === 'erc721'
    ? ownersSql(index.id, direction === 'apply' ? ownersAfter(transfers) : ownersBefore(transfers))
    : balancesSql(db, index.id, transfers, direction === 'apply' ? 1n : -1n)

/** The last transfer of a token decides: some contracts mint without events. */
function ownersSql(indexId: string, owners: ReadonlyMap<bigint, Address>): Step[] {
  if (owners.size === 0) return []
  const remainingOwners = [...owners].filter(([, owner]) => owner !== ZERO_ADDRESS)
  return [
    sql`delete from onchain_nft_holdings
      where index_id = ${indexId} and token_id in ${listSql(Array.from(owners.keys(), String))}`,
    ...upsertHoldingsSql(
      indexId,
      remainingOwners.map(([tokenId, owner]) => ({ owner, token_id: String(tokenId), balance: '1' })),
    ),
  ]
}

async function balancesSql(
  db: Database,
  indexId: string,
  transfers: readonly Transfer[],
  sign: 1n | -1n,
): Promise<Step[]> {
  const changes = changesOf(transfers)
  if (changes.length === 0) return []
  const stored = new Map<string, bigint>()
  for (const chunk of chunksOf(changes)) {
    const pairs = chunk.map(({ owner, tokenId }) => sql`(${owner}, ${String(tokenId)})`)
    const rows = await db.all(sql<HoldingRow>`
      select owner, token_id, balance from onchain_nft_holdings
      where index_id = ${indexId} and (owner, token_id) in (values ${sql.join(pairs)})`)
    for (const row of rows) stored.set(`${row.owner} ${row.token_id}`, BigInt(row.balance))
  }
  const sums = changes.map(({ owner, tokenId, amount }) => ({
    owner,
    token_id: String(tokenId),
    balance: String((stored.get(`${owner} ${tokenId}`) ?? 0n) + sign * amount),
  }))
  const emptySums = sums.filter(({ balance }) => balance === '0')
  return [
    ...chunksOf(emptySums).map(
      (chunk) => sql`delete from onchain_nft_holdings where index_id = ${indexId} and (owner, token_id) in
        (values ${sql.join(chunk.map(({ owner, token_id }) => sql`(${owner}, ${token_id})`))})`,
    ),
    ...upsertHoldingsSql(
      indexId,
      sums.filter(({ balance }) => balance !== '0'),
    ),
  ]
}

type HoldingRow = { owner: string; token_id: string; balance: string }

const upsertHoldingsSql = (indexId: string, rows: readonly HoldingRow[]): Sql[] =>
  chunksOf(rows).map(
    (chunk) => sql`
    insert into onchain_nft_holdings (index_id, owner, token_id, balance)
    values ${sql.join(
      chunk.map(({ owner, token_id, balance }) => sql`(${indexId}, ${owner}, ${token_id}, ${balance})`),
    )}
    on conflict (index_id, owner, token_id) do update set balance = excluded.balance`,
  )

function chunksOf<T>(list: readonly T[]): T[][] {
  const chunks: T[][] = []
  for (let at = 0; at < list.length; at += ROWS) chunks.push(list.slice(at, at + ROWS))
  return chunks
}
