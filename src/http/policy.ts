import { errors } from '../base/errors.ts'

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

export type PolicyName = 'open' | 'guarded'

/** Who an action on records is for: anybody, anybody signed in, the record's owner, or administrators. */
export type Audience = 'public' | 'user' | 'owner' | 'admin'

/** Which records a caller sees and changes: all of them, or those of one owner. */
export type Reach = { owner: string | undefined }

export type Policy = {
  readonly name: PolicyName
  /** Whether users whose address is not verified may use nothing beyond `/auth/*`. */
  requiresVerifiedEmail(): boolean
  /** Throws `unauthorized`, `forbidden` or `email_not_verified` where the caller may not use the route. */
  admit(caller: Caller | undefined, route: { access: Access; wire: string; method: string }): void
  /**
   * Which records an action reaches. Somebody else's record is then not there at all: 404, not 403.
   *
   * @param audience who the action is for; where nothing was declared, everybody signed in under `open`
   *   and the owner under `guarded`. Administrators and service keys always reach all.
   */
  reach(caller: Caller | undefined, audience?: Audience): Reach
}

/**
 * The one place that decides who may do what.
 *
 * @param requireVerifiedEmail asked at each call, since wires are set up later: whether under `guarded` a user must have
 *   verified their address before anything beyond `/auth/*`
 */
export function createPolicy(name: PolicyName, requireVerifiedEmail: () => boolean): Policy {
  const needsAdmin = () => errors.forbidden({ message: 'This needs the role "admin".' })
  const requiresVerifiedEmail = (): boolean => name === 'guarded' && requireVerifiedEmail()
  return {
    name,
    requiresVerifiedEmail,
    admit(caller, { access, wire, method }) {
      if (access === 'public') return
      if (caller === undefined) {
        if (access === 'optional') return
        throw errors.unauthorized()
      }
      if (caller.kind === 'key') {
        if (access === 'session')
          throw errors.forbidden({ message: 'A service key has no session: sign in as a user.' })
        const wanted = method === 'GET' ? ['*', wire, `${wire}:read`] : ['*', wire]
        if (!wanted.some((scope) => caller.scopes.includes(scope)))
          throw errors.forbidden({ message: `This service key does not have the scope "${wanted.at(-1)}".` })
        return
      }
      if (!caller.emailVerified && wire !== 'auth' && requiresVerifiedEmail())
        throw errors.email_not_verified()
      const needsRole = name === 'guarded' && access === 'admin'
      // A value that is none of these lets nobody in.
      if (!ACCESS.includes(access) || (needsRole && caller.role !== 'admin')) throw needsAdmin()
    },
    reach(caller, audience = name === 'open' ? 'user' : 'owner') {
      if (audience === 'public') return { owner: undefined }
      if (caller === undefined) throw errors.unauthorized()
      if (audience === 'user' || caller.kind === 'key' || caller.role === 'admin') return { owner: undefined }
      if (audience === 'admin') throw needsAdmin()
      return { owner: caller.id }
    },
  }
}
