import { sql, type Sql } from '../../../db/sql.ts'

/**
 * The statements that delete what is stored of a chain which is another one now: its nonces, and what was sent there.
 * Followers notice it themselves.
 */
export const forgetChainSql = (chain: string): Sql[] => [
  sql`delete from onchain_transactions where chain = ${chain}`,
  sql`delete from onchain_lines where chain = ${chain}`,
  sql`delete from onchain_spent where chain = ${chain}`,
]
