import { findingIf, warning, type Diagnosis } from '../../../kernel/wire/diagnosis.ts'
import type { Policy } from '../../../kernel/policy/policy.ts'
import type { Users } from '../accounts/users.ts'
import type { FactorRequirement } from '../factors/factor-requirement.ts'
import type { SigningKeys } from '../sessions/signing-keys.ts'

const DAY_MS = 86_400_000

/** What `sixwire doctor` looks at in accounts. */
export const authDiagnoses = (
  {
    users,
    requirement,
    signingKeys,
  }: { users: Users; requirement: FactorRequirement; signingKeys: SigningKeys },
  policy: Policy,
): Diagnosis[] => [
  {
    name: 'unverified users',
    about: 'accounts that can use only /auth/* because their address is not verified',
    opens: { title: 'Show these users', at: 'users?state=unverified' },
    async find() {
      const accounts = policy.requiresVerifiedEmail() ? await users.countUnverified() : 0
      return findingIf(accounts > 0, () =>
        warning(
          `${accounts} account${accounts === 1 ? '' : 's'} can use only /auth/* because the address is not verified`,
          'users get a link with POST /auth/resend-verification; sixwire user verify EMAIL verifies one address',
        ),
      )
    },
  },
  {
    name: 'second factors',
    about: 'administrators who sign in with one factor only',
    opens: { title: 'Show the administrators', at: 'users?role=admin' },
    async find() {
      const admins = await users.countAdminsWithoutFactor()
      return findingIf(requirement.appliesTo('admin') && admins > 0, () =>
        warning(
          `${admins} administrator${admins === 1 ? ' has' : 's have'} no second factor`,
          'they add a passkey or an authenticator app with /auth/passkeys or /auth/totp; when their time is over they can do nothing else',
        ),
      )
    },
  },
  {
    name: 'signing key',
    about: 'whether the key of access tokens is replaced in time',
    opens: { title: 'Show its job', at: 'jobs?kind=auth.signing-keys' },
    async find() {
      const overdueMs = await signingKeys.overdueMs()
      return findingIf(overdueMs > DAY_MS, () =>
        warning(
          `the key that signs access tokens should have been replaced ${Math.floor(overdueMs / DAY_MS)} days ago`,
          'a running server replaces it within an hour: start one, or see why its job auth.signing-keys fails',
        ),
      )
    },
  },
]
