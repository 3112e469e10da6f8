import type { Database } from '../../db/database.ts'
import { sql } from '../../db/sql.ts'
import { newestIdsSql, type TimelinePart } from '../../kernel/wire/timeline.ts'

/** The wallets of a person, and their transactions. */
export const onchainTimeline = ({ db }: { db: Database }): TimelinePart[] => [
  {
    name: 'wallets',
    async read({ id }, page) {
      const rows = await db.scan<{ id: string; address: string; created_at: number }>(sql`
        select id, address, created_at from onchain_wallets
        where id in (${newestIdsSql('onchain_wallets', [sql`owner = ${id}`], page)})
        order by id desc limit ${page.limit}`)
      return rows.map((row) => ({
        key: row.id,
        at: row.created_at,
        text: 'Wallet',
        detail: row.address,
        opens: `wallets/${row.id}`,
      }))
    },
  },
  {
    name: 'transactions',
    async read({ id }, page) {
      const rows = await db.scan<{
        id: string
        chain: string
        hash: string
        status: string
        created_at: number
      }>(sql`
        select id, chain, hash, status, created_at from onchain_transactions
        where id in (${newestIdsSql('onchain_transactions', [sql`owner = ${id}`], page)})
        order by id desc limit ${page.limit}`)
      return rows.map((row) => ({
        key: row.id,
        at: row.created_at,
        text: `Transaction on ${row.chain}`,
        state: row.status,
        opens: `transactions/${row.chain}:${row.hash}`,
      }))
    },
  },
]
