import type { MailPurpose } from './mail-tokens.ts'

/** What a link is for: a token of its purpose, or a change of the account's address. */
export type LinkPurpose = MailPurpose | 'address-change' | 'address-undo'

const PAGES: Record<LinkPurpose, string> = {
  reset: '/auth/reset',
  'magic-link': '/auth/magic-link',
  verification: '/auth/verify',
  'address-change': '/auth/change-email',
  'address-undo': '/auth/undo-email-change',
}

/**
 * The page of the frontend that an email links to. The token is in the fragment, so that no server on the way, log or
 * `Referer` header has it.
 */
export const mailLink = (appUrl: string, purpose: LinkPurpose, token: string): string =>
  `${appUrl}${PAGES[purpose]}#token=${token}`
