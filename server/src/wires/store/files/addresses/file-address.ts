import mime from 'mime/lite'

import { contentUrlOf } from './links.ts'
import { plainTypeOf } from '../sniff.ts'

type Addressed = Keyed & { id: string; access: 'private' | 'public' }
type Keyed = { public_key: string; content_type: string }

/** The length of the key in a public address: it is 128 bits in hexadecimal digits, so nobody can guess it. */
const KEY_DIGITS = 32

/**
 * The last part of a public address. The ending tells readers the type, and is not looked at: an address must not depend on what
 * a version of this program calls it.
 */
export const PUBLIC_NAME = `^[0-9a-f]{${KEY_DIGITS}}(\\.[a-z0-9]{1,16})?$`

/** The address of a public file's bytes. */
export const publicUrlOf = (publicUrl: string, { public_key, content_type }: Keyed): string => {
  const ending = mime.getExtension(plainTypeOf(content_type))
  return `${publicUrl}/store/files/public/${public_key}${ending === null ? '' : `.${ending}`}`
}

/** Where the bytes of a file are that no document makes public. */
export const urlOf = (publicUrl: string, file: Addressed): string =>
  file.access === 'public' ? publicUrlOf(publicUrl, file) : contentUrlOf(publicUrl, file.id)

/** The key in the last part of a public address. */
export const publicKeyOf = (name: string): string => name.slice(0, KEY_DIGITS)
