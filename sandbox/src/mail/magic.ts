/** The effect of an address, by the part before its `@`; a plus sign there and what follows it is ignored. */
export const MAGIC_ADDRESSES = {
  bounce: '550 at RCPT: there is no such mailbox',
  returned: 'accepted, and reported as bounced a moment later',
  later: '451 after DATA at the first attempt of a message, accepted at the next',
  slow: 'accepted, and answered after three seconds',
} as const

/** The refusal of mail for a mailbox that does not exist, at once or as a bounce: RFC 5321 and RFC 3463. */
export const NO_MAILBOX = { code: 550, words: '5.1.1 There is no such mailbox' } as const

/** The part of an address that may be a magic one. */
export const magicOf = (address: string): string =>
  address.slice(0, address.lastIndexOf('@')).split('+', 1)[0]!.toLowerCase()
