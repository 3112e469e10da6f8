import { Type } from '../../../base/schema.ts'

import { parseAddress } from '../../../base/email-address.ts'
import { ApiError, errors } from '../../../base/errors.ts'
import { json } from '../../../http/bodies.ts'
import { bearerToken } from '../../../http/bearer-token.ts'
import { answer, endpoint } from '../../../http/route.ts'
import type { AccountMails } from './account-mails.ts'
import { authErrors } from '../errors.ts'
import type { TokenRedemption } from './token-redemption.ts'
import type { Passwords } from '../passwords/passwords.ts'
import { Message, NewEmail, newPassword, Tokens, UNCACHED } from '../schemas.ts'
import type { Sessions } from '../sessions/sessions.ts'

const MailToken = Type.String({
  maxLength: 1000,
  description: 'From the link in the email.',
  examples: ['the token of the link'],
})

const LinkToken = Type.Object({ token: MailToken }, { title: 'EmailTokenRequest' })
const MagicLinkUser = Type.Object({ _id: Type.String(), email: Type.String() }, { title: 'MagicLinkUser' })

/** Endpoints that send an email to any address, whether or not it has an account. */
const SENDS_TO_ANYBODY = {
  access: 'public',
  limit: '20/min',
  idempotent: true,
  body: json(Type.Object({ email: NewEmail }, { title: 'EmailLinkRequest' })),
  reply: { 200: Message },
  errors: [errors.provider_not_configured],
} as const

/** The endpoints that send links by email, and those that take their tokens. */
export function mailEndpoints({
  mails,
  redemption,
  passwords,
  sessions,
}: {
  mails: AccountMails
  redemption: TokenRedemption
  passwords: Passwords
  sessions: Sessions
}) {
  function requireMail(): void {
    if (!mails.areSent)
      throw errors.provider_not_configured({
        message:
          'This server cannot send email: the operator has to configure a provider for email (SMTP_URL).',
      })
  }

  return {
    forgotPassword: endpoint(
      {
        summary: 'Send an email with a link to reset the password',
        description:
          'The answer is the same whether or not the address has an account. An address gets 5 of these emails at once, then one every 12 minutes.',
        ...SENDS_TO_ANYBODY,
      },
      async ({ body, recordId }) => {
        requireMail()
        await mails.reset(recordId, parseAddress(body.email, '/body/email'))
        return {
          message:
            'If this address has an account, an email with a link to set another password is sent to it.',
        }
      },
    ),
    resetPassword: endpoint(
      {
        summary: 'Reset the password with the token of an email, and revoke all sessions',
        description: 'Also unlocks the address and verifies it.',
        access: 'public',
        limit: '30/min',
        body: json(
          Type.Object(
            { token: MailToken, password: newPassword(passwords) },
            { title: 'ResetPasswordRequest' },
          ),
        ),
        reply: { 200: Message },
        errors: [authErrors.invalid_token],
      },
      async ({ body, record }) => {
        const account = await redemption.resetPassword(body.token, body.password)
        record('password-changed', { account, method: 'reset' })
        return { message: 'The password is set, and all sessions are revoked: sign in with it.' }
      },
    ),
    sendMagicLink: endpoint(
      {
        summary: 'Send an email with a link to sign in',
        description:
          'While registration is open, using the link creates an account for an address that has none. An address gets 5 of these emails at once, then one every 12 minutes.',
        ...SENDS_TO_ANYBODY,
      },
      async ({ body, recordId }) => {
        requireMail()
        const email = parseAddress(body.email, '/body/email')
        await mails.magicLink(recordId, email)
        return { message: `If ${email.address} can sign in here, an email with a link is sent to it.` }
      },
    ),
    redeemMagicLink: endpoint(
      {
        summary: 'Sign in with the token of an email',
        description:
          'Also verifies the address. An account whose address was not verified before loses its password and all sessions.',
        access: 'public',
        limit: '30/min',
        body: json(LinkToken),
        reply: {
          200: Type.Object({ user: MagicLinkUser, ...Tokens }, { title: 'MagicLinkLogin' }),
        },
        errors: [authErrors.invalid_token, authErrors.invalid_credentials, authErrors.registration_closed],
      },
      async ({ body, recordId, ip, userAgent, record }) => {
        const user = await redemption.verifyMagicLink(body.token, recordId).catch((error: unknown) => {
          if (error instanceof ApiError)
            record('sign-in-failed', { account: 'unknown', method: 'magic-link', reason: error.code })
          throw error
        })
        const tokens = await sessions.create(user, { ip, userAgent, record, method: 'magic-link' })
        return answer({ user: { _id: user.id, email: user.email }, ...tokens }, { headers: UNCACHED })
      },
    ),
    verifyEmail: endpoint(
      {
        summary: 'Verify an email address with the token of an email',
        description:
          'An unverified account whose address `SIXWIRE_ADMINS` names loses its password and all sessions, unless the call carries an access token of that same account.',
        access: 'public',
        limit: '30/min',
        body: json(LinkToken),
        headers: Type.Object({
          authorization: Type.Optional(
            Type.String({ description: 'An access token of the account; any other is ignored.' }),
          ),
        }),
        reply: { 200: Message },
        errors: [authErrors.invalid_token],
      },
      async ({ body, headers, record }) => {
        const accessToken = bearerToken(headers.authorization ?? '')
        const signedIn = accessToken === undefined ? undefined : await sessions.caller(accessToken)
        const { isCleared, account, role } = await redemption.verifyEmail(body.token, signedIn?.id)
        record('address-verified', { account, role })
        return {
          message: isCleared
            ? 'The address is verified. The account has no password: request a link to set one.'
            : 'The address is verified.',
        }
      },
    ),
    resendVerification: endpoint(
      {
        summary: 'Send the email to verify the address again',
        description:
          'Earlier links stop working. An address gets 5 of these emails at once, then one every 12 minutes.',
        access: 'session',
        limit: '20/min',
        idempotent: true,
        reply: { 200: Message },
        errors: [errors.provider_not_configured],
      },
      async ({ caller, recordId }) => {
        if (caller.emailVerified) return { message: `${caller.email} is verified already.` }
        requireMail()
        await mails.verifyAgain(recordId, caller.id)
        return { message: `An email with a link to verify it is sent to ${caller.email}.` }
      },
    ),
  }
}
