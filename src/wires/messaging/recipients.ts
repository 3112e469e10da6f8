import { createRequire } from 'node:module'

import type { Fault } from '../../base/with-rule.ts'
import type * as Library from 'libphonenumber-js/min'

import { parseAddress } from '../../base/email-address.ts'

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

/** What is wrong with the recipients of a mail together: each address is looked at alone. */
export function recipientsFault({
  to,
  cc = [],
  bcc = [],
}: {
  to: Given
  cc?: Given
  bcc?: Given
}): Fault | undefined {
  if (Array.isArray(to) && to.length === 0) return { path: '/to', message: 'must name at least one address' }
  if ([to, cc, bcc].flat().length <= RECIPIENTS_MAX) return undefined
  return { path: '/to', message: `a mail goes to at most ${RECIPIENTS_MAX} addresses in all` }
}

/** Reads the recipients of a mail: one address, or a list of them, in each field. */
export function mailRecipients(given: { to: string | string[]; cc?: Given; bcc?: Given }): Recipients {
  const keys = new Set<string>()
  const read = (field: string, value: Given = []): string[] =>
    [value].flat().map((one) => {
      const { address, key } = parseAddress(one, `/body/${field}`)
      keys.add(key)
      return address
    })
  const lists = { to: read('to', given.to), cc: read('cc', given.cc), bcc: read('bcc', given.bcc) }
  return { ...lists, keys: [...keys] }
}

const require = createRequire(import.meta.url)

/**
 * Whether text is a phone number in E.164, and the numbering plan of its country lets it have so many digits.
 * Whether anybody has it only a provider knows: plans change more often than programs, so the library itself advises
 * against more than this (https://gitlab.com/catamphetamine/libphonenumber-js#isvalid).
 */
export function phoneFault(text: string): string | undefined {
  if (E164.test(text) && isPossible(text)) return undefined
  return 'is not a phone number in E.164: a plus, the country and the number, like +4915112345678'
}

function isPossible(number: string): boolean {
  // The plans of all countries take a while to load, and many servers never send a text.
  const { parsePhoneNumberFromString } = require('libphonenumber-js/min') as typeof Library
  return parsePhoneNumberFromString(number)?.isPossible() ?? false
}
