import { Type } from '../../../base/schema.ts'

import { parseAddress } from '../../../base/email-address.ts'
import { ApiError, errors } from '../../../base/errors.ts'
import { json } from '../../../http/bodies.ts'
import { answer, endpoint } from '../../../http/route.ts'
import type { AccountMails } from '../messages/account-mails.ts'
import { authErrors } from '../errors.ts'
import type { TokenRedemption } from '../sign-in/token-redemption.ts'
import type { Passwords } from '../accounts/passwords.ts'
import { Browser, MagicLinkUser, Message, NewEmail, newPassword, Tokens, UNCACHED } from './schemas.ts'
import { optionalCaller, OptionalToken } from './optional-token.ts'
import type { Sessions } from '../sessions/sessions.ts'

const MailToken = Type.String({
  maxLength: 1000,
  description: 'From the link in the email.',
  examples: ['the token of the link'],
})

export const LinkToken = Type.Object({ token: MailToken }, { title: 'EmailTokenRequest' })

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
  const requireMail = (): void => mails.requireProvider()

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
      async ({ body, actor, record }) => {
        const account = await redemption.resetPassword(body.token, body.password, actor)
        record('password-changed', { account, method: 'reset' })
        return { message: 'The password is set, and all sessions are revoked: sign in with it.' }
      },
    ),
    sendMagicLink: endpoint(
      {
        summary: 'Send an email with a link and a code to sign in',
        description:
          'While registration is open, using one of them creates an account for an address that has none. The code has six digits and is valid for 10 minutes and five attempts; using the link voids the code, and the other way round. With `browser`, the code works in the same browser only, and the link asks before it works in another. An address gets 5 of these emails at once, then one every 12 minutes.',
        ...SENDS_TO_ANYBODY,
        body: json(
          Type.Object({ email: NewEmail, browser: Type.Optional(Browser) }, { title: 'MagicLinkRequest' }),
        ),
      },
      async ({ body, recordId }) => {
        requireMail()
        const email = parseAddress(body.email, '/body/email')
        await mails.magicLink(recordId, email, body.browser)
        return {
          message: `If ${email.address} can sign in here, an email with a link and a code is sent to it.`,
        }
      },
    ),
    redeemMagicLink: endpoint(
      {
        summary: 'Sign in with the token of an email',
        description:
          'Also verifies the address. An account whose address was not verified before loses its password, second factors, phone number and all sessions. A link whose request had another `browser`, or none while this call has one, is answered with `OTHER_BROWSER` and not used: with `confirmed` it signs in.',
        access: 'public',
        limit: '30/min',
        body: json(
          Type.Object(
            {
              token: MailToken,
              browser: Type.Optional(Browser),
              confirmed: Type.Optional(
                Type.Literal(true, {
                  description: 'The user has said that they requested this link in another browser.',
                }),
              ),
            },
            { title: 'MagicLinkTokenRequest' },
          ),
        ),
        reply: {
          200: Type.Object({ user: MagicLinkUser, ...Tokens }, { title: 'MagicLinkLogin' }),
        },
        errors: [
          authErrors.invalid_token,
          authErrors.invalid_credentials,
          authErrors.second_factor_required,
          authErrors.registration_closed,
          authErrors.other_browser,
        ],
      },
      async ({ body, recordId, ip, userAgent, actor, record }) => {
        // Each by its name: a body may have other fields, such as an id.
        const { token, browser, confirmed } = body
        const user = await redemption
          .verifyMagicLink(token, { id: recordId, browser, confirmed })
          .catch((error: unknown) => {
            if (error instanceof ApiError)
              record('sign-in-failed', { account: 'unknown', method: 'magic-link', reason: error.code })
            throw error
          })
        const tokens = await sessions.create(user, { ip, userAgent, actor, record, method: 'magic-link' })
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
        headers: OptionalToken,
        reply: { 200: Message },
        errors: [authErrors.invalid_token],
      },
      async ({ body, headers, record }) => {
        const signedIn = await optionalCaller(sessions, headers)
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
