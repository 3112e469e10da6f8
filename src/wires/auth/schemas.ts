// The schemas that several route files of this wire share.
import { isoTime } from '../../base/clock.ts'
import { addressFault } from '../../base/email-address.ts'
import { Type } from '../../base/schema.ts'
import { withRule } from '../../base/with-rule.ts'
import type { Passwords } from './passwords/passwords.ts'
import type { UserRow } from './users.ts'

// Tokens must not be cached on the way (RFC 6749, section 5.1).
export const UNCACHED = { 'cache-control': 'no-store' }

export const Email = Type.String({ maxLength: 1000, format: 'email', examples: ['ada@example.com'] })
/** The address of an account that may be created; that of a sign-in is only compared. */
export const NewEmail = withRule(Email, addressFault)
const PASSWORD = { maxLength: 1000, format: 'password' }
export const Password = Type.String({ ...PASSWORD, examples: ['correct horse battery'] })
export const newPassword = (passwords: Passwords, example = 'correct horse battery') =>
  withRule(Type.String({ ...PASSWORD, examples: [example] }), (password) => passwords.fault(password))
export const Time = Type.String({ format: 'date-time', description: 'ISO 8601, UTC.' })
export const Message = Type.Object({ message: Type.String() }, { title: 'Confirmation' })

/** The fields that every answer with a user has. */
export const UserFields = {
  _id: Type.String(),
  email: Type.String({ format: 'email' }),
  name: Type.Optional(Type.String({ description: 'Absent if the user has none.' })),
}
export const userFieldsOf = ({ id, email, name }: UserRow) => ({
  _id: id,
  email,
  ...(name !== null && { name }),
})

export const User = Type.Object({ ...UserFields, createdAt: Time }, { title: 'User' })
export const userOf = (user: UserRow) => ({ ...userFieldsOf(user), createdAt: isoTime(user.created_at) })

export const Tokens = {
  token: Type.String({ description: 'The access token, a JWT: sent as "Authorization: Bearer <token>".' }),
  refreshToken: Type.String({
    description: 'Single-use; exchange it for a new pair at POST /auth/refresh.',
  }),
}
