import { errors } from '../base/errors.ts'
import { ACCESS, type Admission, type Audience, type Caller, type RowFilter } from '../http/access.ts'

export type PolicyName = 'open' | 'guarded'

type PolicySettings = { readonly policy: PolicyName; readonly production: boolean }

export type Policy = Admission & {
  readonly name: PolicyName
  /** Whether users with an unverified address may call nothing but `/auth/*`. */
  requiresVerifiedEmail(): boolean
  /**
   * Which records an action may touch. Other users' records do not exist for the caller: 404, not 403.
   *
   * @param audience who may act; by default signed-in users with `open` and the owner with `guarded`.
   *   Administrators and service keys may always touch all records
   */
  rowFilter(caller: Caller | undefined, audience?: Audience): RowFilter
}

/** Whether all records are within reach: for administrators and service keys. */
export const isPrivileged = (caller: Caller | undefined): boolean =>
  caller !== undefined && (caller.kind === 'key' || caller.role === 'admin')

/**
 * Makes the policy, the only place that decides who may do what.
 *
 * @param requireVerifiedEmail whether `guarded` requires a verified address for everything but `/auth/*`; called each
 *   time, since wires are set up later
 */
export function createPolicy(
  { policy: name, production }: PolicySettings,
  requireVerifiedEmail: () => boolean,
): Policy {
  const needsAdmin = () => errors.forbidden({ message: 'This requires the role "admin".' })
  const requiresVerifiedEmail = (): boolean => name === 'guarded' && requireVerifiedEmail()
  return {
    name,
    requiresVerifiedEmail,
    admit(caller, { access, wire, method, scope, irreversible }) {
      if (access === 'public') return
      if (caller === undefined) {
        if (access === 'optional') return
        throw errors.unauthorized()
      }
      if (caller.kind === 'key') {
        if (access === 'session')
          throw errors.forbidden({ message: 'A service key has no session: sign in as a user.' })
        const wanted = ['*', wire]
        if (method === 'GET') wanted.push(`${wire}:read`)
        if (scope !== undefined) wanted.push(scope)
        if (!wanted.some((one) => caller.scopes.includes(one)))
          throw errors.forbidden({ message: `This service key lacks the scope "${wanted.at(-1)}".` })
        return
      }
      if (!caller.emailVerified && wire !== 'auth' && requiresVerifiedEmail())
        throw errors.email_not_verified()
      const needsRole =
        access === 'operator' ||
        (access === 'admin' && (name === 'guarded' || (production && irreversible === true)))
      // An unknown value grants access to nobody.
      if (!ACCESS.includes(access) || (needsRole && caller.role !== 'admin')) throw needsAdmin()
    },
    rowFilter(caller, audience = name === 'open' ? 'user' : 'owner') {
      if (audience === 'public') return { owner: undefined }
      if (caller === undefined) throw errors.unauthorized()
      if (audience === 'user' || isPrivileged(caller)) return { owner: undefined }
      if (audience === 'admin') throw needsAdmin()
      return { owner: caller.id }
    },
  }
}
