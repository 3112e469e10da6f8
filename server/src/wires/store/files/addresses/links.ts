import { createSignedLinks } from '../../../../kernel/secret/signed-links.ts'
import type { WireContext } from '../../../../kernel/wire/wire.ts'

const HOUR_MS = 3_600_000

/** Links that open one file without a token of a caller until they expire. */
export function createLinks(
  { clock }: Pick<WireContext, 'clock'>,
  { secret, publicUrl }: { secret: string; publicUrl: string },
) {
  const links = createSignedLinks({ clock }, { secret, purpose: 'store-file-link', of: 'this file' })
  return {
    /** @param expiresIn seconds */
    sign: (fileId: string, expiresIn: number) =>
      links.sign(fileId, contentUrlOf(publicUrl, fileId), expiresIn),
    /** A link that is the same for an hour, and opens the file for one to two hours. */
    signForHour(fileId: string) {
      const hour = Math.ceil(clock.now() / HOUR_MS) + 1
      return links.signUntil(fileId, contentUrlOf(publicUrl, fileId), hour * HOUR_MS)
    },
    verify: (fileId: string, token: string) => links.verify(fileId, token),
  }
}

export type Links = ReturnType<typeof createLinks>

/** The address of a file's bytes. */
export const contentUrlOf = (publicUrl: string, fileId: string): string =>
  `${publicUrl}/store/files/${fileId}/content`
