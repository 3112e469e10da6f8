import { createPrivateKey, sign, type KeyObject } from 'node:crypto'

import type { Clock } from '../../../../base/clock.ts'
import { StartError } from '../../../../base/start-error.ts'
import { checkFields, optional, TEXT } from '../../../../kernel/config/fields.ts'
import { text } from './claims.ts'
import { TIMEOUT_MS, type ProviderPlace } from './oidc.ts'
import { createOpenidProvider, type OpenidClient } from './openid-connect.ts'
import { addressOf } from './provider-address.ts'
import type { IdentityProvider } from './identity-provider.ts'

const ISSUER = 'https://appleid.apple.com'
/** Apple takes up to six months. A secret is made for each call, so it need not outlive one. */
const SECRET_SECONDS = 300

export type AppleOptions = {
  /** The Services ID: `com.example.shop.web`. */
  clientId: string | undefined
  /** Of ten letters and digits. */
  teamId: string | undefined
  /** The id of the private key, of ten letters and digits. */
  keyId: string | undefined
  /** The content of the file `AuthKey_….p8`, in PEM; its line breaks may be written as `\n`. */
  privateKey: string | undefined
  /** Its name for people. Default: `Apple`. */
  label?: string
  /** Another issuer that works as Apple does, for tests. Default: `https://appleid.apple.com`. */
  issuer?: string
}

export type AppleEntry = { kind: 'apple' } & AppleOptions

/**
 * An entry of `auth.providers`: Sign in with Apple, for the web.
 * https://developer.apple.com/documentation/signinwithapple/configuring-your-environment-for-sign-in-with-apple
 *
 * @example
 * import { apple, defineConfig } from 'sixwire'
 *
 * export default defineConfig({
 *   auth: {
 *     providers: {
 *       apple: apple({
 *         clientId: 'com.example.shop.web',
 *         teamId: 'ABCDE12345',
 *         keyId: 'FGHIJ67890',
 *         privateKey: process.env['APPLE_PRIVATE_KEY'],
 *       }),
 *     },
 *   },
 * })
 */
export const apple = (options: AppleOptions): AppleEntry => ({ kind: 'apple', ...options })

/** @throws StartError with the field that is wrong */
export function openApple({ place, entry }: { place: ProviderPlace; entry: AppleEntry }): IdentityProvider {
  checkFields(place.option, entry, {
    kind: TEXT,
    clientId: TEXT,
    teamId: TEXT,
    keyId: TEXT,
    privateKey: TEXT,
    label: optional(TEXT),
    issuer: optional(TEXT),
  })
  const issuer = addressOf(`${place.option}.issuer`, entry.issuer ?? ISSUER, place)
  const signer: Signer = {
    key: privateKeyOf(`${place.option}.privateKey`, entry.privateKey!),
    keyId: entry.keyId!,
    teamId: entry.teamId!,
    clientId: entry.clientId!,
    audience: entry.issuer ?? ISSUER,
  }
  return createOpenidProvider(place, {
    name: place.name,
    label: entry.label ?? 'Apple',
    issuer,
    clientId: signer.clientId,
    clientAuth:
      ({ ClientSecretPost }: OpenidClient) =>
      (...request) =>
        ClientSecretPost(clientSecretOf(signer, place.clock))(...request),
    scopes: ['name', 'email'],
    // Apple refuses requests for scopes without it.
    responseMode: 'form_post',
    refine: (identity, { returned }) => ({
      ...identity,
      name: identity.name ?? nameOf(returned.get('user')),
    }),
    timeoutMs: TIMEOUT_MS,
  })
}

type Signer = { key: KeyObject; keyId: string; teamId: string; clientId: string; audience: string }

function privateKeyOf(option: string, pem: string): KeyObject {
  const fault = new StartError(
    `${option}: it is not the content of a file AuthKey_….p8: a private key of the curve P-256 in PEM`,
  )
  let key: KeyObject
  try {
    // Variables of an environment often hold the line breaks like this.
    key = createPrivateKey(pem.replaceAll('\\n', '\n'))
  } catch {
    throw fault
  }
  if (key.asymmetricKeyDetails?.namedCurve !== 'prime256v1') throw fault
  return key
}

/**
 * The client secret: a JWT that the team's key signs.
 * https://developer.apple.com/documentation/accountorganizationaldatasharing/creating-a-client-secret
 */
function clientSecretOf({ key, keyId, teamId, clientId, audience }: Signer, clock: Clock): string {
  const now = Math.floor(clock.now() / 1000)
  const unsigned = [
    { alg: 'ES256', kid: keyId },
    { iss: teamId, iat: now, exp: now + SECRET_SECONDS, aud: audience, sub: clientId },
  ]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
  // RFC 7518, section 3.4: the two numbers of the signature one after the other, not in DER.
  const signature = sign('sha256', Buffer.from(unsigned), { key, dsaEncoding: 'ieee-p1363' })
  return `${unsigned}.${signature.toString('base64url')}`
}

/** The name in the parameter `user`, which Apple sends at the first sign-in only and does not sign; so no address is taken from it. */
function nameOf(user: string | null): string | undefined {
  try {
    const { name } = JSON.parse(user ?? '') as { name?: { firstName?: unknown; lastName?: unknown } | null }
    return [text(name?.firstName), text(name?.lastName)].filter(Boolean).join(' ') || undefined
  } catch {
    return undefined
  }
}
