import { Type } from '../../../../base/schema.ts'
import { json } from '../../../../http/bodies.ts'
import { answer, endpoint } from '../../../../http/route.ts'
import { authErrors } from '../../errors.ts'
import type { Passwords } from '../../accounts/passwords.ts'
import { NewEmail, newPassword, Tokens, UNCACHED, User, userOf } from '../schemas.ts'
import type { Sessions } from '../../sessions/sessions.ts'
import type { FirstAdmin } from '../../administration/first-admin.ts'

/** The endpoint behind the link that a start in production prints while there is no administrator. */
export const firstAdminEndpoint = ({
  firstAdmin,
  sessions,
  passwords,
}: {
  firstAdmin: FirstAdmin
  sessions: Sessions
  passwords: Passwords
}) =>
  endpoint(
    {
      summary: 'Create the first administrator and sign in',
      description:
        'With the token of the link that a start in production prints while there is no administrator. It works once, for an hour.',
      access: 'public',
      limit: '20/min',
      body: json(
        Type.Object(
          {
            token: Type.String({ maxLength: 1000, examples: ['the token of the link'] }),
            email: NewEmail,
            password: newPassword(passwords),
            name: Type.Optional(Type.String({ maxLength: 200, examples: ['Ada Lovelace'] })),
          },
          { title: 'FirstAdminRequest' },
        ),
      ),
      reply: { 201: Type.Object({ user: User, ...Tokens }, { title: 'FirstAdmin' }) },
      errors: [authErrors.invalid_token, authErrors.email_taken],
    },
    async ({ body: { token, email, password, name }, actor, ip, userAgent, record }) => {
      const user = await firstAdmin.create({ token, email, password, name }, actor)
      const tokens = await sessions.create(user, { ip, userAgent, record, actor, method: 'registration' })
      return answer({ user: userOf(user), ...tokens }, { headers: UNCACHED })
    },
  )
