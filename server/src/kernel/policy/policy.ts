import { errors } from '../../base/errors.ts'
import { allRows, ownRows, type RowFilter } from '../../base/row-filter.ts'
import { ACCESS, type Admission, type Audience, type Caller, type UserCaller } from '../../http/access.ts'

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
  /** The id of the account with an email address in any case; undefined if there is none. */
  accountOfEmail(email: string): Promise<string | undefined>
}

/**
 * Requires that the user has proven within the last 10 minutes who they are, by a second factor if the account has one: who has
 * the password alone must not remove what protects from that, nor make a key that does.
 *
 * @throws RECENT_SIGN_IN_REQUIRED
 */
export function requireProof({ recentProof, hasFactor }: UserCaller): void {
  if (hasFactor && recentProof !== 'factor')
    throw errors.recent_sign_in_required({
      message:
        'This requires a second factor within the last 10 minutes: call POST /auth/confirm with a code or a passkey, and repeat it.',
    })
  if (recentProof === undefined) throw errors.recent_sign_in_required()
}

/** Whether the row filter admits all records: for administrators, service keys, and viewers, who change none of them. */
export const isPrivileged = (caller: Caller | undefined): boolean =>
  caller !== undefined && (caller.kind === 'key' || caller.role !== 'user')

/** @throws FORBIDDEN for what a caller that only reads may not do; viewers have their own account as all users have */
function requireReading(
  { role, impersonator }: UserCaller,
  {
    isOwnAccount,
    isReading,
    sealed = false,
  }: { isOwnAccount: boolean; isReading: boolean; sealed?: boolean | undefined },
): void {
  if (isOwnAccount && impersonator === undefined) return
  if (isReading && !sealed) return
  throw errors.forbidden({
    message:
      impersonator === undefined
        ? `The role "${role}" reads, and changes nothing.`
        : 'This session looks at the account of a user, and changes nothing.',
  })
}

/**
 * Makes the policy, the only place that decides who may do what.
 *
 * @param requireVerifiedEmail whether `guarded` requires a verified address for everything but `/auth/*`; called each
 *   time, since wires are set up later
 * @param accountOfEmail finds the account of an address; without it none is found
 */
export function createPolicy(
  { policy: name, production }: PolicySettings,
  {
    requireVerifiedEmail,
    accountOfEmail = async () => undefined,
  }: {
    requireVerifiedEmail: () => boolean
    accountOfEmail?: (email: string) => Promise<string | undefined>
  },
): Policy {
  const needsAdmin = () => errors.forbidden({ message: 'This requires the role "admin".' })
  const actsAsUser = () =>
    errors.forbidden({
      message: 'This session acts as the user: it neither changes the account itself nor exports its data.',
    })
  const requiresVerifiedEmail = (): boolean => name === 'guarded' && requireVerifiedEmail()
  return {
    name,
    requiresVerifiedEmail,
    accountOfEmail,
    admit(caller, { access, wire, method, scope, irreversible, proof, changesNothing, sealed }) {
      const isReading = changesNothing ?? method === 'GET'
      if (access === 'public') return
      if (caller === undefined) {
        if (access === 'optional') return
        throw errors.unauthorized()
      }
      if (caller.kind === 'key') {
        if (access === 'session')
          throw errors.forbidden({ message: 'A service key has no session: sign in as a user.' })
        const scopes = ['*', wire]
        if (isReading) scopes.push(`${wire}:read`)
        if (scope !== undefined) scopes.push(scope)
        if (!scopes.some((one) => caller.scopes.includes(one)))
          throw errors.forbidden({ message: `This service key lacks the scope "${scopes.at(-1)}".` })
        return
      }
      // What is missing is added there.
      const isOwnAccount = wire === 'auth' && access !== 'operator'
      if (!caller.emailVerified && !isOwnAccount && requiresVerifiedEmail()) throw errors.email_not_verified()
      if (caller.mustAddFactor && !isOwnAccount) throw errors.second_factor_missing()
      const needsRole =
        access === 'operator' ||
        (access === 'admin' && (name === 'guarded' || (production && irreversible === true)))
      const hasRole = caller.role === 'admin' || (caller.role === 'viewer' && isReading && !sealed)
      // An unknown value grants access to nobody.
      if (!ACCESS.includes(access) || (needsRole && !hasRole)) throw needsAdmin()
      if (caller.isReadOnly) requireReading(caller, { isOwnAccount, isReading, sealed })
      if (caller.impersonator && isOwnAccount && (!isReading || sealed)) throw actsAsUser()
      if (proof === 'recent' || (proof === 'console' && caller.sessionKind === 'console'))
        requireProof(caller)
    },
    rowFilter(caller, audience = name === 'open' ? 'user' : 'owner') {
      if (audience === 'public') return allRows
      if (caller === undefined) throw errors.unauthorized()
      if (audience === 'user' || isPrivileged(caller)) return allRows
      if (audience === 'admin') throw needsAdmin()
      return ownRows(caller.id)
    },
  }
}
