import { errors } from '../../../base/errors.ts'
import { Type } from '../../../base/schema.ts'
import { json } from '../../../http/bodies.ts'
import { pageOf, PageQuery, PageReply } from '../../../http/page.ts'
import { answer, endpoint } from '../../../http/route.ts'
import { authErrors } from '../errors.ts'
import { Message, Time, Tokens, UNCACHED } from './schemas.ts'
import type { Sessions } from '../sessions/sessions.ts'

const Session = Type.Object(
  {
    _id: Type.String(),
    createdAt: Time,
    lastUsedAt: Type.String({ format: 'date-time', description: 'The sign-in or the last refresh.' }),
    expiresAt: Time,
    ip: Type.String(),
    userAgent: Type.String(),
    current: Type.Boolean({ description: 'Whether it is the session of this call.' }),
  },
  { title: 'Session' },
)

export const SessionPage = Type.Object(
  { sessions: Type.Array(Session), ...PageReply },
  { title: 'SessionPage' },
)

/** The endpoints of sessions that exist; those that create one are the ways to sign in. */
export function sessionEndpoints(sessions: Sessions) {
  return {
    refresh: endpoint(
      {
        summary: 'Exchange a refresh token for a new pair of tokens',
        description:
          'A refresh token is single-use. If it is used again after 10 seconds, its session is revoked, unless its successor was never used: that is answered again.',
        access: 'public',
        limit: '60/min',
        body: json(
          Type.Object(
            {
              refreshToken: Type.String({
                maxLength: 1000,
                examples: ['the refreshToken of the last answer'],
              }),
            },
            { title: 'RefreshRequest' },
          ),
        ),
        reply: { 200: Type.Object(Tokens, { title: 'Tokens' }) },
        errors: [errors.unauthorized, authErrors.second_factor_required],
      },
      async ({ body, ip, userAgent }) =>
        answer(await sessions.refresh(body.refreshToken, { ip, userAgent }), { headers: UNCACHED }),
    ),
    logOut: endpoint(
      { summary: 'Sign out', access: 'session', reply: { 200: Message } },
      async ({ caller, record }) => {
        await sessions.revoke(caller, caller.sessionId)
        record('sign-out', { account: caller.id, session: caller.sessionId })
        return { message: 'You are signed out.' }
      },
    ),
    list: endpoint(
      {
        summary: 'List sessions, newest first',
        access: 'session',
        query: Type.Object(PageQuery),
        reply: { 200: SessionPage },
      },
      async ({ caller, query }) => {
        const page = pageOf(query)
        return { ...(await sessions.list(caller, page)), limit: page.limit, offset: page.offset }
      },
    ),
    revoke: endpoint(
      {
        summary: 'Revoke a session',
        description:
          'Another session than that of the call requires a proof within the last 10 minutes: a sign-in, or `POST /auth/confirm`.',
        access: 'session',
        params: Type.Object({ id: Type.String({ examples: ['01arz3ndektsv4rrffq69g5fav'] }) }),
        reply: { 200: Message },
        errors: [errors.not_found, errors.recent_sign_in_required],
      },
      async ({ caller, params, record }) => {
        if (!(await sessions.revoke(caller, params.id)))
          throw errors.not_found({ message: 'You have no session with this id.' })
        record('session-revoked', { account: caller.id, session: params.id })
        return { message: 'The session is revoked.' }
      },
    ),
    revokeOthers: endpoint(
      {
        summary: 'Revoke all other sessions',
        access: 'session',
        proof: 'recent',
        reply: { 200: Message },
      },
      async ({ caller, record }) => {
        const count = await sessions.revokeOthers(caller)
        record('sessions-revoked', { account: caller.id })
        return { message: `${count} other session${count === 1 ? ' is' : 's are'} revoked.` }
      },
    ),
  }
}
