import { Type } from '../../../base/schema.ts'

import { parseAddress } from '../../../base/email-address.ts'
import { errors } from '../../../base/errors.ts'
import { json } from '../../../http/bodies.ts'
import { endpoint } from '../../../http/route.ts'
import type { AccountMails } from '../messages/account-mails.ts'
import { LinkToken } from './mail-endpoints.ts'
import { authErrors } from '../errors.ts'
import { Message, NewEmail } from './schemas.ts'
import { optionalCaller, OptionalToken } from './optional-token.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { Users } from '../accounts/users.ts'
import type { AddressChangeMails } from '../messages/address-change-mails.ts'
import type { AddressChanges } from '../sign-in/address-changes.ts'

/** The endpoints that change the address of an account, and undo it. */
export function addressChangeEndpoints({
  users,
  mails,
  addressChangeMails,
  addressChanges,
  sessions,
}: {
  users: Users
  mails: AccountMails
  addressChangeMails: AddressChangeMails
  addressChanges: AddressChanges
  sessions: Sessions
}) {
  return {
    request: endpoint(
      {
        summary: 'Send an email to a new address, with a link that changes the address of the account',
        description:
          'The link is valid for 24 hours, and voids earlier ones. The answer is the same whether or not the address has an account, which gets no email. The address of the account is told if it is verified. An account and an address get 5 of these emails at once, then one every 12 minutes.',
        access: 'session',
        proof: 'recent',
        limit: '20/min',
        idempotent: true,
        body: json(Type.Object({ email: NewEmail }, { title: 'ChangeEmailRequest' })),
        reply: { 200: Message },
        errors: [errors.provider_not_configured],
      },
      async ({ body, caller, recordId }) => {
        mails.requireProvider()
        const email = parseAddress(body.email, '/body/email')
        const user = await users.byId(caller.id)
        if (!user) throw errors.unauthorized()
        await addressChangeMails.request(recordId, user, email)
        return {
          message: `If ${email.address} can be used, an email with a link is sent to it: the account keeps its address until the link is followed.`,
        }
      },
    ),
    verify: endpoint(
      {
        summary: 'Change the address of an account with the token of an email',
        description:
          'Sessions stay, and links that were sent to the old address are void. If the old address was verified, it gets an email with a link to undo the change, and no other account can have it for 72 hours. An address that `SIXWIRE_ADMINS` names requires an access token of the account.',
        access: 'public',
        limit: '30/min',
        body: json(LinkToken),
        headers: OptionalToken,
        reply: { 200: Message },
        errors: [authErrors.invalid_token, authErrors.email_taken, errors.unauthorized],
      },
      async ({ body, headers, record }) => {
        const signedIn = await optionalCaller(sessions, headers)
        const user = await addressChanges.verify(body.token, signedIn?.id)
        record('address-changed', { account: user.id, role: users.roleOf(user) })
        return { message: `The address of the account is ${user.email} now.` }
      },
    ),
    undo: endpoint(
      {
        summary: 'Undo a change of address with the token of the email to the old address',
        description:
          'Within 72 hours of the change. The account has its old address again; all sessions are revoked; the password is removed, and so are passkeys, authenticator apps, trusted devices, a phone number and sign-ins through providers that were added since, and all recovery codes. Later changes of the address cannot be undone then.',
        access: 'public',
        limit: '30/min',
        body: json(LinkToken),
        reply: { 200: Message },
        errors: [authErrors.invalid_token],
      },
      async ({ body, record }) => {
        const user = await addressChanges.undo(body.token)
        record('address-restored', { account: user.id, role: users.roleOf(user) })
        return {
          message: `The address of the account is ${user.email} again, and all sessions are revoked: request a link to set another password.`,
        }
      },
    ),
  }
}
