import { authErrors } from '../../errors.ts'
import type { PasskeyRequestOptions } from '../passkeys/passkey-schemas.ts'
import type { Sessions, SignIn, TokenPair } from '../../sessions/sessions.ts'
import type { UserRow } from '../../accounts/user.ts'
import type { Users } from '../../accounts/users.ts'
import type { Challenge, Challenges } from '../../sessions/sign-in-challenges.ts'
import { codeLockKey, verifyFactor, type FactorInput, type FactorVerifiers } from './verify-factor.ts'

/** The second step of every sign-in to an account that has a second factor. */
export type SecondFactorLogin = {
  /**
   * Exchanges a challenge and a second factor for the session. All of it is one batch: a challenge and a code work once, and what
   * fails uses up an attempt, not the code.
   *
   * @param options.trustDevice whether this device needs no second factor for 30 days
   * @throws INVALID_CHALLENGE, INVALID_CODE, INVALID_PASSKEY, ACCOUNT_LOCKED
   */
  finish(
    challenge: string,
    input: FactorInput,
    client: Omit<SignIn, 'method' | 'secondFactor' | 'useSql'>,
    options?: { trustDevice?: boolean | undefined },
  ): Promise<TokenPair & { user: UserRow; deviceToken?: string }>
  /**
   * What a browser needs to ask for one of the account's passkeys.
   *
   * @throws INVALID_CHALLENGE
   */
  passkeyOptions(challenge: string): Promise<PasskeyRequestOptions>
}

type Parts = { users: Users; sessions: Sessions; challenges: Challenges; verifiers: FactorVerifiers }

export const createSecondFactorLogin = (parts: Parts): SecondFactorLogin => ({
  async finish(token, input, client, { trustDevice = false } = {}) {
    const { challenges, sessions, verifiers } = parts
    const challenge = await challenges.attempt(token)
    const user = await userOf(parts, challenge)
    refuseSamePasskey(challenge, input)
    const purpose = `second-factor:${challenge.id}` as const
    const proof = await verifyFactor(verifiers, user, input, {
      purpose,
      origin: client,
      ...(challenge.method !== 'password' && { lockKey: codeLockKey(user) }),
    })
    const trust = trustDevice && proof.kind !== 'device' ? verifiers.devices.issue(user, client) : undefined
    const signIn = {
      ...client,
      method: challenge.method,
      secondFactor: proof.kind,
      useSql: [challenges.useSql(challenge), ...proof.useSql, ...(trust ? [trust.insertSql] : [])],
    }
    const tokens =
      challenge.sessionId === null
        ? await sessions.create(user, signIn)
        : await sessions.resume(user, challenge.sessionId, signIn)
    return { ...tokens, user, ...(trust && { deviceToken: trust.deviceToken }) }
  },

  async passkeyOptions(token) {
    const challenge = await parts.challenges.read(token)
    return parts.verifiers.passkeys.requestOptions(`second-factor:${challenge.id}`, challenge.userId)
  },
})

/** The account as it was when the first part was proven: whatever has changed its credentials since makes the challenge void. */
async function userOf({ users }: Parts, challenge: Challenge): Promise<UserRow> {
  const user = await users.byId(challenge.userId)
  if (user?.credentials_version !== challenge.credentialsVersion || user.disabled_at !== null)
    throw authErrors.invalid_challenge()
  return user
}

/** A passkey that did not verify its user proves one thing only, however often it is used. */
function refuseSamePasskey({ method }: Challenge, { passkey }: FactorInput): void {
  if (method === 'passkey' && passkey !== undefined)
    throw authErrors.invalid_passkey({
      message:
        'This passkey did not verify its user, so another second factor is required: send a code, or sign in with a password and use the passkey then.',
    })
}
