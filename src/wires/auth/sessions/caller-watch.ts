import type { Clock } from '../../../base/clock.ts'
import type { Database } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import type { Caller, CallerWatch } from '../../../http/access.ts'
import { isServiceKey, type KeyCallers } from './service-keys.ts'
import type { Sessions } from './sessions.ts'

/** Longer than any transaction: what one wrote may be visible that much later than its time. */
const WINDOW_MS = 20_000
/** Between two reads, so that the window covers both. */
const GAP_MS = 8_000
/** As often all callers are looked at, in case the clock of the database was set forward. */
const ALL_MS = 60_000
const CHANGES_MAX = 1_000
const KEPT_MS = 3_600_000

const nowSql = sql.either({
  sqlite: sql`cast(unixepoch('subsec') * 1000 as integer)`,
  postgres: sql`auth_now()`,
})

/** Follows the callers of answers that stay open. Triggers write down whom something happened to, whoever did it. */
export function createCallerWatch(
  { db, clock }: { db: Database; clock: Clock },
  sessions: Pick<Sessions, 'current' | 'tokenExpiry'>,
  keys: Pick<KeyCallers, 'current'>,
): CallerWatch & { deleteOld(): Promise<void> } {
  let readAt = -Infinity
  let allAt = -Infinity

  return {
    tokenExpiry: async (token) => (isServiceKey(token) ? undefined : sessions.tokenExpiry(token)),

    async changed() {
      const startedAt = clock.elapsed()
      const rows = await db.all(sql<{ id: string }>`
        select distinct id from auth_caller_changes where at > ${nowSql} - ${WINDOW_MS} limit ${CHANGES_MAX}`)
      const isWhole = startedAt - readAt <= GAP_MS && rows.length < CHANGES_MAX && startedAt - allAt < ALL_MS
      readAt = startedAt
      if (isWhole) return new Set(rows.map(({ id }) => id))
      allAt = startedAt
      return undefined
    },

    current: (callers) => currentCallers(sessions, keys, callers),

    async deleteOld() {
      await db.write(sql`delete from auth_caller_changes where at <= ${nowSql} - ${KEPT_MS}`)
    },
  }
}

async function currentCallers(
  sessions: Pick<Sessions, 'current'>,
  keys: Pick<KeyCallers, 'current'>,
  callers: readonly Caller[],
): Promise<(Caller | undefined)[]> {
  const sessionIds = callers.flatMap((one) => (one.kind === 'user' ? [one.sessionId] : []))
  const keyIds = callers.flatMap((one) => (one.kind === 'key' ? [one.id] : []))
  const [bySession, byKey] = await Promise.all([
    sessionIds.length > 0 ? sessions.current(sessionIds) : undefined,
    keyIds.length > 0 ? keys.current(keyIds) : undefined,
  ])
  return callers.map((one) => (one.kind === 'user' ? bySession?.get(one.sessionId) : byKey?.get(one.id)))
}
