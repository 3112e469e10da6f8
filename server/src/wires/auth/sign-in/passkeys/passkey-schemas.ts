// The JSON forms of WebAuthn, as PublicKeyCredential.parseRequestOptionsFromJSON, parseCreationOptionsFromJSON and toJSON have
// them: https://www.w3.org/TR/webauthn-3/#sctn-parseCreationOptionsFromJSON
import type { Static } from 'typebox'

import { Type } from '../../../../base/schema.ts'

const Base64url = Type.String({ maxLength: 12_000, pattern: '^[A-Za-z0-9_-]+$', description: 'base64url.' })
/** At most 1023 bytes: https://www.w3.org/TR/webauthn-3/#credential-id */
const CredentialId = Type.String({ maxLength: 1364, pattern: '^[A-Za-z0-9_-]+$', description: 'base64url.' })
const Ignored = Type.Optional(Type.Unknown({ description: 'Ignored.' }))

const Descriptor = Type.Object(
  { id: Type.String(), type: Type.Literal('public-key'), transports: Type.Array(Type.String()) },
  { title: 'PasskeyDescriptor' },
)
const Verification = Type.Enum(['required', 'preferred', 'discouraged'])

export const PasskeyRequestOptions = Type.Object(
  {
    challenge: Type.String(),
    rpId: Type.String(),
    timeout: Type.Integer({ description: 'In milliseconds.' }),
    userVerification: Verification,
    allowCredentials: Type.Optional(
      Type.Array(Descriptor, {
        description: 'The passkeys of the account; absent for a sign-in without an address.',
      }),
    ),
  },
  {
    title: 'PasskeyRequestOptions',
    description: 'For navigator.credentials.get, by PublicKeyCredential.parseRequestOptionsFromJSON.',
  },
)
/** Options for navigator.credentials.get. */
export type PasskeyRequestOptions = Static<typeof PasskeyRequestOptions>

export const PasskeyCreationOptions = Type.Object(
  {
    challenge: Type.String(),
    rp: Type.Object({ id: Type.String(), name: Type.String() }),
    user: Type.Object({ id: Type.String(), name: Type.String(), displayName: Type.String() }),
    pubKeyCredParams: Type.Array(Type.Object({ type: Type.Literal('public-key'), alg: Type.Integer() })),
    timeout: Type.Integer({ description: 'In milliseconds.' }),
    attestation: Type.Literal('none'),
    excludeCredentials: Type.Array(Descriptor),
    authenticatorSelection: Type.Object({
      residentKey: Type.Literal('required'),
      requireResidentKey: Type.Boolean(),
      userVerification: Verification,
    }),
    extensions: Type.Object({ credProps: Type.Boolean() }),
  },
  {
    title: 'PasskeyCreationOptions',
    description: 'For navigator.credentials.create, by PublicKeyCredential.parseCreationOptionsFromJSON.',
  },
)
/** Options for navigator.credentials.create. */
export type PasskeyCreationOptions = Static<typeof PasskeyCreationOptions>

export const PasskeyResponse = Type.Object(
  {
    id: CredentialId,
    rawId: CredentialId,
    type: Type.Literal('public-key'),
    response: Type.Object({
      clientDataJSON: Base64url,
      authenticatorData: Base64url,
      signature: Base64url,
      userHandle: Type.Optional(Base64url),
    }),
    authenticatorAttachment: Ignored,
    clientExtensionResults: Ignored,
  },
  {
    title: 'PasskeyResponse',
    description: 'The answer of navigator.credentials.get, by its toJSON().',
    examples: [
      {
        id: 'Zm9v',
        rawId: 'Zm9v',
        type: 'public-key',
        response: { clientDataJSON: 'e30', authenticatorData: 'AAAA', signature: 'AAAA', userHandle: 'AAAA' },
        clientExtensionResults: {},
      },
    ],
  },
)
/** The answer of navigator.credentials.get. */
export type PasskeyResponse = Static<typeof PasskeyResponse>

export const PasskeyRegistration = Type.Object(
  {
    id: CredentialId,
    rawId: CredentialId,
    type: Type.Literal('public-key'),
    response: Type.Object({
      clientDataJSON: Base64url,
      attestationObject: Base64url,
      transports: Type.Optional(Type.Array(Type.String({ maxLength: 30 }), { maxItems: 10 })),
    }),
    authenticatorAttachment: Ignored,
    clientExtensionResults: Ignored,
  },
  {
    title: 'PasskeyRegistration',
    description: 'The answer of navigator.credentials.create, by its toJSON().',
    examples: [
      {
        id: 'Zm9v',
        rawId: 'Zm9v',
        type: 'public-key',
        response: { clientDataJSON: 'e30', attestationObject: 'AAAA', transports: ['internal'] },
        clientExtensionResults: {},
      },
    ],
  },
)
/** The answer of navigator.credentials.create. */
export type PasskeyRegistration = Static<typeof PasskeyRegistration>

export const PasskeyOptions = Type.Object({ options: PasskeyRequestOptions }, { title: 'PasskeyOptions' })
export const PasskeyRegistrationOptions = Type.Object(
  { options: PasskeyCreationOptions },
  { title: 'PasskeyRegistrationOptions' },
)

export const Passkey = Type.Object(
  {
    _id: Type.String(),
    name: Type.String(),
    createdAt: Type.String({ format: 'date-time', description: 'ISO 8601, UTC.' }),
    lastUsedAt: Type.Optional(
      Type.String({ format: 'date-time', description: 'Absent if it was not used since.' }),
    ),
    synced: Type.Boolean({
      description: 'Whether its authenticator keeps a backup, such as in the account of a phone.',
    }),
  },
  { title: 'Passkey' },
)
/** A passkey as its owner sees it. */
export type Passkey = Static<typeof Passkey>
