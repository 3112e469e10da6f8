import type { Auth } from '../auth-types.ts'
import type { CallError, SecondFactorKind } from '../call-error.ts'
import type { KeptSession, SignedInUser } from '../session.ts'
import { Ceremonies } from './ceremonies.ts'
import { codesOf } from './codes.ts'
import { passkeysOf } from './passkeys.ts'
import { SecondFactorStep } from './second-factor.ts'
import { totpOf } from './totp.ts'
import type { AuthOwner } from './owner.ts'

type OwnAuth = Omit<Auth, 'user' | 'onChange' | 'token' | 'signOut' | 'passkeys' | 'totp'>

/** What is loaded when one of its functions is first called, or a sign-in needs a second factor. */
export type ClientSignIn = {
  readonly auth: OwnAuth
  readonly passkeys: Omit<Auth['passkeys'], 'isSupported'>
  readonly totp: Auth['totp']
  /** Ends a session that was not ended because of an error: only its token may have expired. Throws the error otherwise. */
  signOut(ended: KeptSession, error: unknown): Promise<void>
}

/** @param Failure is given, because an import would make files of what the client consists of */
export function signInOf(owner: AuthOwner, Failure: typeof CallError): ClientSignIn {
  const ceremonies = new Ceremonies()
  const secondFactor = new SecondFactorStep(owner, ceremonies)
  const { signIn } = secondFactor
  return {
    auth: {
      signUp: (account) => signIn('POST /auth/register', account),
      signIn: (account) => signIn('POST /auth/login', account),
      ...codesOf(owner, signIn),
      setSession: (fragment) => setSession(owner, fragment, secondFactor, Failure),
      secondFactor: secondFactor.prove,
      confirm: secondFactor.confirm,
      factors: async () =>
        (await owner.call('GET /auth/factors', {})) as Awaited<ReturnType<Auth['factors']>>,
    },
    passkeys: passkeysOf(owner, signIn, ceremonies),
    totp: totpOf(owner),
    async signOut(ended, error) {
      if ((error as Partial<CallError>).code !== 'UNAUTHORIZED') throw error
      const renewed = await owner.session.refreshed(ended)
      if (renewed) await owner.call('POST /auth/logout', { token: renewed.token })
    },
  }
}

type Fragment = Parameters<Auth['setSession']>[0]

async function setSession(
  { call, session }: AuthOwner,
  fragment: Fragment,
  secondFactor: SecondFactorStep,
  Failure: typeof CallError,
): Promise<SignedInUser> {
  if ('challenge' in fragment) return secondFactor.resume(challengeOf(fragment, Failure), {})
  const { user } = (await call('GET /auth/me', { token: fragment.token })) as { user: SignedInUser }
  await session.begin(fragment, user)
  return user
}

/** The error of a sign-in at an identity provider, as one of this server would be. */
const challengeOf = (
  { challenge, factors = '' }: { challenge: string; factors?: string | undefined },
  Failure: typeof CallError,
): CallError<'SECOND_FACTOR_REQUIRED'> =>
  new Failure<'SECOND_FACTOR_REQUIRED'>('GET /auth/callback', new Response(null, { status: 401 }), {
    code: 'SECOND_FACTOR_REQUIRED',
    message: 'A second factor is required to sign in.',
    details: { challenge, factors: factors.split(',').filter(Boolean) as SecondFactorKind[] },
  })
