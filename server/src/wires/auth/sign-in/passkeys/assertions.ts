import { requireRow } from '../../../../db/database.ts'
import { sql } from '../../../../db/sql.ts'
import { authErrors } from '../../errors.ts'
import type { FactorProof } from '../../factors/factor.ts'
import { challengeHash, type PasskeyPurpose } from './passkey-challenges.ts'
import {
  descriptorsOf,
  passkeysOf,
  requireRelyingParty,
  TIMEOUT_MS,
  userHandleOf,
  type PasskeyParts,
  type PasskeyRow,
} from './passkey.ts'
import type { PasskeyRequestOptions, PasskeyResponse } from './passkey-schemas.ts'
import { clientDataOf, loadWebauthn, type ClientData } from './webauthn.ts'

/** A passkey that has signed. */
export type PasskeyProof = FactorProof<'passkey'> & {
  userId: string
  /** Whether the authenticator verified its user, by a PIN or biometrics, and not only the presence of a person. */
  isUserVerified: boolean
}

export async function requestOptions(
  parts: PasskeyParts,
  purpose: PasskeyPurpose,
  userId?: string,
): Promise<PasskeyRequestOptions> {
  const { id } = requireRelyingParty(parts)
  return {
    challenge: parts.challenges.challenge(purpose, userId),
    rpId: id,
    timeout: TIMEOUT_MS,
    userVerification: 'preferred',
    ...(userId !== undefined && { allowCredentials: descriptorsOf(await passkeysOf(parts, userId)) }),
  }
}

/** Verifies an assertion: https://www.w3.org/TR/webauthn-3/#sctn-verifying-assertion */
export async function proveAssertion(
  parts: PasskeyParts,
  credential: unknown,
  purpose: PasskeyPurpose,
  userId?: string,
): Promise<PasskeyProof | undefined> {
  const relyingParty = requireRelyingParty(parts)
  const { db, challenges, log } = parts
  const refuse = (why: string, passkey?: PasskeyRow): undefined => {
    log.info({ why, account: passkey?.user_id, passkey: passkey?.id }, 'a passkey is refused')
  }

  const assertion = isAssertion(credential) ? credential : undefined
  const client = assertion && clientDataOf(assertion.response.clientDataJSON)
  if (!client) return refuse('it is malformed, or from a frame of another origin')
  if (!relyingParty.accepts(client.origin))
    return refuse(`its origin ${client.origin.slice(0, 200)} is not accepted`)
  if (!challenges.isCurrent(client.challenge, purpose, userId))
    return refuse('its challenge has expired, or is for another purpose or account')
  const passkey = await db.get(sql<PasskeyRow & { is_answered: number }>`
    select auth_passkeys.*, (
      select count(*) from auth_passkey_answers where challenge_hash = ${challengeHash(client.challenge)}) as is_answered
    from auth_passkeys where credential_id = ${assertion.id}`)
  if (!passkey) return refuse('it is not known')
  if (userId !== undefined && passkey.user_id !== userId) return refuse('it is of another account', passkey)
  if (!isUserHandleRight(assertion, passkey, purpose)) return refuse('its user handle is wrong', passkey)
  if (passkey.is_answered > 0) return refuse('its challenge was answered before', passkey)
  const signed = await verifySignature(passkey, assertion, client, relyingParty.id)
  if (typeof signed === 'string') return refuse(signed, passkey)
  if (!signed.isSyncable && passkey.counter > 0 && signed.counter <= passkey.counter) {
    log.warn(
      { account: passkey.user_id, passkey: passkey.id, counter: signed.counter, before: passkey.counter },
      'a passkey is refused: its counter of signatures did not grow, so there may be a copy of it',
    )
    return undefined
  }
  return {
    kind: 'passkey',
    userId: passkey.user_id,
    isUserVerified: signed.isUserVerified,
    useSql: useSql(parts, passkey, client, signed),
  }
}

type Signed = {
  counter: number
  isUserVerified: boolean
  isSynced: boolean
  /** Each of its devices has a counter of its own, so none of them shows a copy: https://www.w3.org/TR/webauthn-3/#sctn-sign-counter */
  isSyncable: boolean
}

/** @returns why it is refused, if it is */
async function verifySignature(
  passkey: PasskeyRow,
  { id, rawId, type, response }: PasskeyResponse,
  { challenge, origin }: ClientData,
  rpId: string,
): Promise<Signed | string> {
  const { verifyAuthenticationResponse } = await loadWebauthn()
  try {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: { id, rawId, type, response: { ...response }, clientExtensionResults: {} },
      expectedChallenge: challenge,
      expectedOrigin: origin,
      expectedRPID: rpId,
      requireUserVerification: false,
      // The counter is compared once the signature is verified: a warning about a copy must be true.
      credential: {
        id: passkey.credential_id,
        publicKey: new Uint8Array(Buffer.from(passkey.public_key, 'base64url')),
        counter: 0,
      },
    })
    if (!verified) return 'its signature is wrong'
    const { newCounter, userVerified, credentialBackedUp, credentialDeviceType } = authenticationInfo
    return {
      counter: newCounter,
      isUserVerified: userVerified,
      isSynced: credentialBackedUp,
      isSyncable: credentialDeviceType === 'multiDevice',
    }
  } catch (error) {
    return (error as Error).message
  }
}

/** The steps that use it, in a batch that has locked the account's row: its removal waits, or was before. */
function useSql(
  { challenges, clock }: PasskeyParts,
  passkey: PasskeyRow,
  { challenge }: ClientData,
  { counter, isSynced, isSyncable }: Signed,
): PasskeyProof['useSql'] {
  const invalid = () => authErrors.invalid_passkey()
  // As new a signature may have been used meanwhile.
  const isNewer = counter === 0 ? sql`counter = 0` : sql`counter < ${counter}`
  const isUsable = isSyncable ? sql`1 = 1` : isNewer
  return [
    challenges.answerSql(challenge, invalid),
    requireRow(
      sql`update auth_passkeys set counter = ${counter}, is_synced = ${isSynced ? 1 : 0}, last_used_at = ${clock.now()}
          where id = ${passkey.id} and ${isUsable}`,
      invalid,
    ),
  ]
}

/** Without a list of passkeys the authenticator has to say whose it is; else it may. */
const isUserHandleRight = (
  { response: { userHandle } }: PasskeyResponse,
  { user_id }: PasskeyRow,
  purpose: PasskeyPurpose,
): boolean => (userHandle === undefined ? purpose !== 'sign-in' : userHandle === userHandleOf(user_id))

function isAssertion(value: unknown): value is PasskeyResponse {
  const { id, response } = (value ?? {}) as Partial<PasskeyResponse>
  const { clientDataJSON, authenticatorData, signature, userHandle } = (response ?? {}) as Partial<
    PasskeyResponse['response']
  >
  return (
    [id, clientDataJSON, authenticatorData, signature].every((one) => typeof one === 'string') &&
    (userHandle === undefined || typeof userHandle === 'string')
  )
}
