import { isoTime } from '../../../base/clock.ts'
import { deriveKey, isSameSecret } from '../../../base/crypto.ts'
import { errors } from '../../../base/errors.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'

const TOKEN = /^([0-9a-z]{1,11})\.([\w-]{43})$/

/**
 * Links that open one file without a token of a caller until they expire. They are not stored: a link can be revoked only by
 * deleting the file, or all at once by another `SIXWIRE_SECRET`.
 */
export function createLinks(
  { clock }: Pick<WireContext, 'clock'>,
  { secret, publicUrl }: { secret: string; publicUrl: string },
) {
  const key = deriveKey(secret, 'store-file-link')
  // Names the file and the time, each of a form that cannot run into the other.
  const macOf = (fileId: string, expiry: string): string => key.mac(`${fileId} ${expiry}`)

  return {
    /** @param expiresIn seconds */
    sign(fileId: string, expiresIn: number): { url: string; expiresAt: string } {
      const expiresAt = clock.now() + expiresIn * 1000
      const expiry = expiresAt.toString(36)
      const token = `${expiry}.${macOf(fileId, expiry)}`
      return { url: `${contentUrlOf(publicUrl, fileId)}?token=${token}`, expiresAt: isoTime(expiresAt) }
    },

    /** @throws UNAUTHORIZED also if there is no such file, so that a guess tells nothing */
    verify(fileId: string, token: string): void {
      const [, expiry = '', mac = ''] = TOKEN.exec(token) ?? []
      const isSigned = isSameSecret(mac, macOf(fileId, expiry))
      if (!isSigned || Number.parseInt(expiry, 36) <= clock.now())
        throw errors.unauthorized({
          message: 'This link has expired or is not valid for this file: request a new one.',
        })
    },
  }
}

export type Links = ReturnType<typeof createLinks>

/** The address of a file's bytes. */
export const contentUrlOf = (publicUrl: string, fileId: string): string =>
  `${publicUrl}/store/files/${fileId}/content`
