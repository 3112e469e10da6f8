import { requireModule } from '../../../base/asset.ts'
import { parseAddress } from '../../../base/email-address.ts'
import type { Fault } from '../../../base/with-rule.ts'
import type * as PhoneNumbers from './phone-numbers.ts'

const RECIPIENTS_MAX = 50
const E164 = /^\+[1-9]\d{1,14}$/

/** The recipients of an email; each address was parsed separately. */
export type Recipients = {
  to: string[]
  cc: string[]
  bcc: string[]
  /** The addresses of all recipients in the form in which addresses are compared. */
  keys: string[]
}

type AddressInput = string | string[] | undefined

/** Checks the number of recipients; each address is checked by its own schema. */
export function recipientsFault({
  to,
  cc = [],
  bcc = [],
}: {
  to: AddressInput
  cc?: AddressInput
  bcc?: AddressInput
}): Fault | undefined {
  if (Array.isArray(to) && to.length === 0) return { path: '/to', message: 'must have at least one address' }
  if ([to, cc, bcc].flat().length <= RECIPIENTS_MAX) return undefined
  return { path: '/to', message: `to, cc and bcc may have at most ${RECIPIENTS_MAX} addresses in total` }
}

/**
 * Parses the recipients of an email: an address, or a list of addresses, in each field.
 *
 * @throws VALIDATION_ERROR at the field with an invalid address
 */
export function mailRecipients(input: {
  to: string | string[]
  cc?: AddressInput
  bcc?: AddressInput
}): Recipients {
  const keys = new Set<string>()
  const addressesOf = (field: string, value: AddressInput = []): string[] =>
    [value].flat().map((one) => {
      const { address, key } = parseAddress(one, `/body/${field}`)
      keys.add(key)
      return address
    })
  const lists = {
    to: addressesOf('to', input.to),
    cc: addressesOf('cc', input.cc),
    bcc: addressesOf('bcc', input.bcc),
  }
  return { ...lists, keys: [...keys] }
}

/**
 * Checks that text is a phone number in E.164 with a length that the numbering plan of its country allows. A stricter
 * check would refuse real numbers, because plans change more often than programs; the library advises against it
 * (https://gitlab.com/catamphetamine/libphonenumber-js#isvalid).
 */
export function phoneFault(text: string): string | undefined {
  if (E164.test(text) && isPossible(text)) return undefined
  return 'is not a phone number in E.164: write a plus, the country code and the number, like +4915112345678'
}

/** WhatsApp's own id of a Mexican mobile has a 1 behind the country code, which its numbering plan no longer has. */
const MEXICAN_MOBILE = /^\+521\d{10}$/

/** Likewise of a recipient of WhatsApp. */
export const whatsAppFault = (text: string): string | undefined =>
  MEXICAN_MOBILE.test(text) ? undefined : phoneFault(text)

/**
 * A phone number as numbers are compared: in E.164, without the prefix of calls within its country (+44 0… is +44 …).
 *
 * @param text a number in which `phoneFault` finds nothing
 */
export const phoneNumber = (text: string): string => parsePhone(text)?.number ?? text

const isPossible = (number: string): boolean => parsePhone(number)?.isPossible() ?? false

function parsePhone(number: string) {
  // Loaded when first needed: the numbering plans of all countries take long to load, and many servers send no SMS.
  const { parsePhoneNumberFromString } = requireModule(
    'wires/messaging/messages/phone-numbers',
  ) as typeof PhoneNumbers
  return parsePhoneNumberFromString(number)
}
