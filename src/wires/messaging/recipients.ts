import { parseAddress } from '../../base/email-address.ts'
import { invalid } from '../../base/errors.ts'

const RECIPIENTS_MAX = 50
const E164 = /^\+[1-9]\d{1,14}$/

/** Whom a mail goes to; every address was read alone. */
export type Recipients = {
  to: string[]
  cc: string[]
  bcc: string[]
  /** Of all of them, as addresses are compared. */
  keys: string[]
}

type Given = string | string[] | undefined

/**
 * Reads the recipients of a mail: one address, or a list of them, in each field.
 *
 * @throws VALIDATION_ERROR for what is not one address alone, and for more than 50 in all
 */
export function mailRecipients(given: { to: string | string[]; cc?: Given; bcc?: Given }): Recipients {
  const keys = new Set<string>()
  let count = 0
  const read = (field: string, value: Given = []): string[] => {
    const isList = typeof value !== 'string'
    return (isList ? value : [value]).map((one, at) => {
      const { address, key } = parseAddress(one, isList ? `/body/${field}/${at}` : `/body/${field}`)
      keys.add(key)
      count++
      return address
    })
  }
  const lists = { to: read('to', given.to), cc: read('cc', given.cc), bcc: read('bcc', given.bcc) }
  if (lists.to.length === 0) throw invalid({ path: '/body/to', message: 'must name at least one address' })
  if (count > RECIPIENTS_MAX)
    throw invalid({ path: '/body/to', message: `a mail goes to at most ${RECIPIENTS_MAX} addresses in all` })
  return { ...lists, keys: [...keys] }
}

/**
 * Reads a phone number in E.164, and asks the numbering plan of its country whether it may have so many digits.
 * Whether anybody has it only a provider knows: plans change more often than programs, so the library itself advises
 * against more than this (https://gitlab.com/catamphetamine/libphonenumber-js#isvalid).
 *
 * @throws VALIDATION_ERROR at `/body/to`
 */
export async function phoneNumber(given: string): Promise<string> {
  // The plans of all countries take a while to load, and many servers never send a text.
  const { parsePhoneNumberFromString } = await import('libphonenumber-js/min')
  if (!E164.test(given) || !parsePhoneNumberFromString(given)?.isPossible())
    throw invalid({
      path: '/body/to',
      message: 'is not a phone number in E.164: a plus, the country and the number, like +4915112345678',
    })
  return given
}
