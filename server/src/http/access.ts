/** What a user has proven, by a sign-in or `POST /auth/confirm`: who they are in any way, or a second factor too. */
export type Proof = 'user' | 'factor'

/**
 * When a route requires a proof of the last 10 minutes, which is one of a second factor if the account has one:
 * - `recent`: always;
 * - `console`: in a session of the console.
 */
export type RequiredProof = 'recent' | 'console'

/** The role of an account: `admin` may do everything, `viewer` reads what an administrator reads and changes nothing. */
export type AccountRole = 'user' | 'viewer' | 'admin'

/** What a session is for, if it is not one of the application: the console, or acting as another user. */
export type SessionKind = 'console' | 'impersonation'

/** Every access that a route may have. */
export const ACCESS = ['public', 'optional', 'session', 'user', 'admin', 'operator'] as const

/**
 * Who may call a route:
 * - `public`: everybody;
 * - `optional`: everybody, and the handler checks who it is;
 * - `session`: signed-in users, no service keys;
 * - `user`: signed-in users, and service keys for this wire;
 * - `admin`: with the policy `guarded` administrators and service keys for this wire; with `open` as `user`, except in
 *   production for a route that is `irreversible`;
 * - `operator`: administrators and service keys for this wire, with both policies: what only an operator does.
 *
 * Viewers may do what administrators may, as far as it changes nothing and is not `sealed`.
 */
export type Access = (typeof ACCESS)[number]

/** A user, identified by the session of the access token. */
export type UserCaller = {
  kind: 'user'
  id: string
  email: string
  emailVerified: boolean
  role: AccountRole
  sessionId: string
  /** Absent for a session of the application. */
  sessionKind?: SessionKind | undefined
  /** Whether the caller may change nothing: a viewer, or an administrator who looks at the account of another user. */
  isReadOnly?: boolean
  /** The administrator who acts as this user. */
  impersonator?: { id: string; email: string } | undefined
  /** What was proven in this session within the last 10 minutes; absent: nothing. */
  recentProof?: Proof | undefined
  /** Whether the account has a second factor. */
  hasFactor?: boolean
  /** Whether the user may only add a second factor, which the policy of second factors requires. */
  mustAddFactor?: boolean
}

/** The operator's own backend, identified by a service key. */
export type KeyCaller = {
  kind: 'key'
  id: string
  /** `*`, a wire's name, a wire's name with `:read`, or the scope of routes: `pay:refund`. */
  scopes: readonly string[]
}

export type Caller = UserCaller | KeyCaller

/** Follows the callers of answers that stay open. The wire that has the accounts defines it. */
export type CallerWatch = {
  /** When a token ends, in milliseconds since 1970; undefined if it does not. */
  tokenExpiry(token: string): Promise<number | undefined>
  /**
   * Whose session has ended, and who is another than before, on whichever process: the ids of sessions, users and service keys
   * of the last 20 seconds. Asked twice a second while a stream is open.
   *
   * @returns undefined if there are too many: then all are looked at
   */
  changed(): Promise<ReadonlySet<string> | undefined>
  /** Up to 100 callers as they are now, in their order; undefined for one that may call nothing any more. */
  current(callers: readonly Caller[]): Promise<readonly (Caller | undefined)[]>
}

/** Who may act on records: everybody, signed-in users, the record's owner, or administrators. */
export type Audience = 'public' | 'user' | 'owner' | 'admin'

/** Decides whether a caller may use a route. */
export type Admission = {
  /** @throws UNAUTHORIZED, FORBIDDEN or EMAIL_NOT_VERIFIED if the caller may not use the route */
  admit(
    caller: Caller | undefined,
    route: {
      access: Access
      wire: string
      method: string
      scope?: string | undefined
      irreversible?: boolean | undefined
      proof?: RequiredProof | undefined
      changesNothing?: boolean | undefined
      sealed?: boolean | undefined
    },
  ): void
}
