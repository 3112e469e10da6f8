import { readFileSync } from 'node:fs'

import { packageAsset } from '../../../base/asset.ts'

let list: Buffer | undefined

/**
 * Whether a password is one of the 49,233 commonest, the frequency list that zxcvbn uses. The list is in lower case: it
 * counts Password and password as one, so passwords are compared with it case-insensitively.
 *
 * The list is searched as it is in its file, a JSON array of texts: half a megabyte outside the heap, read at the first
 * use, and 0.2 ms for a search. No code of the package runs.
 */
export function isCommonPassword(password: string): boolean {
  list ??= readFileSync(packageAsset('@zxcvbn-ts/language-common/src/passwords.json'))
  // A quotation mark inside a text is escaped, so this is found only as a whole text.
  return list.includes(JSON.stringify(password.toLowerCase()))
}

const LETTERS_MIN = 3

/**
 * Makes the function that tells whether a password is one of these names, once or repeated, with nothing but digits and signs
 * around it and between: `shop2024!` or `shop-shop` of a service called Shop.
 */
export function nameCheck(names: readonly string[]): (password: string) => boolean {
  const lettersOf = (text: string): string =>
    text
      .normalize('NFKC')
      .toLowerCase()
      .replaceAll(/[^\p{L}]+/gu, '')
  // Fewer letters may be in a random password by chance.
  const refused = names.map(lettersOf).filter((name) => name.length >= LETTERS_MIN)
  return (password) => {
    const letters = lettersOf(password)
    return refused.some((name) => letters !== '' && letters.replaceAll(name, '') === '')
  }
}
