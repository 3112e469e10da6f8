import { sql } from '../../../db/sql.ts'
import type { Caller, CallerWatch } from '../../../http/access.ts'
import { isServiceKey, type KeyCallers } from './service-keys.ts'
import type { Sessions } from './sessions.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'

/** A process may look a few seconds late, and what a transaction wrote is visible up to 10 s after the time it has. */
const WINDOW_MS = 20_000
const CHANGES_MAX = 1_000
const KEPT_MS = 3_600_000

const nowSql = sql.either({
  sqlite: sql`cast(unixepoch('subsec') * 1000 as integer)`,
  postgres: sql`auth_now()`,
})

/** Follows the callers of answers that stay open. Triggers write down which of them has changed, by whatever means. */
export function createCallerWatch(
  { db }: Pick<WireContext, 'db'>,
  {
    sessions,
    keys,
  }: { sessions: Pick<Sessions, 'current' | 'tokenExpiry'>; keys: Pick<KeyCallers, 'current'> },
): CallerWatch & { deleteOld(): Promise<void> } {
  return {
    tokenExpiry: async (token) => (isServiceKey(token) ? undefined : sessions.tokenExpiry(token)),

    async changed() {
      const rows = await db.all(sql<{ id: string }>`
        select distinct id from auth_caller_changes where at > ${nowSql} - ${WINDOW_MS} limit ${CHANGES_MAX}`)
      return rows.length < CHANGES_MAX ? new Set(rows.map(({ id }) => id)) : undefined
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
