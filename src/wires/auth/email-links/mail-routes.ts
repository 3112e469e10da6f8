import { Type } from '../../../base/schema.ts'

import { parseAddress } from '../../../base/email-address.ts'
import { errors } from '../../../base/errors.ts'
import { json } from '../../../http/bodies.ts'
import { bearerToken } from '../../../http/bearer-token.ts'
import { answer, route } from '../../../http/route.ts'
import type { AccountMails } from './account-mails.ts'
import { authErrors } from '../errors.ts'
import type { MailFlows } from './mail-flows.ts'
import type { Passwords } from '../passwords/passwords.ts'
import { Message, NewEmail, newPassword, Tokens, UNCACHED } from '../routes.ts'
import type { Sessions } from '../sessions/sessions.ts'

const MailToken = Type.String({
  maxLength: 1000,
  description: 'From the link in the email.',
  examples: ['the token of the link'],
})

/** Mails that anybody may have sent to an address, whether or not it has an account. */
const ASKED_FOR = {
  access: 'public',
  limit: '20/min',
  idempotent: true,
  body: json(Type.Object({ email: NewEmail })),
  reply: { 200: Message },
  errors: [errors.provider_not_configured],
} as const

/** What is proven by mail. */
export function mailRoutes({
  mails,
  flows,
  passwords,
  sessions,
}: {
  mails: AccountMails
  flows: MailFlows
  passwords: Passwords
  sessions: Sessions
}) {
  function needMail(): void {
    if (!mails.areSent)
      throw errors.provider_not_configured({
        message: 'This server sends no mail: the operator has to configure a provider for email (SMTP_URL).',
      })
  }

  return [
    route(
      'POST /auth/forgot-password',
      {
        summary: 'Send an email with a link to reset the password',
        description:
          'The answer is the same whether or not the address has an account. At most 5 of these mails an address and hour.',
        ...ASKED_FOR,
      },
      async ({ body, recordId }) => {
        needMail()
        await mails.reset(recordId, parseAddress(body.email, '/body/email'))
        return {
          message: 'If this address has an account, a link to set another password is on its way to it.',
        }
      },
    ),
    route(
      'POST /auth/reset-password',
      {
        summary: 'Reset the password with the token of an email, and revoke all sessions',
        description: 'Lifts a lock of the address as well, and verifies it.',
        access: 'public',
        limit: '30/min',
        body: json(Type.Object({ token: MailToken, password: newPassword(passwords) })),
        reply: { 200: Message },
        errors: [authErrors.invalid_token],
      },
      async ({ body }) => {
        await flows.resetPassword(body.token, body.password)
        return { message: 'The password is set, and all sessions are signed out: sign in with it.' }
      },
    ),
    route(
      'POST /auth/magic-link',
      {
        summary: 'Send an email with a link to sign in',
        description:
          'While registration is open, using the link makes an account for an address that has none. At most 5 of these mails an address and hour.',
        ...ASKED_FOR,
      },
      async ({ body, recordId }) => {
        needMail()
        const email = parseAddress(body.email, '/body/email')
        await mails.magicLink(recordId, email)
        return { message: `If it can sign in here, a link is on its way to ${email.address}.` }
      },
    ),
    route(
      'POST /auth/verify-magic-link',
      {
        summary: 'Sign in with the token of an email',
        description:
          'Verifies the address. An account whose address was not verified until then loses its password and all sessions.',
        access: 'public',
        limit: '30/min',
        body: json(Type.Object({ token: MailToken })),
        reply: {
          200: Type.Object({ user: Type.Object({ _id: Type.String(), email: Type.String() }), ...Tokens }),
        },
        errors: [authErrors.invalid_token, authErrors.invalid_credentials, authErrors.registration_closed],
      },
      async ({ body, recordId, ip, userAgent }) => {
        const user = await flows.proveByLink(body.token, recordId)
        const tokens = await sessions.open(user, { ip, userAgent })
        return answer({ user: { _id: user.id, email: user.email }, ...tokens }, { headers: UNCACHED })
      },
    ),
    route(
      'POST /auth/verify-email',
      {
        summary: 'Verify an email address with the token of an email',
        description:
          'An account with an address of `SIXWIRE_ADMINS` loses its password and all sessions by it, unless the call carries the access token of a session of that same account.',
        access: 'public',
        limit: '30/min',
        body: json(Type.Object({ token: MailToken })),
        headers: Type.Object({
          authorization: Type.Optional(
            Type.String({ description: 'Any that names no session of that account is as good as none.' }),
          ),
        }),
        reply: { 200: Message },
        errors: [authErrors.invalid_token],
      },
      async ({ body, headers }) => {
        const accessToken = bearerToken(headers.authorization ?? '')
        const signedIn = accessToken === undefined ? undefined : await sessions.caller(accessToken)
        const { isCleared } = await flows.verifyEmail(body.token, signedIn?.id)
        return {
          message: isCleared
            ? 'The address is verified. Set a password by the link for a forgotten one.'
            : 'The address is verified.',
        }
      },
    ),
    route(
      'POST /auth/resend-verification',
      {
        summary: 'Send the email to verify the address again',
        description: 'The links before it work no longer. At most 5 of these mails an address and hour.',
        access: 'session',
        limit: '20/min',
        idempotent: true,
        reply: { 200: Message },
        errors: [errors.provider_not_configured],
      },
      async ({ caller, recordId }) => {
        if (caller.emailVerified) return { message: `${caller.email} is verified already.` }
        needMail()
        await mails.verifyAgain(recordId, caller.id)
        return { message: `A link to verify it is on its way to ${caller.email}.` }
      },
    ),
  ] as const
}
