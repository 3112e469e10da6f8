import type { AccountRole, Caller } from './access.ts'

/** Who does something, and from where, for the audit log. */
export type Actor = {
  /** `command` is the command line, `system` the server itself, and `stranger` a client that is not signed in. */
  readonly kind: 'user' | 'key' | 'command' | 'system' | 'stranger'
  /** The id of the user or of the service key. */
  readonly id?: string | undefined
  readonly role?: AccountRole | undefined
  readonly sessionId?: string | undefined
  /** The id of the administrator who acts as the user. */
  readonly impersonatorId?: string | undefined
  readonly ip?: string | undefined
  readonly userAgent?: string | undefined
  readonly requestId?: string | undefined
  /** The route that was called, such as `POST /auth/login`. */
  readonly route?: string | undefined
}

/** The operator at the command line. */
export const COMMAND_LINE: Actor = { kind: 'command' }

/** The server itself, such as a job. */
export const SYSTEM: Actor = { kind: 'system' }

/** The caller as an actor, without what is known of the request. */
export function actorOf(caller: Caller | undefined): Actor {
  if (caller === undefined) return { kind: 'stranger' }
  if (caller.kind === 'key') return { kind: 'key', id: caller.id }
  const { id, role, sessionId, impersonator } = caller
  return { kind: 'user', id, role, sessionId, impersonatorId: impersonator?.id }
}
