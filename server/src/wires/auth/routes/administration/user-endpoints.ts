import type { Static } from 'typebox'

import { errors } from '../../../../base/errors.ts'
import { Type } from '../../../../base/schema.ts'
import { json } from '../../../../http/bodies.ts'
import { countedFor } from '../../../../http/limits.ts'
import { pageOf, PageQuery, PageReply, SORTED_POSITION, sortQuery } from '../../../../http/page.ts'
import { endpoint } from '../../../../http/route.ts'
import { CreatedQuery, TimeFilter, timesOf } from '../../../../http/time-query.ts'
import { requireProof } from '../../../../kernel/policy/policy.ts'
import { authErrors } from '../../errors.ts'
import { Message, NewEmail, newPassword } from '../schemas.ts'
import type { AdministrationParts } from '../../administration/account.ts'
import { createAccountAggregates } from '../../administration/account-aggregates.ts'
import { accountConditions, USER_STATES } from '../../administration/account-search.ts'
import type { Accounts } from '../../administration/accounts.ts'
import { requireAdministrator } from './administrator.ts'
import {
  detailsReplyOf,
  Metadata,
  RoleName,
  summaryOf,
  UserDetailsReply,
  UserId,
  UserSummary,
} from './user-schemas.ts'

/** A user as one of several. */
const ID = '[A-Za-z0-9_-]{1,64}'
const IDS_MAX = 100

/** What accounts are filtered by. */
const UserFilters = {
  q: Type.Optional(
    Type.String({
      maxLength: 200,
      description: 'A part of the address or the name. Case does not matter.',
      examples: ['ada'],
    }),
  ),
  role: Type.Optional(RoleName),
  state: Type.Optional(Type.Enum([...USER_STATES])),
  ids: Type.Optional(
    Type.String({
      pattern: `^${ID}(,${ID}){0,${IDS_MAX - 1}}$`,
      description: `The _ids of up to ${IDS_MAX} users, separated by commas; those of no user are left out.`,
    }),
  ),
  ...CreatedQuery,
  activeSince: TimeFilter('Signed in, or stayed signed in, at this time or later, to the hour; of 181 days.'),
  activeUntil: TimeFilter('The same, before this time.'),
}

/** @throws VALIDATION_ERROR */
function filterOf({
  ids,
  q,
  role,
  state,
  ...query
}: Static<ReturnType<typeof Type.Object<typeof UserFilters>>>) {
  const times = timesOf(query, 'since', 'until', 'activeSince', 'activeUntil')
  return { q, role, state, ids: ids?.split(','), ...times }
}

const Name = Type.Union([Type.String({ maxLength: 200 }), Type.Null()], { examples: ['Ada Lovelace'] })

/** The endpoints by which operators list, create, change and delete accounts. */
export function userEndpoints({
  accounts,
  passwords,
  ...parts
}: { accounts: Accounts } & Pick<AdministrationParts, 'db' | 'users' | 'lock' | 'passwords'>) {
  const aggregates = createAccountAggregates(parts)
  return {
    list: endpoint(
      {
        summary: 'List users',
        description:
          '`active` are enabled users with a verified address; `locked` are those whose address accepts no password now, because of too many wrong ones.',
        access: 'operator',
        query: Type.Object({
          ...PageQuery,
          ...sortQuery('lastSignInAt', 'email', 'name'),
          ...UserFilters,
        }),
        reply: { 200: Type.Object({ users: Type.Array(UserSummary), ...PageReply }, { title: 'UserPage' }) },
      },
      async ({ query }) => {
        const page = pageOf(query, SORTED_POSITION)
        const { accounts: matches, ...rest } = await accounts.list({ ...page, ...filterOf(query) })
        return { users: matches.map(summaryOf), ...rest, limit: page.limit, offset: page.offset }
      },
    ),
    aggregate: endpoint(
      {
        summary: 'Aggregate users',
        description:
          'Groups the accounts that the filters find, and counts each group. `issuer` is the first identity provider of an account, `role` includes `SIXWIRE_ADMINS`. A query that takes too long is stopped, and answered 503.',
        access: 'operator',
        readsOnly: true,
        query: Type.Object({ ...aggregates.query, ...UserFilters }, { additionalProperties: false }),
        reply: { 200: aggregates.reply },
      },
      ({ query, caller, ip, signal }) =>
        aggregates.read(query, {
          conditions: accountConditions(parts, filterOf(query)),
          options: { caller: countedFor({ caller, ip }), signal },
        }),
    ),
    create: endpoint(
      {
        summary: 'Create a user',
        description:
          'Without a `password` the user is invited: an email has a link to set one, which verifies the address and works for a week (`auth.invitationSeconds`). With one the address counts as verified, unless `verified` is false: then the link to verify it is sent. A role, also one by `SIXWIRE_ADMINS`, is given by administrators only, with a proof within the last 10 minutes.',
        access: 'operator',
        idempotent: true,
        body: json(
          Type.Object(
            {
              email: NewEmail,
              name: Type.Optional(Type.String({ maxLength: 200, examples: ['Ada Lovelace'] })),
              password: Type.Optional(newPassword(passwords)),
              role: Type.Optional(RoleName),
              verified: Type.Optional(Type.Boolean()),
            },
            // A hash would be left out without a word: POST /auth/users/import takes it.
            { title: 'CreateUserRequest', additionalProperties: false },
          ),
        ),
        reply: { 201: UserDetailsReply },
        errors: [authErrors.email_taken, errors.provider_not_configured, errors.recent_sign_in_required],
      },
      async ({ body: { verified, ...account }, caller, actor, recordId }) => {
        const isPromoted = account.role !== undefined && account.role !== 'user'
        if (isPromoted || (await accounts.isNamedAdmin(account.email)))
          requireProof(requireAdministrator(caller))
        const { id } = await accounts.create({ ...account, id: recordId, isVerified: verified }, actor)
        return detailsReplyOf(await accounts.details({ id }))
      },
    ),
    get: endpoint(
      {
        summary: 'Get a user',
        access: 'operator',
        params: UserId,
        reply: { 200: UserDetailsReply },
        errors: [errors.not_found],
      },
      async ({ params: { id } }) => detailsReplyOf(await accounts.details({ id })),
    ),
    update: endpoint(
      {
        summary: 'Update a user',
        description:
          'Fields that are left out stay. A `role` and an `email` are set by administrators only, with a proof within the last 10 minutes; for an `email` that is a second factor if the administrator has one. Another address is not verified, and gets the link to verify it; links and codes that were sent to the old one are void, sessions stay, and the old address is told if it was verified. Disabling ends all sessions and prevents new ones. The last administrator keeps the role and stays enabled. Metadata is merged at the top level: null removes a field.',
        access: 'operator',
        params: UserId,
        body: json(
          Type.Object(
            {
              email: Type.Optional(NewEmail),
              name: Type.Optional(Name),
              metadata: Type.Optional(Metadata),
              role: Type.Optional(RoleName),
              disabled: Type.Optional(Type.Boolean()),
            },
            { title: 'UpdateUserRequest' },
          ),
          { maxBytes: 100_000 },
        ),
        reply: { 200: UserDetailsReply },
        errors: [errors.not_found, errors.conflict, authErrors.email_taken, errors.recent_sign_in_required],
      },
      async ({ params: { id }, body: { email, name, metadata, role, disabled }, caller, actor }) => {
        if (role !== undefined) requireProof(requireAdministrator(caller))
        // A reset by the new address opens the account, and while that is not verified, removes the second factors.
        if (email !== undefined) requireProof(requireAdministrator(caller))
        await accounts.update({ id }, { email, name, metadata, role, disabled }, actor)
        return detailsReplyOf(await accounts.details({ id }))
      },
    ),
    remove: endpoint(
      {
        summary: 'Delete a user',
        description:
          'With all sessions and everything to sign in with. What the other wires have of the person is erased soon after, in the background: `GET /auth/users/:id/deletion` says beforehand what goes and what stays. The last administrator cannot be deleted, nor can administrators delete themselves here.',
        access: 'operator',
        proof: 'recent',
        params: UserId,
        reply: { 200: Message },
        errors: [errors.not_found, errors.conflict],
      },
      async ({ params: { id }, actor }) => {
        const { email } = await accounts.delete({ id }, actor)
        return { message: `The account of ${email} is deleted.` }
      },
    ),
  }
}
