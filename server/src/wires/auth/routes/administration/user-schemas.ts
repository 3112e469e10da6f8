// What the routes of accounts answer.
import { Type } from '../../../../base/schema.ts'
import { Time, UserFields } from '../schemas.ts'
import type { Account } from '../../administration/account.ts'
import type { AccountDetails } from '../../administration/account-details.ts'
import type { ListedAccount } from '../../administration/account-search.ts'

export const UserId = Type.Object({ id: Type.String({ examples: ['01arz3ndektsv4rrffq69g5fav'] }) })
export const RoleName = Type.Enum(['user', 'viewer', 'admin'], {
  description:
    '`viewer` reads what an administrator reads, nothing sealed, and changes nothing. With `SIXWIRE_ADMINS`.',
})
export const Metadata = Type.Record(Type.String(), Type.Unknown(), { examples: [{ plan: 'trial' }] })

const SummaryFields = {
  ...UserFields,
  role: RoleName,
  emailVerified: Type.Boolean(),
  disabled: Type.Boolean(),
  locked: Type.Boolean({ description: 'Whether the address accepts no password now.' }),
  createdAt: Time,
  lastSignInAt: Type.Optional(Time),
}

/** A user in a list. */
export const UserSummary = Type.Object(SummaryFields, { title: 'UserSummary' })

/** A user with what they sign in with. */
export const UserDetails = Type.Object(
  {
    ...SummaryFields,
    metadata: Metadata,
    phone: Type.Optional(Type.String({ description: 'In E.164.' })),
    hasPassword: Type.Boolean(),
    factors: Type.Object({
      passkeys: Type.Integer(),
      totp: Type.Boolean(),
      recoveryCodes: Type.Integer({ description: 'How many are unused.' }),
    }),
    identities: Type.Array(Type.Object({ issuer: Type.String(), subject: Type.String(), createdAt: Time }), {
      description: 'At identity providers.',
    }),
    sessions: Type.Integer({ description: 'How many have not expired.' }),
  },
  { title: 'UserDetails' },
)

export const UserDetailsReply = Type.Object({ user: UserDetails }, { title: 'UserDetailsReply' })

const fieldsOf = ({ id, email, name, role, emailVerified, disabled, createdAt }: Account) => ({
  _id: id,
  email,
  ...(name !== null && { name }),
  role,
  emailVerified,
  disabled,
  createdAt,
})

const signInOf = (lastSignInAt: string | null) => (lastSignInAt === null ? {} : { lastSignInAt })

export const summaryOf = ({ locked, lastSignInAt, ...account }: ListedAccount) => ({
  ...fieldsOf(account),
  locked,
  ...signInOf(lastSignInAt),
})

export const detailsReplyOf = ({ phone, lastSignInAt, ...account }: AccountDetails) => {
  const { metadata, locked, hasPassword, factors, identities, sessions } = account
  return {
    user: {
      ...fieldsOf(account),
      metadata,
      locked,
      hasPassword,
      factors,
      identities,
      sessions,
      ...(phone !== null && { phone }),
      ...signInOf(lastSignInAt),
    },
  }
}
