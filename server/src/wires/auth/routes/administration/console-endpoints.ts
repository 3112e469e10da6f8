import type { IncomingHttpHeaders } from 'node:http'

import { errors } from '../../../../base/errors.ts'
import { Type } from '../../../../base/schema.ts'
import { json } from '../../../../http/bodies.ts'
import { answer, endpoint } from '../../../../http/route.ts'
import { isSameOrigin } from '../../../../http/same-origin.ts'
import type { WireContext } from '../../../../kernel/wire/wire.ts'
import { authErrors } from '../../errors.ts'
import { Message, UNCACHED } from '../schemas.ts'
import type { ConsoleSessions } from '../../sessions/console-sessions.ts'

const WithCookie = Type.Object({ cookie: Type.Optional(Type.String()) })

/** A cookie counts for pages of this server only, and for none if the console is off. */
const authorizeFor =
  ({ console: isOn, publicUrl }: WireContext['settings']) =>
  (headers: IncomingHttpHeaders): void => {
    if (!isOn) throw errors.not_found({ message: 'The console is off on this server.' })
    if (!isSameOrigin(headers, publicUrl))
      throw errors.forbidden({
        message: 'Only a page of this server may call this: send Sec-Fetch-Site: same-origin, or its Origin.',
      })
  }

/** The endpoints of the session of the console. */
export function consoleEndpoints({
  consoleSessions,
  settings,
}: Pick<WireContext, 'settings'> & { consoleSessions: ConsoleSessions }) {
  const authorize = authorizeFor(settings)
  return {
    open: endpoint(
      {
        summary: 'Open or continue a session of the console',
        description:
          'For the page at `/console`. With a `refreshToken` of a session that was signed in within the last 10 minutes, that session becomes one of the console; without, the session of the cookie goes on. Answers an access token for 10 minutes, and sets the cookie.',
        access: 'public',
        limit: '120/min',
        authorize,
        headers: WithCookie,
        body: json(
          Type.Object(
            {
              refreshToken: Type.Optional(
                Type.String({ maxLength: 1000, examples: ['the refreshToken of the sign-in'] }),
              ),
            },
            { title: 'ConsoleRequest' },
          ),
        ),
        reply: {
          200: Type.Object(
            {
              token: Type.String({ description: 'The access token, for 10 minutes.' }),
              user: Type.Object({
                _id: Type.String(),
                email: Type.String(),
                role: Type.Enum(['viewer', 'admin']),
              }),
            },
            { title: 'ConsoleSession' },
          ),
        },
        errors: [
          errors.unauthorized,
          errors.forbidden,
          errors.not_found,
          errors.recent_sign_in_required,
          authErrors.second_factor_required,
        ],
      },
      async ({ body: { refreshToken }, headers, ip, userAgent, record }) => {
        const client = { ip, userAgent }
        const { cookie, ...session } =
          refreshToken === undefined
            ? await consoleSessions.renew(headers.cookie, client)
            : await consoleSessions.open(refreshToken, client)
        if (refreshToken !== undefined) record('console-opened', { account: session.user._id })
        return answer(session, { headers: { ...UNCACHED, 'set-cookie': cookie } })
      },
    ),
    end: endpoint(
      {
        summary: 'End the session of the console',
        access: 'public',
        limit: '120/min',
        authorize,
        headers: WithCookie,
        reply: { 200: Message },
        errors: [errors.forbidden, errors.not_found],
      },
      async ({ headers }) =>
        answer(
          { message: 'You are signed out of the console.' },
          { headers: { ...UNCACHED, 'set-cookie': await consoleSessions.end(headers.cookie) } },
        ),
    ),
  }
}
