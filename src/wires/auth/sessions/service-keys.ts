import { isoTime, type Clock } from '../../../base/clock.ts'
import { randomToken, sha256 } from '../../../base/crypto.ts'
import { errors, invalid } from '../../../base/errors.ts'
import { newId } from '../../../base/ids.ts'
import type { Database } from '../../../db/database.ts'
import { isOneOf } from '../../../db/is-one-of.ts'
import { cachedUntilWrite } from '../../../db/cached-until-write.ts'
import { sql } from '../../../db/sql.ts'
import type { KeyCaller } from '../../../http/access.ts'
import type { RecordEvent } from '../../../http/event-log.ts'

/** The prefix of every service key, by which secret scanners recognise it. */
const PREFIX = 'sk_'
const NAME_MAX = 100
const SCOPE = /^(\*|[a-z][a-z0-9-]*(:[a-z][a-z0-9-]*)?)$/
// The last use is stored to the hour, so that a busy key writes once an hour.
const LAST_USE_MS = 3_600_000

/** A service key as the operator sees it. The key itself is shown once, when it is created. */
export type ServiceKey = {
  id: string
  name: string
  scopes: string[]
  /** ISO 8601, like the other times. */
  createdAt: string
  /** To the hour; null if it was never used. */
  lastUsedAt: string | null
  revokedAt: string | null
}

/**
 * Keys with which the operator's own backend calls this server.
 *
 * @example
 * const { key } = await app.service('auth').keys.create('backend', ['store', 'core:read'])
 */
export type ServiceKeys = {
  /**
   * Creates a key.
   *
   * @param scopes `*`, a wire's name, a wire's name with `:read` for its GET routes, or the scope of routes: `pay:refund`
   * @returns the key, which is not shown again
   * @throws VALIDATION_ERROR
   */
  create(name: string, scopes: readonly string[]): Promise<{ id: string; key: string }>
  /** Lists all keys, newest first. */
  list(): Promise<ServiceKey[]>
  /**
   * Revokes a key at once, on every replica.
   *
   * @throws NOT_FOUND
   */
  revoke(id: string): Promise<void>
}

/** The callers behind service keys. */
export type KeyCallers = {
  /** The caller with this key; undefined if it is not valid. */
  caller(key: string): Promise<KeyCaller | undefined>
  /** The callers with these keys as they are now, by their ids; those that are revoked are left out. */
  current(ids: readonly string[]): Promise<ReadonlyMap<string, KeyCaller>>
}

type Row = {
  id: string
  name: string
  scopes: string
  created_at: number
  last_used_at: number | null
  revoked_at: number | null
}

/** Whether a bearer token has the form of a service key. */
export const isServiceKey = (token: string): boolean => token.startsWith(PREFIX)

const callerOf = ({ id, scopes }: Pick<Row, 'id' | 'scopes'>): KeyCaller => ({
  kind: 'key',
  id,
  scopes: scopes.split(' '),
})

export function createServiceKeys(db: Database, clock: Clock, record: RecordEvent): ServiceKeys & KeyCallers {
  const byHash = cachedUntilWrite(db, (hash) =>
    db.get(sql<Pick<Row, 'id' | 'scopes' | 'last_used_at'>>`
      select id, scopes, last_used_at from auth_service_keys where hash = ${hash} and revoked_at is null`),
  )
  const time = (ms: number | null): string | null => (ms === null ? null : isoTime(ms))

  return {
    async create(name, scopes) {
      const trimmed = name.trim()
      if (trimmed === '' || trimmed.length > NAME_MAX)
        throw invalid({ path: '/name', message: `must have 1 to ${NAME_MAX} characters` })
      if (scopes.length === 0)
        throw invalid({ path: '/scopes', message: 'must name at least one scope, or *' })
      const at = scopes.findIndex((scope) => !SCOPE.test(scope))
      if (at >= 0)
        throw invalid({
          path: `/scopes/${at}`,
          message: `"${scopes[at]}" is not *, a wire, a wire with :read, or a scope of routes like pay:refund`,
        })
      const now = clock.now()
      const id = newId(now)
      const key = PREFIX + randomToken()
      await db.write(sql`
        insert into auth_service_keys (id, name, hash, scopes, created_at)
        values (${id}, ${trimmed}, ${sha256(key)}, ${scopes.join(' ')}, ${now})`)
      record('key-created', { key: id, scopes: scopes.join(' ') })
      return { id, key }
    },

    async list() {
      const rows = await db.all(sql<Row>`
        select id, name, scopes, created_at, last_used_at, revoked_at from auth_service_keys
        order by created_at desc, id desc`)
      return rows.map((row) => ({
        id: row.id,
        name: row.name,
        scopes: row.scopes.split(' '),
        createdAt: isoTime(row.created_at),
        lastUsedAt: time(row.last_used_at),
        revokedAt: time(row.revoked_at),
      }))
    },

    async revoke(id) {
      const revoked = await db.write(sql`
        update auth_service_keys set revoked_at = coalesce(revoked_at, ${clock.now()}) where id = ${id} returning id`)
      if (revoked.length === 0) throw errors.not_found({ message: `There is no service key ${id}.` })
      record('key-revoked', { key: id })
    },

    async caller(key) {
      const row = await byHash(sha256(key))
      if (!row) return undefined
      const now = clock.now()
      if (row.last_used_at === null || row.last_used_at <= now - LAST_USE_MS)
        await db.write(sql`update auth_service_keys set last_used_at = ${now} where id = ${row.id}`)
      return callerOf(row)
    },

    async current(ids) {
      const rows = await db.all(sql<Pick<Row, 'id' | 'scopes'>>`
        select id, scopes from auth_service_keys where ${isOneOf('id', ids)} and revoked_at is null`)
      return new Map(rows.map((row) => [row.id, callerOf(row)]))
    },
  }
}
