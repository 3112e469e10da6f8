import { invalid } from './errors.ts'

/** `address` as it was typed, for mail and display; `key` to tell accounts apart. */
export type EmailAddress = { address: string; key: string }

const LENGTH_MAX = 254
const LOCAL_MAX = 64
const LABEL_MAX = 63

/** RFC 5322, section 3.2.3: dot-atom-text. */
const dotAtom = /^[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*$/

/** RFC 1123, section 2.1: letters, digits, and hyphens between them. */
const label = /^[a-z\d](?:[a-z\d-]*[a-z\d])?$/i

/**
 * Reads one email address of the form `local@domain`, and makes the key that identifies its account.
 * ASCII white space around it is dropped, as in `<input type=email>`. Addresses that differ in ASCII case only belong to the same account; dots and
 * plus signs in the local part are significant, because only the mail server knows whether it ignores them.
 *
 * It accepts the mailbox of RFC 5321 without the parts that let one address pass for another, or for several:
 * - Characters beyond ASCII (RFC 6531): a look-alike could be shown as, or be mapped to, somebody else's address.
 *   An international domain is accepted in the form in which it is registered, `xn--…`.
 * - Quoted local parts, comments, names, angle brackets, lists, white space and line breaks: mail software reads
 *   them differently, and a header could be broken out of.
 * - Address literals, domains without a dot and a dot at the end (RFC 7085): `user@localhost` is a mailbox of the
 *   server itself.
 *
 * @param at JSON pointer of the field, for the error
 * @throws VALIDATION_ERROR
 */
export function parseAddress(text: string, at: string): EmailAddress {
  const fault = addressFault(text)
  if (fault !== undefined) throw invalid({ path: at, message: fault })
  const address = trimBlanks(text)
  return { address, key: emailKey(address) }
}

/**
 * The key of an address. Text that is not an address gets a key that no account has.
 * Only A to Z are lowered: toLowerCase() would turn the Kelvin sign into k, and so into another person's address.
 */
export const emailKey = (text: string): string =>
  trimBlanks(text).replace(/[A-Z]/g, (letter) => letter.toLowerCase())

function trimBlanks(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && isBlank(text, start)) start++
  while (start < end && isBlank(text, end - 1)) end--
  return text.slice(start, end)
}

const isBlank = (text: string, index: number): boolean => ' \t\n\f\r'.includes(text[index]!)

/** Why `parseAddress` refuses a text, as a sentence; undefined if it does not. */
export function addressFault(text: string): string | undefined {
  const address = trimBlanks(text)
  if (address.length > LENGTH_MAX) return `An email address has at most ${LENGTH_MAX} characters.`
  const [foreign] = /[^\x20-\x7e]/u.exec(address) ?? []
  if (foreign !== undefined) {
    const name = `U+${foreign.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`
    return `Write the email address in plain ASCII, and an international domain in its xn-- form: it contains ${name}.`
  }
  const [local = '', domain, ...more] = address.split('@')
  if (domain === undefined || more.length > 0) return 'Write one email address, like name@example.com.'
  if (local.length > LOCAL_MAX) return `An email address has at most ${LOCAL_MAX} characters before the @.`
  if (!dotAtom.test(local)) {
    return 'An email address has only letters, digits, signs and single dots before the @, no spaces or quotes.'
  }
  const labels = domain.split('.')
  const last = labels.at(-1)!
  if (
    labels.length < 2 ||
    /^\d+$/.test(last) ||
    !labels.every((part) => part.length <= LABEL_MAX && label.test(part))
  ) {
    return 'An email address has a domain after the @, like example.com.'
  }
  return undefined
}
