import { onceResolved } from '../../../../base/once.ts'

// Some 90 modules, most of them for certificates, loaded with the first passkey.
export const loadWebauthn = onceResolved(() => import('@simplewebauthn/server'))

/** ES256, EdDSA and RS256: https://www.iana.org/assignments/cose/cose.xhtml#algorithms */
export const ALGORITHMS = [-7, -8, -257]

/** What the browser says of the page that asked: https://www.w3.org/TR/webauthn-3/#dictdef-collectedclientdata */
export type ClientData = { challenge: string; origin: string }

/**
 * @returns undefined if it is malformed, or comes from a frame in a page of another origin, which could place it under what a user
 *   wants to click
 */
export function clientDataOf(clientDataJSON: string): ClientData | undefined {
  let data: unknown
  try {
    data = JSON.parse(Buffer.from(clientDataJSON, 'base64url').toString('utf8'))
  } catch {
    return undefined
  }
  const { challenge, origin, crossOrigin } = (data ?? {}) as Record<string, unknown>
  return typeof challenge === 'string' && typeof origin === 'string' && crossOrigin !== true
    ? { challenge, origin }
    : undefined
}
