import { errors } from '../base/errors.ts'
import { ACCESS, type Admission, type Audience, type Caller, type RowFilter } from '../http/access.ts'

export type PolicyName = 'open' | 'guarded'

export type Policy = Admission & {
  readonly name: PolicyName
  /** Whether users whose address is not verified may use nothing beyond `/auth/*`. */
  requiresVerifiedEmail(): boolean
  /**
   * Which records an action reaches. Somebody else's record is then not there at all: 404, not 403.
   *
   * @param audience who the action is for; where nothing was declared, everybody signed in under `open`
   *   and the owner under `guarded`. Administrators and service keys always reach all.
   */
  rowFilter(caller: Caller | undefined, audience?: Audience): RowFilter
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
    rowFilter(caller, audience = name === 'open' ? 'user' : 'owner') {
      if (audience === 'public') return { owner: undefined }
      if (caller === undefined) throw errors.unauthorized()
      if (audience === 'user' || caller.kind === 'key' || caller.role === 'admin') return { owner: undefined }
      if (audience === 'admin') throw needsAdmin()
      return { owner: caller.id }
    },
  }
}
