import { Type } from '../../../base/schema.ts'
import { withRule } from '../../../base/with-rule.ts'
import { json } from '../../../http/bodies.ts'
import { answer, endpoint } from '../../../http/route.ts'
import { authErrors } from '../errors.ts'
import type { PasswordLogin } from '../sign-in/password-login.ts'
import { ownAddressFault, type Passwords } from '../accounts/passwords.ts'
import {
  Email,
  NewEmail,
  newPassword,
  Password,
  Tokens,
  UNCACHED,
  User,
  UserFields,
  userFieldsOf,
  userOf,
} from './schemas.ts'
import type { Sessions, TokenPair } from '../sessions/sessions.ts'
import type { SigningKeys } from '../sessions/signing-keys.ts'
import type { Users } from '../accounts/users.ts'

const LoginUser = Type.Object(UserFields, { title: 'LoginUser' })
const PublicKeyFields = {
  kty: Type.String(),
  crv: Type.String(),
  x: Type.String(),
  kid: Type.String(),
  use: Type.String(),
  alg: Type.String(),
}
const PublicKey = Type.Object(PublicKeyFields, { title: 'PublicKey' })

/** The endpoints of sign-in with a password, and of the keys that its tokens are verified with. */
export function signInEndpoints({
  users,
  sessions,
  passwords,
  passwordLogin,
  signingKeys,
  registration,
}: {
  users: Users
  sessions: Sessions
  passwords: Passwords
  passwordLogin: PasswordLogin
  signingKeys: SigningKeys
  registration: 'open' | 'closed'
}) {
  return {
    register: endpoint(
      {
        summary: 'Create an account and sign in',
        access: 'public',
        limit: '20/min',
        description:
          'A repetition with the same `Idempotency-Key` returns the same tokens for 60 seconds, unless the credentials have changed or the address is locked. After that it is a new registration and fails with `EMAIL_TAKEN`.',
        idempotent: {
          seconds: 60,
          async isCurrent({ token }: TokenPair) {
            const caller = await sessions.caller(token)
            return caller !== undefined && (await passwordLogin.findUnchanged(caller.id)) !== undefined
          },
        },
        body: json(
          withRule(
            Type.Object(
              {
                email: NewEmail,
                password: newPassword(passwords),
                name: Type.Optional(Type.String({ maxLength: 200, examples: ['Ada Lovelace'] })),
              },
              { title: 'RegisterRequest' },
            ),
            ({ email, password }) => {
              const message = [email, password].every((one) => typeof one === 'string')
                ? ownAddressFault(password, email)
                : undefined
              return message === undefined ? undefined : { path: '/password', message }
            },
          ),
        ),
        reply: { 201: Type.Object({ user: User, ...Tokens }, { title: 'Registration' }) },
        errors: [authErrors.registration_closed, authErrors.email_taken],
      },
      async ({ body, recordId, ip, userAgent, actor, record }) => {
        if (registration === 'closed') throw authErrors.registration_closed()
        const user = await passwordLogin.register({ ...body, id: recordId })
        record('account-created', { account: user.id, role: users.roleOf(user) })
        const tokens = await sessions.create(user, { ip, userAgent, actor, record, method: 'registration' })
        return answer({ user: userOf(user), ...tokens }, { headers: UNCACHED })
      },
    ),
    logIn: endpoint(
      {
        summary: 'Sign in with email and password',
        description:
          'After too many failed attempts the address is locked: until the lock expires, the right password is answered with 423 too.',
        access: 'public',
        limit: '30/min',
        body: json(Type.Object({ email: Email, password: Password }, { title: 'LoginRequest' })),
        reply: { 200: Type.Object({ user: LoginUser, ...Tokens }, { title: 'Login' }) },
        errors: [
          authErrors.invalid_credentials,
          authErrors.second_factor_required,
          authErrors.account_locked,
        ],
      },
      async ({ body, ip, userAgent, actor, record }) => {
        const user = await passwordLogin.verifyCredentials(body.email, body.password, { actor, record })
        if (!user) throw authErrors.invalid_credentials()
        const tokens = await sessions.create(user, { ip, userAgent, actor, record, method: 'password' })
        return answer({ user: userFieldsOf(user), ...tokens }, { headers: UNCACHED })
      },
    ),
    listPublicKeys: endpoint(
      {
        summary: 'List the public keys of access tokens',
        description:
          'A JSON Web Key Set (RFC 7517). A key is published an hour before it signs, and until its last token has expired.',
        access: 'public',
        limit: '600/min',
        reply: { 200: Type.Object({ keys: Type.Array(PublicKey) }, { title: 'PublicKeySet' }) },
      },
      async () =>
        answer(
          { keys: await signingKeys.published() },
          { headers: { 'cache-control': 'public, max-age=300' } },
        ),
    ),
  }
}
