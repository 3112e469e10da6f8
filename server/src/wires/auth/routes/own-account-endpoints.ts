import { json } from '../../../http/bodies.ts'
import type { UserCaller } from '../../../http/access.ts'
import { endpoint } from '../../../http/route.ts'
import { requireProof } from '../../../kernel/policy/policy.ts'
import { errors } from '../../../base/errors.ts'
import { parseJson } from '../../../base/json.ts'
import { Type } from '../../../base/schema.ts'
import { authErrors } from '../errors.ts'
import type { OwnAccount } from '../administration/own-account.ts'
import type { PasswordLogin } from '../sign-in/password-login.ts'
import type { Passwords } from '../accounts/passwords.ts'
import { Message, newPassword, Password, Time, UserFields, userOf } from './schemas.ts'
import type { Phones } from '../messages/phones.ts'
import type { UserRow } from '../accounts/user.ts'
import type { Users } from '../accounts/users.ts'

const Metadata = Type.Record(Type.String(), Type.Unknown(), { examples: [{ theme: 'dark' }] })
const Me = Type.Object(
  {
    ...UserFields,
    createdAt: Time,
    emailVerified: Type.Boolean(),
    metadata: Type.Record(Type.String(), Type.Unknown()),
    role: Type.Enum(['user', 'viewer', 'admin']),
    phone: Type.Optional(
      Type.String({ description: 'The number for codes by SMS, in E.164. Absent if the user has none.' }),
    ),
  },
  { title: 'Me' },
)
const Account = Type.Object({ user: Me }, { title: 'Account' })

async function meOf(user: UserRow, { emailVerified, role }: UserCaller, phones: Phones) {
  const phone = await phones.of(user.id)
  return {
    ...userOf(user),
    emailVerified,
    metadata: parseJson(user.metadata) as Record<string, unknown>,
    role,
    ...(phone !== undefined && { phone }),
  }
}

/** The endpoints of the signed-in user's own account. */
export function ownAccountEndpoints({
  users,
  account,
  passwords,
  passwordLogin,
  phones,
}: {
  users: Users
  account: OwnAccount
  passwords: Passwords
  passwordLogin: PasswordLogin
  phones: Phones
}) {
  return {
    get: endpoint(
      {
        summary: 'Retrieve the signed-in user',
        access: 'session',
        reply: { 200: Account },
      },
      async ({ caller }) => {
        const user = await users.byId(caller.id)
        if (!user) throw errors.unauthorized()
        return { user: await meOf(user, caller, phones) }
      },
    ),
    update: endpoint(
      {
        summary: 'Update the name and metadata of the signed-in user',
        description:
          'Fields that are left out stay. Metadata is merged at the top level: null removes a field, and nested objects are replaced whole. All metadata together may have 16 KiB as JSON.',
        access: 'session',
        // 16 KiB of metadata: a client may escape a character of 2 bytes as \uXXXX, which has 6
        body: json(
          Type.Object(
            {
              name: Type.Optional(
                Type.Union([Type.String({ maxLength: 200 }), Type.Null()], { examples: ['Ada Lovelace'] }),
              ),
              metadata: Type.Optional(Metadata),
            },
            { title: 'UpdateAccountRequest' },
          ),
          { maxBytes: 100_000 },
        ),
        reply: { 200: Account },
      },
      async ({ body, caller }) => ({
        user: await meOf(await account.update(caller, body), caller, phones),
      }),
    ),
    remove: endpoint(
      {
        summary: 'Delete the account of the signed-in user',
        description:
          'Requires the password, or a proof within the last 10 minutes by a sign-in or `POST /auth/confirm`; of an account with a second factor, a recent proof of that. What the other wires have of the person is erased soon after, in the background: `GET /auth/me/deletion` says beforehand what goes and what stays.',
        access: 'session',
        body: json(Type.Object({ password: Type.Optional(Password) }, { title: 'DeleteAccountRequest' })),
        reply: { 200: Message },
        errors: [authErrors.invalid_credentials, authErrors.account_locked, errors.recent_sign_in_required],
      },
      async ({ body, caller, actor, record }) => {
        await account.delete(caller, body.password, { actor, record })
        return { message: 'The account is deleted.' }
      },
    ),
    changePassword: endpoint(
      {
        summary: 'Change the password and revoke all other sessions',
        description:
          'Requires the current password, and of an account with a second factor a proof of that within the last 10 minutes.',
        access: 'session',
        body: json(
          Type.Object(
            {
              currentPassword: Password,
              newPassword: newPassword(passwords, 'another correct horse'),
            },
            { title: 'ChangePasswordRequest' },
          ),
        ),
        reply: { 200: Message },
        errors: [authErrors.invalid_credentials, authErrors.account_locked, errors.recent_sign_in_required],
      },
      async ({ body, caller, actor, record }) => {
        if (caller.hasFactor) requireProof(caller)
        await passwordLogin.changePassword(caller, body, { actor, record })
        return { message: 'The password is changed, and all other sessions are revoked.' }
      },
    ),
  }
}
