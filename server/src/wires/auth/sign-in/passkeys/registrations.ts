import { errors, type ApiError } from '../../../../base/errors.ts'
import { newId } from '../../../../base/ids.ts'
import { requireRow, type Step } from '../../../../db/database.ts'
import { sql } from '../../../../db/sql.ts'
import type { UserCaller } from '../../../../http/access.ts'
import { authErrors } from '../../errors.ts'
import { defaultName } from './passkey-names.ts'
import {
  descriptorsOf,
  passkeyOf,
  passkeysOf,
  requireRelyingParty,
  TIMEOUT_MS,
  userHandleOf,
  type PasskeyParts,
  type PasskeyRow,
} from './passkey.ts'
import type { Passkey, PasskeyCreationOptions, PasskeyRegistration } from './passkey-schemas.ts'
import { ALGORITHMS, clientDataOf, loadWebauthn, type ClientData } from './webauthn.ts'

/** Of an account. */
const PASSKEYS_MAX = 20

/** A passkey that was created, with the codes that are shown once if it is the account's first factor. */
export type CreatedPasskey = { passkey: Passkey; recoveryCodes?: string[] }

export async function creationOptions(parts: PasskeyParts, userId: string): Promise<PasskeyCreationOptions> {
  const { id, name } = requireRelyingParty(parts)
  const user = await parts.users.byId(userId)
  if (!user) throw errors.unauthorized()
  const passkeys = await passkeysOf(parts, userId)
  if (passkeys.length >= PASSKEYS_MAX) throw tooMany()
  return {
    challenge: parts.challenges.challenge('registration', userId),
    rp: { id, name },
    user: { id: userHandleOf(userId), name: user.email, displayName: user.name ?? user.email },
    pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: 'public-key', alg })),
    timeout: TIMEOUT_MS,
    attestation: 'none',
    excludeCredentials: descriptorsOf(passkeys),
    authenticatorSelection: {
      residentKey: 'required',
      requireResidentKey: true,
      userVerification: 'preferred',
    },
    extensions: { credProps: true },
  }
}

/** Registers a credential: https://www.w3.org/TR/webauthn-3/#sctn-registering-a-new-credential */
export async function createPasskey(
  parts: PasskeyParts,
  caller: UserCaller,
  registration: PasskeyRegistration,
  { name, userAgent }: { name?: string | undefined; userAgent: string },
): Promise<CreatedPasskey> {
  const { client, credential } = await verifyRegistration(parts, caller.id, registration)
  const now = parts.clock.now()
  const row: PasskeyRow = {
    ...credential,
    id: newId(now),
    user_id: caller.id,
    name: name?.trim() || defaultName(credential.aaguid, userAgent),
    created_at: now,
    last_used_at: null,
  }
  const factor = { kind: 'passkey', name: `passkey “${row.name}”` } as const
  const recoveryCodes = await parts.ownFactors.add(caller, factor, insertSql(parts, row, client))
  return { passkey: passkeyOf(row), ...(recoveryCodes && { recoveryCodes }) }
}

/** In a batch that has locked the account's row, so no two are counted at the same time. */
const insertSql = (
  { challenges }: PasskeyParts,
  row: PasskeyRow,
  { challenge }: ClientData,
): readonly Step[] => [
  challenges.answerSql(challenge, () =>
    authErrors.invalid_passkey({ message: 'This passkey was sent before: request new options.' }),
  ),
  requireRow(
    sql`select id from auth_users
        where id = ${row.user_id}
          and (select count(*) from auth_passkeys where user_id = ${row.user_id}) < ${PASSKEYS_MAX}`,
    tooMany,
  ),
  requireRow(
    sql`insert into auth_passkeys (id, credential_id, user_id, public_key, counter, transports, name, aaguid, is_synced,
          is_user_verified, created_at)
        values (${row.id}, ${row.credential_id}, ${row.user_id}, ${row.public_key}, ${row.counter}, ${row.transports},
          ${row.name}, ${row.aaguid}, ${row.is_synced}, ${row.is_user_verified}, ${row.created_at})
        on conflict do nothing`,
    () => errors.conflict({ message: 'This passkey is registered already.' }),
  ),
]

const tooMany = (): ApiError =>
  errors.conflict({ message: `An account may have ${PASSKEYS_MAX} passkeys: remove one first.` })

const refusal = (why: string, cause?: unknown): ApiError =>
  authErrors.invalid_passkey({ message: `This passkey could not be registered: ${why}.`, cause })

type Credential = Pick<
  PasskeyRow,
  'credential_id' | 'public_key' | 'counter' | 'transports' | 'aaguid' | 'is_synced' | 'is_user_verified'
>

/** @throws INVALID_PASSKEY with the reason: the caller is signed in, and may be the developer */
async function verifyRegistration(
  parts: PasskeyParts,
  userId: string,
  { id, rawId, type, response }: PasskeyRegistration,
): Promise<{ client: ClientData; credential: Credential }> {
  const relyingParty = requireRelyingParty(parts)
  const client = clientDataOf(response.clientDataJSON)
  if (!client) throw refusal('its client data is malformed, or from a frame of another origin')
  const { challenge, origin } = client
  if (!parts.challenges.isCurrent(challenge, 'registration', userId))
    throw refusal('its challenge has expired, or is for another purpose or account; request new options')
  if (!relyingParty.accepts(origin))
    throw refusal(
      `pages of ${origin.slice(0, 200)} are not accepted; set APP_URL, or auth.passkeys.origins, to theirs`,
    )
  const { verifyRegistrationResponse } = await loadWebauthn()
  const { clientDataJSON, attestationObject, transports = [] } = response
  const { verified, registrationInfo } = await verifyRegistrationResponse({
    response: {
      id,
      rawId,
      type,
      response: { clientDataJSON, attestationObject },
      clientExtensionResults: {},
    },
    expectedChallenge: challenge,
    expectedOrigin: origin,
    expectedRPID: relyingParty.id,
    requireUserVerification: false,
    supportedAlgorithmIDs: ALGORITHMS,
  }).catch((error: unknown) => {
    throw refusal((error as Error).message.replace(/\.$/, ''), error)
  })
  if (!verified) throw refusal('its attestation is wrong')
  const { credential, aaguid, credentialBackedUp, userVerified } = registrationInfo
  if (credential.id !== id) throw refusal('its id is not the one that its authenticator signed')
  return {
    client,
    credential: {
      credential_id: credential.id,
      public_key: Buffer.from(credential.publicKey).toString('base64url'),
      counter: credential.counter,
      transports: JSON.stringify(transports),
      aaguid,
      is_synced: credentialBackedUp ? 1 : 0,
      is_user_verified: userVerified ? 1 : 0,
    },
  }
}
