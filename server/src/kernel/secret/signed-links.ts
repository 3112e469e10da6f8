import { isoTime, type Clock } from '../../base/clock.ts'
import { deriveKey, isSameSecret } from '../../base/crypto.ts'
import { errors } from '../../base/errors.ts'

const TOKEN = /^([0-9a-z]{1,11})\.([\w-]{43})$/

/** The tokens of links that open one record without a token of a caller, until they expire. */
export type SignedLinks = {
  /**
   * @param url of the record; the token is added
   * @param expiresIn seconds
   */
  sign(id: string, url: string, expiresIn: number): { url: string; expiresAt: string }
  /** @param expiresAt milliseconds since 1970 */
  signUntil(id: string, url: string, expiresAt: number): { url: string; expiresAt: string }
  /** @throws UNAUTHORIZED also if there is no such record, so that a guess tells nothing */
  verify(id: string, token: string): void
}

/**
 * Links are not stored: one can be revoked only by deleting its record, or all at once by another `SIXWIRE_SECRET`.
 *
 * @param options.purpose tells the links of one kind of record from others
 * @param options.of what a link that is refused is not valid for: `this file`
 */
export function createSignedLinks(
  { clock }: { clock: Clock },
  { secret, purpose, of }: { secret: string; purpose: string; of: string },
): SignedLinks {
  const key = deriveKey(secret, purpose)
  // Names the record and the time, each of a form that cannot run into the other.
  const macOf = (id: string, expiry: string): string => key.mac(`${id} ${expiry}`)

  const signUntil: SignedLinks['signUntil'] = (id, url, expiresAt) => {
    const expiry = expiresAt.toString(36)
    return { url: `${url}?token=${expiry}.${macOf(id, expiry)}`, expiresAt: isoTime(expiresAt) }
  }

  return {
    sign: (id, url, expiresIn) => signUntil(id, url, clock.now() + expiresIn * 1000),
    signUntil,

    verify(id, token) {
      const [, expiry = '', mac = ''] = TOKEN.exec(token) ?? []
      const isSigned = isSameSecret(mac, macOf(id, expiry))
      if (!isSigned || Number.parseInt(expiry, 36) <= clock.now())
        throw errors.unauthorized({
          message: `This link has expired or is not valid for ${of}: request a new one.`,
        })
    },
  }
}
