import { errors } from '../../../../base/errors.ts'
import { Type } from '../../../../base/schema.ts'
import { json } from '../../../../http/bodies.ts'
import { answer, endpoint } from '../../../../http/route.ts'
import { requireProof } from '../../../../kernel/policy/policy.ts'
import { Message, Time, UNCACHED } from '../schemas.ts'
import type { Accounts } from '../../administration/accounts.ts'
import { requireAdministrator } from './administrator.ts'
import { UserId } from './user-schemas.ts'

/** The endpoints by which operators help users to sign in, and act as them. */
export const userActionEndpoints = ({ accounts }: { accounts: Accounts }) => ({
  unlock: endpoint(
    {
      summary: 'Unlock a user',
      description: 'Clears the count of wrong passwords and codes: the address accepts the password again.',
      access: 'operator',
      params: UserId,
      reply: { 200: Message },
      errors: [errors.not_found],
    },
    async ({ params: { id }, actor }) => {
      const { email } = await accounts.unlock({ id }, actor)
      return { message: `${email} is unlocked.` }
    },
  ),
  reset: endpoint(
    {
      summary: 'Send a user a link to reset the password',
      access: 'operator',
      params: UserId,
      reply: { 202: Message },
      errors: [errors.not_found, errors.conflict, errors.provider_not_configured],
    },
    async ({ params: { id }, actor }) => {
      const { email } = await accounts.sendReset({ id }, actor)
      return { message: `A link to reset the password is being sent to ${email}.` }
    },
  ),
  invite: endpoint(
    {
      summary: 'Invite a user again',
      description:
        'Sends another link to set a password to a user who has none yet. An earlier link is void then.',
      access: 'operator',
      params: UserId,
      reply: { 202: Message },
      errors: [errors.not_found, errors.conflict, errors.provider_not_configured],
    },
    async ({ params: { id }, actor }) => {
      const { email } = await accounts.invite({ id }, actor)
      return { message: `An invitation is being sent to ${email}.` }
    },
  ),
  verify: endpoint(
    {
      summary: 'Mark the address of a user as verified',
      description:
        'Without an email: make sure that the address is theirs. One of `SIXWIRE_ADMINS` is verified by administrators only, with a proof within the last 10 minutes.',
      access: 'operator',
      params: UserId,
      reply: { 200: Message },
      errors: [errors.not_found, errors.recent_sign_in_required],
    },
    async ({ params: { id }, caller, actor }) => {
      // It gives the role.
      if (await accounts.isNamedAdmin({ id })) requireProof(requireAdministrator(caller))
      const { email } = await accounts.verify({ id }, actor)
      return { message: `${email} is verified.` }
    },
  ),
  impersonate: endpoint(
    {
      summary: 'Act as a user',
      description:
        'Creates a session of its own kind, for 15 minutes and without a refresh token, which only reads unless `readOnly` is false. It proves nothing: it can change no password, factor or address. It is in the audit log with the reason, ends if the administrator loses the role, and never is of another administrator or viewer.',
      access: 'operator',
      proof: 'recent',
      sealed: true,
      params: UserId,
      body: json(
        Type.Object(
          {
            reason: Type.String({
              minLength: 3,
              maxLength: 500,
              pattern: '\\S',
              description: 'For the audit log.',
              examples: ['Ticket 4711: an order is missing'],
            }),
            readOnly: Type.Optional(Type.Boolean({ default: true })),
          },
          { title: 'ImpersonationRequest' },
        ),
      ),
      reply: {
        201: Type.Object(
          {
            token: Type.String({
              description: 'An access token, with the administrator in the claim `act` (RFC 8693).',
            }),
            user: Type.Object({ _id: Type.String(), email: Type.String() }),
            sessionId: Type.String(),
            readOnly: Type.Boolean(),
            expiresAt: Time,
          },
          { title: 'Impersonation' },
        ),
      },
      errors: [errors.not_found, errors.conflict],
    },
    async ({ params: { id }, body, caller, actor }) => {
      const { account, ...session } = await accounts.impersonate(
        { id },
        { reason: body.reason.trim(), readOnly: body.readOnly },
        requireAdministrator(caller),
        actor,
      )
      return answer({ ...session, user: { _id: account.id, email: account.email } }, { headers: UNCACHED })
    },
  ),
})
