import { isSameSecret, type Key } from '../../../server/src/base/crypto.ts'

/** PayPal's tokens are valid for 9 hours. */
export const TOKEN_SECONDS = 32_400

const PREFIX = 'A21AA'

/** An access token: the time at which it expires, and a MAC of it. */
export const tokenOf = (key: Key, now: number): string => {
  const expiresAt = String(now + TOKEN_SECONDS * 1_000)
  return `${PREFIX}${expiresAt}.${key.mac(`token ${expiresAt}`)}`
}

export function isValidToken(key: Key, token: string, now: number): boolean {
  const [, expiresAt, mac] = /^A21AA(\d{1,15})\.([\w-]+)$/.exec(token) ?? []
  return (
    expiresAt !== undefined &&
    mac !== undefined &&
    isSameSecret(mac, key.mac(`token ${expiresAt}`)) &&
    Number(expiresAt) > now
  )
}
