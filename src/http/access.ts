/** Every access that a route may have. */
export const ACCESS = ['public', 'optional', 'session', 'user', 'admin'] as const

/**
 * Who may call a route:
 * - `public`: anybody;
 * - `optional`: anybody, and the handler looks at who it is;
 * - `session`: somebody who is signed in (not a service key);
 * - `user`: somebody who is signed in, or a service key for this wire;
 * - `admin`: under the `guarded` policy an administrator or a service key for this wire, under `open` like `user`.
 */
export type Access = (typeof ACCESS)[number]

/** A person, by the session that the access token names. */
export type UserCaller = {
  kind: 'user'
  id: string
  email: string
  emailVerified: boolean
  role: 'user' | 'admin'
  sessionId: string
}

/** The operator's own backend, by a service key. */
export type KeyCaller = {
  kind: 'key'
  id: string
  /** `*`, a wire's name, or a wire's name with `:read`. */
  scopes: readonly string[]
}

export type Caller = UserCaller | KeyCaller

/** Who an action on records is for: anybody, anybody signed in, the record's owner, or administrators. */
export type Audience = 'public' | 'user' | 'owner' | 'admin'

/** Which records a caller sees and changes: all of them, or those of one owner. */
export type RowFilter = { owner: string | undefined }

/** Decides whether a caller may use a route. */
export type Admission = {
  /** @throws UNAUTHORIZED, FORBIDDEN or EMAIL_NOT_VERIFIED if the caller may not use the route */
  admit(caller: Caller | undefined, route: { access: Access; wire: string; method: string }): void
}
