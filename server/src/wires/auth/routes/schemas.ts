// The schemas that several route files of this wire share.
import { isoTime } from '../../../base/clock.ts'
import { addressFault } from '../../../base/email-address.ts'
import { Type } from '../../../base/schema.ts'
import { withRule } from '../../../base/with-rule.ts'
import { phoneFault } from '../../messaging/index.ts'
import type { Passwords } from '../accounts/passwords.ts'
import { sixDigits } from '../six-digits.ts'
import type { UserRow } from '../accounts/user.ts'

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
/** What the answer of a sign-in without a password has of the user. */
export const MagicLinkUser = Type.Object(
  { _id: Type.String(), email: Type.String() },
  { title: 'MagicLinkUser' },
)
export const Browser = Type.String({
  minLength: 16,
  maxLength: 100,
  description:
    'A random text that the browser keeps, such as `crypto.randomUUID()`: what was requested with it is used in the same browser.',
  examples: ['9b2f1c7e-5d0a-4c4e-8a53-0f6f2f3f7f10'],
})
export const Phone = withRule(
  Type.String({ maxLength: 20, description: 'In E.164.', examples: ['+4915112345678'] }),
  phoneFault,
)
export const Code = withRule(
  Type.String({
    maxLength: 20,
    description: 'Six digits, of any script, also with a space or hyphen between them.',
    examples: ['123456'],
  }),
  (code) => (sixDigits(code) === undefined ? 'It must be six digits.' : undefined),
)
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
