import type { Clock } from '../../base/clock.ts'
import { newId } from '../../base/ids.ts'
import { sql, type Sql } from '../../db/sql.ts'
import type { Actor } from '../../http/actor.ts'

/** What an entry of the audit log says beside who did it. */
export type AuditEntry = {
  /** A noun and what happened to it: `user.role-changed`. */
  readonly action: string
  /** The kind of the record and its id: `user:01arz3ndektsv4rrffq69g5fav`. */
  readonly target?: string | undefined
  /** What it was and what it became, as far as it changed. Nothing secret, and no content that is sealed. */
  readonly before?: object | undefined
  readonly after?: object | undefined
  /** As a person gave it. */
  readonly reason?: string | undefined
  /** `denied` for what was tried and refused. Default `done`. */
  readonly outcome?: 'done' | 'denied' | undefined
  /** A condition without which there is no entry, such as that a row was there. */
  readonly onlyIf?: Sql | undefined
}

/** Writes down who did what: accounts, money, keys, whole collections. */
export type Audit = {
  /**
   * The step that writes an entry, for the batch of the change: one that is rolled back leaves no entry.
   *
   * @example
   * await db.batch([dropSql(name), audit.entrySql(call.actor, { action: 'collection.dropped', target: `collection:${name}` })])
   */
  entrySql(actor: Actor, entry: AuditEntry): Sql<never>
}

const USER_AGENT_MAX = 300
const ALWAYS = sql.literal('1 = 1')

export const createAudit = (clock: Clock): Audit => ({
  entrySql(actor, { action, target, before, after, reason, outcome = 'done', onlyIf = ALWAYS }) {
    const now = clock.now()
    return sql<never>`
      insert into sixwire_audit (id, created_at, action, target, outcome, actor_kind, actor_id, actor_role,
        impersonator_id, session_id, ip, user_agent, request_id, route, old_value, new_value, reason)
      select ${newId(now)}, cast(${now} as bigint), ${action}, ${target ?? null}, ${outcome}, ${actor.kind},
        ${actor.id ?? null}, ${actor.role ?? null}, ${actor.impersonatorId ?? null}, ${actor.sessionId ?? null},
        ${actor.ip ?? null}, ${actor.userAgent?.slice(0, USER_AGENT_MAX).toWellFormed() ?? null}, ${actor.requestId ?? null},
        ${actor.route ?? null}, ${jsonOf(before)}, ${jsonOf(after)}, ${reason ?? null}
      where ${onlyIf}`
  },
})

const jsonOf = (value: object | undefined): string | null =>
  value === undefined ? null : JSON.stringify(value)
