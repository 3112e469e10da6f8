import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'

/** SHA-256 in base64url: the form in which tokens are stored and looked up. */
export const sha256 = (content: string | Uint8Array): string =>
  createHash('sha256').update(content).digest('base64url')

/** Whether two secrets are equal; the time does not depend on where they differ. */
export const isSameSecret = (candidate: string, secret: string): boolean =>
  timingSafeEqual(
    createHash('sha256').update(candidate).digest(),
    createHash('sha256').update(secret).digest(),
  )

/** 256 random bits in base64url, 43 characters. */
export const randomToken = (): string => randomBytes(32).toString('base64url')

/** A key for one purpose, derived from the operator's secret. */
export type Key = {
  /** HMAC-SHA-256 in base64url. */
  mac(text: string): string
  /** Encrypts and authenticates text (AES-256-GCM, a random 96-bit nonce before it), in base64url. */
  seal(text: string): string
  /**
   * Decrypts what `seal` returned.
   *
   * @throws Error if it was encrypted with another key, or changed
   */
  open(ciphertext: string): string
}

const NONCE_BYTES = 12
const TAG_BYTES = 16

/**
 * Derives a key for one purpose from the operator's secret (HKDF with SHA-256, RFC 5869).
 * Keys of different purposes are independent of each other.
 *
 * @param secret `SIXWIRE_SECRET`
 * @param purpose a name that must not change once something is encrypted with the key, for example `refresh-token`
 */
export function deriveKey(secret: string, purpose: string): Key {
  const key = Buffer.from(hkdfSync('sha256', secret, 'sixwire', purpose, 32))
  return {
    mac: (text) => createHmac('sha256', key).update(text).digest('base64url'),
    seal(text) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', key, nonce)
      const bytes = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
      return bytes.toString('base64url')
    },
    open(ciphertext) {
      const bytes = Buffer.from(ciphertext, 'base64url')
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      })
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
      const text = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES))
      return Buffer.concat([text, decipher.final()]).toString('utf8')
    },
  }
}
