import { errors } from '../../../../base/errors.ts'
import { Type } from '../../../../base/schema.ts'
import { pageOf, PageQuery } from '../../../../http/page.ts'
import { endpoint } from '../../../../http/route.ts'
import { Message } from '../schemas.ts'
import { SessionPage } from '../session-endpoints.ts'
import type { Accounts } from '../../administration/accounts.ts'
import { UserId } from './user-schemas.ts'

const SessionId = Type.Object({
  ...UserId.properties,
  sid: Type.String({ examples: ['01arz3ndektsv4rrffq69g5fav'] }),
})

/** The endpoints of the sessions of any user. */
export const userSessionEndpoints = ({ accounts }: { accounts: Accounts }) => ({
  list: endpoint(
    {
      summary: 'List the sessions of a user, newest first',
      access: 'operator',
      params: UserId,
      query: Type.Object(PageQuery),
      reply: { 200: SessionPage },
      errors: [errors.not_found],
    },
    async ({ params: { id }, query }) => {
      const page = pageOf(query)
      return { ...(await accounts.sessions({ id }, page)), limit: page.limit, offset: page.offset }
    },
  ),
  end: endpoint(
    {
      summary: 'Revoke a session of a user',
      access: 'operator',
      params: SessionId,
      reply: { 200: Message },
      errors: [errors.not_found],
    },
    async ({ params: { id, sid }, actor }) => {
      await accounts.endSession({ id }, sid, actor)
      return { message: 'The session is revoked.' }
    },
  ),
  endAll: endpoint(
    {
      summary: 'Revoke all sessions of a user',
      access: 'operator',
      params: UserId,
      reply: { 200: Message },
      errors: [errors.not_found],
    },
    async ({ params: { id }, actor }) => {
      const count = await accounts.signOut({ id }, actor)
      return { message: `${count} session${count === 1 ? ' is' : 's are'} revoked.` }
    },
  ),
})
