import { errors } from '../../../base/errors.ts'
import { Type } from '../../../base/schema.ts'
import { withRule } from '../../../base/with-rule.ts'
import { json } from '../../../http/bodies.ts'
import { answer, endpoint } from '../../../http/route.ts'
import { phoneNumber } from '../../messaging/index.ts'
import { authErrors } from '../errors.ts'
import { Browser, Code, Email, MagicLinkUser, Message, Phone, Tokens, UNCACHED } from './schemas.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { CodeLogin } from '../sign-in/code-login.ts'
import { requireTexts, type Texts } from '../messages/texts.ts'

const CodeRequest = withRule(
  Type.Object(
    {
      email: Type.Optional(Email),
      phone: Type.Optional(Phone),
      code: Code,
      browser: Type.Optional(Browser),
    },
    {
      title: 'VerifyCodeRequest',
      examples: [{ email: 'ada@example.com', code: '123456' }],
    },
  ),
  ({ email, phone }) =>
    (email === undefined) === (phone === undefined)
      ? 'must have either email or phone, where the code was sent'
      : undefined,
)

/** The endpoints of sign-in with a code of six digits. */
export function codeEndpoints({
  texts,
  codeLogin,
  sessions,
}: {
  texts: Texts
  codeLogin: CodeLogin
  sessions: Sessions
}) {
  return {
    sendText: endpoint(
      {
        summary: 'Send an SMS with a code to sign in',
        description:
          'The answer is the same for every number. The code is sent only if an account has proven the number with POST /auth/phone; it is valid for 10 minutes and five attempts, and an older one is void. A number gets 3 of these messages at once, then one every 20 minutes.',
        access: 'public',
        limit: '20/hour',
        idempotent: true,
        body: json(
          Type.Object({ phone: Phone, browser: Type.Optional(Browser) }, { title: 'SmsCodeRequest' }),
        ),
        reply: { 200: Message },
        errors: [errors.provider_not_configured],
      },
      async ({ body, recordId }) => {
        requireTexts(texts)
        const phone = phoneNumber(body.phone)
        await texts.signIn(recordId, { phone, browser: body.browser })
        return { message: `If an account has the number ${phone}, an SMS with a code is sent to it.` }
      },
    ),
    redeem: endpoint(
      {
        summary: 'Sign in with the code of an email or an SMS',
        description:
          'A code of an email does what its link does: it verifies the address, and creates an account for an address that has none. Wrong codes for an address count together with wrong passwords: after too many, the address is locked. Those for a number lock the number only. An address or number has 30 attempts at once, then one every 48 minutes.',
        access: 'public',
        limit: '30/min',
        body: json(CodeRequest),
        reply: { 200: Type.Object({ user: MagicLinkUser, ...Tokens }, { title: 'CodeLogin' }) },
        errors: [
          authErrors.invalid_code,
          authErrors.invalid_credentials,
          authErrors.second_factor_required,
          authErrors.registration_closed,
          authErrors.account_locked,
        ],
      },
      async ({ body, recordId, ip, userAgent, actor, record }) => {
        const { email, phone } = body
        const [method, user] =
          phone === undefined
            ? (['email-code', await codeLogin.byEmail(email!, body, recordId, { actor, record })] as const)
            : (['sms-code', await codeLogin.byPhone(phoneNumber(phone), body, { actor, record })] as const)
        const tokens = await sessions.create(user, { ip, userAgent, actor, record, method })
        return answer({ user: { _id: user.id, email: user.email }, ...tokens }, { headers: UNCACHED })
      },
    ),
  }
}
