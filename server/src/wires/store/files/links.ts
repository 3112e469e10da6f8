import { createSignedLinks } from '../../../kernel/secret/signed-links.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'

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
    verify: (fileId: string, token: string) => links.verify(fileId, token),
  }
}

export type Links = ReturnType<typeof createLinks>

/** The address of a file's bytes. */
export const contentUrlOf = (publicUrl: string, fileId: string): string =>
  `${publicUrl}/store/files/${fileId}/content`
