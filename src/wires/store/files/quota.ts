import { bytesOf } from '../../../base/byte-size.ts'
import type { Clock } from '../../../base/clock.ts'
import { ApiError } from '../../../base/errors.ts'
import { newId } from '../../../base/ids.ts'
import { requireRow, type Database, type Step } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import type { Caller } from '../../../http/access.ts'
import { storeErrors } from '../errors.ts'

/** For so long a reservation counts after its last bytes, if its process ends. */
const RESERVED_MS = 60_000
/** How much is reserved at a time, after the first bytes. */
const RESERVED_BYTES = 1_048_576
/** What of a body may be something else than the file. */
const OTHER_BYTES = 131_072

/** Room for a file that is being received. */
export type Reservation = {
  readonly id: string
  /**
   * Passes the bytes on, each after there is room for it.
   *
   * @param contentLength of the body, if it is known: what is certain of it is reserved first
   * @throws QUOTA_EXCEEDED before the byte that does not fit
   */
  pass(bytes: AsyncIterator<Buffer>, contentLength: number | undefined): AsyncGenerator<Buffer>
  /** Never rejects. */
  release(): Promise<void>
}

export type Quota = {
  /** The steps that must come before the one that inserts the record of a file, in its batch; they end its reservation. */
  claimSql(file: { owner: string; size: number }, caller: Caller, reservation: Reservation): Step[]
  reserve(caller: Caller): Reservation
}

/**
 * How much files may take, of one user and in all; nothing is limited by default. The files of a service key count in
 * all only.
 */
export function createQuota(db: Database, clock: Clock, options: { user?: string; total?: string }): Quota {
  const user = options.user === undefined ? undefined : bytesOf(options.user)
  const total = options.total === undefined ? undefined : bytesOf(options.total)

  function fitsSteps({ owner, size }: { owner: string; size: number }, caller: Caller, id: string): Step[] {
    const ofUser = caller.kind === 'user' ? user : undefined
    const fits = (whose: string, quota: number, rule: string): Step =>
      fitsSql({ owner: whose, size, quota, rule, id, now: clock.now() })
    return [
      // With both, the lock of the total is enough.
      ...(total !== undefined ? lockSql('') : ofUser !== undefined ? lockSql(owner) : []),
      ...(total === undefined ? [] : [fits('', total, `all files may take ${total} bytes together`)]),
      ...(ofUser === undefined ? [] : [fits(owner, ofUser, `your files may take ${ofUser} bytes together`)]),
    ]
  }

  function reserve(caller: Caller): Reservation {
    const id = newId()
    const owner = caller.id
    const isLimited = total !== undefined || (caller.kind === 'user' && user !== undefined)
    let reserved = 0
    let due = 0

    async function take(bytes: number): Promise<void> {
      const now = clock.now()
      const row = { id, owner, bytes, due: now + RESERVED_MS }
      await db.batch([
        ...fitsSteps({ owner, size: bytes }, caller, id),
        sql`delete from store_reservations where due <= ${now}`,
        sql`
          insert into store_reservations (id, owner, bytes, due)
          values (${row.id}, ${row.owner}, ${row.bytes}, ${row.due})
          on conflict (id) do update set bytes = excluded.bytes, due = excluded.due`,
      ])
      reserved = bytes
      due = row.due
    }

    /** Takes what is there now, and some more if that fits too. */
    async function takeMore(bytes: number, contentLength: number): Promise<void> {
      const ahead = Math.max(bytes, Math.min(bytes + RESERVED_BYTES, contentLength))
      // The first bytes may be all.
      if (reserved === 0 || ahead === bytes) return take(bytes)
      await take(ahead).catch((error: unknown) => {
        if (!isExceeded(error)) throw error
        return take(bytes)
      })
    }

    return {
      id,
      async *pass(bytes, contentLength) {
        if (isLimited && contentLength !== undefined && contentLength > OTHER_BYTES)
          await take(contentLength - OTHER_BYTES)
        let size = 0
        for (let next = await bytes.next(); !next.done; next = await bytes.next()) {
          size += next.value.length
          if (isLimited && size > reserved) await takeMore(size, contentLength ?? Infinity)
          else if (isLimited && due - clock.now() < RESERVED_MS / 2) await take(reserved)
          yield next.value
        }
      },
      async release() {
        if (reserved === 0) return
        // If this fails, it ends by itself.
        await db.write(sql`delete from store_reservations where id = ${id}`).catch(() => undefined)
      },
    }
  }

  return {
    reserve,
    claimSql: ({ owner, size }, caller, { id }) => {
      const fits = fitsSteps({ owner, size }, caller, id)
      return fits.length === 0 ? [] : [...fits, sql`delete from store_reservations where id = ${id}`]
    },
  }
}

export const isExceeded = (error: unknown): boolean =>
  error instanceof ApiError && error.code === storeErrors.quota_exceeded.code

// SQLite has one writer.
const lockSql = (owner: string): Sql[] => [
  sql`${sql.either({
    sqlite: sql`select 1`,
    postgres: sql`select pg_advisory_xact_lock(hashtextextended(${`sixwire store quota ${owner}`}, 0))`,
  })}`,
]

/**
 * What is stored and what others have reserved must leave room.
 *
 * @param file.owner '' for all owners
 * @param file.id of the file's own reservation
 */
const fitsSql = (file: {
  owner: string
  size: number
  quota: number
  rule: string
  id: string
  now: number
}): Step => {
  const { owner, size, quota, rule, id, now } = file
  const ofOwner = owner === '' ? sql.literal('') : sql`owner = ${owner} and`
  return requireRow(
    sql`
      select used from (
        select (select coalesce(sum(bytes), 0) from store_usage where owner = ${owner})
          + (select coalesce(sum(bytes), 0) from store_reservations where ${ofOwner} id <> ${id} and due > ${now}) as used
      ) as so_far
      where used <= ${quota - size}`,
    () => storeErrors.quota_exceeded({ message: `No room for ${size} bytes: ${rule}. Delete files first.` }),
  )
}
