import { BoundedMap } from '../../../base/bounded-map.ts'
import { isoTime } from '../../../base/clock.ts'
import { randomToken, sha256 } from '../../../base/crypto.ts'
import { errors, invalid } from '../../../base/errors.ts'
import { newId } from '../../../base/ids.ts'
import { PendingPromises } from '../../../base/pending-promises.ts'
import { isOneOf } from '../../../db/is-one-of.ts'
import { cachedUntilWrite } from '../../../db/cached-until-write.ts'
import { sql } from '../../../db/sql.ts'
import type { KeyCaller } from '../../../http/access.ts'
import { COMMAND_LINE, type Actor } from '../../../http/actor.ts'
import { cutPage, type Page } from '../../../http/page.ts'
import { scopeFault } from '../../../http/scopes.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'

/** The prefix of every service key, by which secret scanners recognise it. */
const PREFIX = 'sk_'
const NAME_MAX = 100
// The last use is stored to the minute, so that a busy key writes once a minute, and no call waits for it.
const LAST_USE_MS = 60_000
/** Of so many keys a process knows when their last use was stored; the database knows of the others. */
const KEYS_MAX = 10_000

/** A service key as the operator sees it. The key itself is shown once, when it is created. */
export type ServiceKey = {
  id: string
  name: string
  scopes: string[]
  /** ISO 8601, like the other times. */
  createdAt: string
  /** To the minute; null if it was never used. */
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
  create(name: string, scopes: readonly string[], actor?: Actor): Promise<{ id: string; key: string }>
  /** Lists all keys, newest first. */
  list(): Promise<ServiceKey[]>
  /** Lists keys, newest first. */
  page(page: Page): Promise<{ keys: ServiceKey[]; total: number | undefined; nextCursor?: string }>
  /**
   * Revokes a key at once, on every replica.
   *
   * @throws NOT_FOUND
   */
  revoke(id: string, actor?: Actor): Promise<void>
}

/** The callers behind service keys. */
export type KeyCallers = {
  /** The caller with this key; undefined if it is not valid. */
  caller(key: string): Promise<KeyCaller | undefined>
  /** The callers with these keys as they are now, by their ids; those that are revoked are left out. */
  current(ids: readonly string[]): Promise<ReadonlyMap<string, KeyCaller>>
  /** Resolves once the last uses are stored. */
  idle(): Promise<void>
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

type Parts = Pick<WireContext, 'db' | 'clock' | 'log' | 'audit' | 'record' | 'server'>

export function createServiceKeys(parts: Parts): ServiceKeys & KeyCallers {
  const { db } = parts
  const byHash = cachedUntilWrite(db, (hash) =>
    db.get(sql<Pick<Row, 'id' | 'scopes'>>`
      select id, scopes from auth_service_keys where hash = ${hash} and revoked_at is null`),
  )
  const uses = createLastUses(parts)

  return {
    create: (name, scopes, actor = COMMAND_LINE) => createKey(parts, name, scopes, actor),

    async list() {
      const rows = await db.all(sql<Row>`
        select id, name, scopes, created_at, last_used_at, revoked_at from auth_service_keys
        order by created_at desc, id desc`)
      return rows.map(keyOf)
    },

    page: (page) => listKeys(parts, page),

    revoke: (id, actor = COMMAND_LINE) => revokeKey(parts, id, actor),

    async caller(key) {
      const row = await byHash(sha256(key))
      if (!row) return undefined
      uses.store(row.id)
      return callerOf(row)
    },

    async current(ids) {
      const rows = await db.all(sql<Pick<Row, 'id' | 'scopes'>>`
        select id, scopes from auth_service_keys where ${isOneOf('id', ids)} and revoked_at is null`)
      return new Map(rows.map((row) => [row.id, callerOf(row)]))
    },

    idle: () => uses.idle(),
  }
}

const time = (ms: number | null): string | null => (ms === null ? null : isoTime(ms))

const keyOf = (row: Row): ServiceKey => ({
  id: row.id,
  name: row.name,
  scopes: row.scopes.split(' '),
  createdAt: isoTime(row.created_at),
  lastUsedAt: time(row.last_used_at),
  revokedAt: time(row.revoked_at),
})

async function createKey(
  { db, clock, audit, record, server }: Parts,
  name: string,
  scopes: readonly string[],
  actor: Actor,
): Promise<{ id: string; key: string }> {
  const trimmed = name.trim()
  if (trimmed === '' || trimmed.length > NAME_MAX)
    throw invalid({ path: '/body/name', message: `must have 1 to ${NAME_MAX} characters` })
  if (scopes.length === 0)
    throw invalid({ path: '/body/scopes', message: 'must name at least one scope, or *' })
  const knownScopes = server.scopes()
  for (const [at, scope] of scopes.entries()) {
    const fault = scopeFault(scope, knownScopes)
    if (fault !== undefined)
      throw invalid({ path: `/body/scopes/${at}`, message: `${JSON.stringify(scope)} ${fault}` })
  }
  const now = clock.now()
  const id = newId(now)
  const key = PREFIX + randomToken()
  await db.batch([
    sql`
      insert into auth_service_keys (id, name, hash, scopes, created_at)
      values (${id}, ${trimmed}, ${sha256(key)}, ${scopes.join(' ')}, ${now})`,
    audit.entrySql(actor, { action: 'key.created', target: `key:${id}`, after: { name: trimmed, scopes } }),
  ])
  record('key-created', { key: id, scopes: scopes.join(' ') })
  return { id, key }
}

async function listKeys(
  { db }: Parts,
  page: Page,
): Promise<{ keys: ServiceKey[]; total: number | undefined; nextCursor?: string }> {
  const { limit, offset, before } = page
  const [rows, count] = await Promise.all([
    db.all(sql<Row>`
      select id, name, scopes, created_at, last_used_at, revoked_at from auth_service_keys
      ${before === undefined ? sql.literal('') : sql`where id < ${before}`}
      order by id desc limit ${limit + 1} offset ${offset}`),
    page.counts === false
      ? undefined
      : db.get(sql<{ total: number }>`select count(*) as total from auth_service_keys`),
  ])
  const { rows: pageRows, ...rest } = cutPage(rows, page, ({ id }) => id)
  return { keys: pageRows.map(keyOf), total: count?.total, ...rest }
}

async function revokeKey({ db, clock, audit, record }: Parts, id: string, actor: Actor): Promise<void> {
  const row = await db.get(sql<Pick<Row, 'name' | 'scopes' | 'revoked_at'>>`
    select name, scopes, revoked_at from auth_service_keys where id = ${id}`)
  if (!row) throw errors.not_found({ message: `There is no service key ${id}.` })
  if (row.revoked_at !== null) return
  const before = { name: row.name, scopes: row.scopes.split(' ') }
  await db.batch([
    sql`update auth_service_keys set revoked_at = coalesce(revoked_at, ${clock.now()}) where id = ${id}`,
    audit.entrySql(actor, { action: 'key.revoked', target: `key:${id}`, before }),
  ])
  record('key-revoked', { key: id })
}

/** Stores when keys were used last, at most once a minute and key in each process. */
function createLastUses({ db, clock, log }: Parts) {
  const storedAt = new BoundedMap<string, number>(KEYS_MAX)
  const pending = new PendingPromises()
  return {
    store(id: string): void {
      const now = clock.now()
      if (now < (storedAt.get(id) ?? 0) + LAST_USE_MS) return
      storedAt.set(id, now)
      // Another process may have stored it: then nothing is written.
      const write = db.write(sql`
        update auth_service_keys set last_used_at = ${now}
        where id = ${id} and (last_used_at is null or last_used_at <= ${now - LAST_USE_MS})`)
      pending
        .add(write)
        .catch((error: unknown) => log.warn({ key: id, err: error }, 'the last use of a key was not stored'))
    },
    idle: () => pending.idle(),
  }
}
