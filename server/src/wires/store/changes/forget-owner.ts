import type { Step } from '../../../db/database.ts'
import { sql, type Dialect } from '../../../db/sql.ts'

/** The statements that take what an account changed out of the log. Who has not read it all lists again. */
export const forgetOwnerSql = (dialect: Dialect, owner: string): readonly Step[] =>
  dialect === 'postgres'
    ? [sql`select store_forget_owner(${owner})`]
    : [
        sql`
          update store_feed set floor_seq = max(floor_seq, coalesce(
            (select max(seq) from store_changes where owner = ${owner}), 0))`,
        sql`delete from store_changes where owner = ${owner}`,
      ]
