/** What an address does by the part before its `@`; whatever follows a plus sign there is nothing to it. */
export const MAGIC_ADDRESSES = {
  bounce: '550 at RCPT: there is no such mailbox',
  returned: 'taken, and reported as bounced a moment later',
  later: '451 after DATA at the first try of a message, taken at the next',
  slow: 'taken, and answered after three seconds',
} as const

/** How mail is refused to which there is no mailbox, at once or later: RFC 5321 and RFC 3463. */
export const NO_MAILBOX = { code: 550, words: '5.1.1 There is no such mailbox' } as const

/** The part of an address that may be one of these. */
export const magicOf = (address: string): string =>
  address.slice(0, address.lastIndexOf('@')).split('+', 1)[0]!.toLowerCase()
