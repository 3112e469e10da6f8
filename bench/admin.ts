import { openDatabase } from '../src/db/open.ts'
import { sql, type Sql } from '../src/db/sql.ts'

/** Changes a server's database beside it. */
export async function write(url: string, query: Sql): Promise<void> {
  const db = await openDatabase(url)
  await db.transaction((tx) => tx.write(query), { limitMs: 60_000 })
  await db.close()
}

/** Makes all accounts administrators. A token has the role that its account has at each request. */
export const promoteAll = (url: string): Promise<void> =>
  write(url, sql`update auth_users set role = 'admin'`)
