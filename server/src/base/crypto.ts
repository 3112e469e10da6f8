import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  hash,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'

/** SHA-256 in base64url: the form in which tokens are stored and looked up. */
export const sha256 = (content: string | Uint8Array): string => hash('sha256', content, 'base64url')

/** Whether two secrets are equal; the time does not depend on where they differ. */
export const isSameSecret = (candidate: string, secret: string): boolean =>
  timingSafeEqual(hash('sha256', candidate, 'buffer'), hash('sha256', secret, 'buffer'))

/** 256 random bits in base64url, 43 characters. */
export const randomToken = (): string => randomBytes(32).toString('base64url')

/** A key for one purpose. */
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
  /** Encrypts bytes as `seal` does text. They can only be decrypted with the same `context`, such as the id of their row. */
  sealBytes(bytes: Uint8Array, context: string): string
  /**
   * Decrypts what `sealBytes` returned, into memory that the caller can overwrite.
   *
   * @throws Error if it was encrypted with another key or context, or changed
   */
  openBytes(ciphertext: string, context: string): Buffer
}

const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16

/**
 * Derives a key for one purpose from the operator's secret (HKDF with SHA-256, RFC 5869).
 * Keys of different purposes are independent of each other.
 *
 * @param secret `SIXWIRE_SECRET`
 * @param purpose a name that must not change once something is encrypted with the key, for example `refresh-token`
 */
export const deriveKey = (secret: string, purpose: string): Key => keyOf(keyBytes(secret, purpose))

/** The 32 bytes of the key that `deriveKey` answers. */
export const keyBytes = (secret: string, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, 'sixwire', purpose, KEY_BYTES))

/** A key of 32 random bytes. The bytes are used, not copied. */
export function keyOf(key: Uint8Array): Key {
  if (key.length !== KEY_BYTES) throw new TypeError(`a key has ${KEY_BYTES} bytes`)

  function encrypt(bytes: Uint8Array, context: string): string {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(context))
    return Buffer.concat([nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]).toString(
      'base64url',
    )
  }

  function decrypt(ciphertext: string, context: string): Buffer {
    const bytes = Buffer.from(ciphertext, 'base64url')
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    })
    decipher.setAAD(Buffer.from(context)).setAuthTag(bytes.subarray(-TAG_BYTES))
    // A stream mode: everything is decrypted here, and `final` only checks the tag.
    const content = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES))
    try {
      decipher.final()
    } catch (error) {
      content.fill(0)
      throw error
    }
    return content
  }

  return {
    mac: (text) => createHmac('sha256', key).update(text).digest('base64url'),
    seal: (text) => encrypt(Buffer.from(text), ''),
    open: (ciphertext) => decrypt(ciphertext, '').toString('utf8'),
    sealBytes: encrypt,
    openBytes: decrypt,
  }
}
