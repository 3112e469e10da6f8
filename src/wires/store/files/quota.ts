import { bytesOf } from '../../../base/byte-size.ts'
import { requireRow, type Step } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import type { Caller } from '../../../http/access.ts'
import { storeErrors } from '../errors.ts'

/** The steps that must come before the one that inserts the record of a file, in its batch. */
export type Quota = (file: { owner: string; size: number }, caller: Caller) => Step[]

/**
 * How much files may take, of one user and in all; nothing is limited by default. The files of a service key count in
 * all only.
 */
export function createQuota(options: { user?: string; total?: string }): Quota {
  const user = options.user === undefined ? undefined : bytesOf(options.user)
  const total = options.total === undefined ? undefined : bytesOf(options.total)

  return ({ owner, size }, caller) => {
    const ofUser = caller.kind === 'user' ? user : undefined
    return [
      // With both, the lock of the total is enough.
      ...(total !== undefined ? lockSql('') : ofUser !== undefined ? lockSql(owner) : []),
      ...(total === undefined
        ? []
        : [fitsSql('', size, total, `all files may take ${total} bytes together`)]),
      ...(ofUser === undefined
        ? []
        : [fitsSql(owner, size, ofUser, `your files may take ${ofUser} bytes together`)]),
    ]
  }
}

// SQLite has one writer.
const lockSql = (owner: string): Sql[] => [
  sql`${sql.either({
    sqlite: sql`select 1`,
    postgres: sql`select pg_advisory_xact_lock(hashtextextended(${`sixwire store quota ${owner}`}, 0))`,
  })}`,
]

/** @param owner '' for all owners */
const fitsSql = (owner: string, size: number, quota: number, rule: string): Step =>
  requireRow(
    sql`
      select owner from (select ${owner} as owner, coalesce(sum(bytes), 0) as used from store_usage where owner = ${owner}) as so_far
      where used <= ${quota - size}`,
    () => storeErrors.quota_exceeded({ message: `No room for ${size} bytes: ${rule}. Delete files first.` }),
  )
