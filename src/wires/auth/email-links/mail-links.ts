import type { MailPurpose } from './mail-tokens.ts'

const PAGES: Record<MailPurpose, string> = {
  reset: '/auth/reset',
  'magic-link': '/auth/magic-link',
  verification: '/auth/verify',
}

/**
 * The page of the frontend that an email links to. The token is in the fragment, so that no server on the way, log or
 * `Referer` header has it.
 */
export const mailLink = (appUrl: string, purpose: MailPurpose, token: string): string =>
  `${appUrl}${PAGES[purpose]}#token=${token}`
