import { Type } from '../../base/schema.ts'

import { isoTime } from '../../base/clock.ts'
import { withRule } from '../../base/with-rule.ts'
import { addressFault } from '../../base/email-address.ts'
import { errors } from '../../base/errors.ts'
import { parseJson } from '../../base/json.ts'
import { json } from '../../http/bodies.ts'
import { pageOf, PageQuery, PageReply } from '../../http/page.ts'
import type { UserCaller } from '../../http/access.ts'
import { healthRoute, healthStatus } from '../../http/health-route.ts'
import { answer, route } from '../../http/route.ts'
import { authErrors } from './errors.ts'
import type { OwnAccount } from './own-account.ts'
import type { PasswordLogin } from './passwords/password-login.ts'
import { ownAddressFault, type Passwords } from './passwords/passwords.ts'
import type { Sessions, Tokens as TokenPair } from './sessions/sessions.ts'
import type { SigningKeys } from './sessions/signing-keys.ts'
import type { UserRow, Users } from './users.ts'

// Tokens are for the client alone, never for a cache on the way (RFC 6749, section 5.1).
export const UNCACHED = { 'cache-control': 'no-store' }

const Email = Type.String({ maxLength: 1000, format: 'email', examples: ['ada@example.com'] })
/** Of an account that may be made; that of a sign-in is only compared. */
export const NewEmail = withRule(Email, addressFault)
const PASSWORD = { maxLength: 1000, format: 'password' }
const Password = Type.String({ ...PASSWORD, examples: ['correct horse battery'] })
export const newPassword = (passwords: Passwords, example = 'correct horse battery') =>
  withRule(Type.String({ ...PASSWORD, examples: [example] }), (password) => passwords.fault(password))
const Time = Type.String({ format: 'date-time', description: 'ISO 8601, UTC.' })
const Metadata = Type.Record(Type.String(), Type.Unknown(), { examples: [{ theme: 'dark' }] })
export const Message = Type.Object({ message: Type.String() }, { title: 'Confirmation' })

const AccountName = {
  _id: Type.String(),
  email: Type.String({ format: 'email' }),
  name: Type.Optional(Type.String({ description: 'Only where the user has one.' })),
}
const LoginUser = Type.Object(AccountName, { title: 'LoginUser' })
const User = Type.Object({ ...AccountName, createdAt: Time }, { title: 'User' })
const MeFields = {
  ...AccountName,
  createdAt: Time,
  emailVerified: Type.Boolean(),
  metadata: Type.Record(Type.String(), Type.Unknown()),
  role: Type.Enum(['user', 'admin']),
}
const Me = Type.Object(MeFields, { title: 'Me' })
export const Tokens = {
  token: Type.String({ description: 'The access token, a JWT: sent as "Authorization: Bearer <token>".' }),
  refreshToken: Type.String({
    description: 'Single-use; exchange it for a new pair at POST /auth/refresh.',
  }),
}
const SessionFields = {
  _id: Type.String(),
  createdAt: Time,
  lastUsedAt: Type.String({ format: 'date-time', description: 'When it was signed in or last refreshed.' }),
  expiresAt: Time,
  ip: Type.String(),
  userAgent: Type.String(),
  current: Type.Boolean({ description: 'Whether this session asks.' }),
}
const Session = Type.Object(SessionFields, { title: 'Session' })
const HealthFields = { providers: Type.Array(Type.String(), { description: 'Ways to sign in.' }) }
const PublicKeyFields = {
  kty: Type.String(),
  crv: Type.String(),
  x: Type.String(),
  kid: Type.String(),
  use: Type.String(),
  alg: Type.String(),
}
const PublicKey = Type.Object(PublicKeyFields, { title: 'PublicKey' })

const loginUser = ({ id, email, name }: UserRow) => ({ _id: id, email, ...(name !== null && { name }) })
const userOf = (user: UserRow) => ({ ...loginUser(user), createdAt: isoTime(user.created_at) })

/** An account as its own user sees it. */
const meOf = (user: UserRow, { emailVerified, role }: UserCaller) => ({
  ...userOf(user),
  emailVerified,
  metadata: parseJson(user.metadata) as Record<string, unknown>,
  role,
})

/** Passwords, sessions and the own account, and what everybody may know of the wire. */
export function authRoutes({
  users,
  sessions,
  passwords,
  passwordLogin,
  account,
  signingKeys,
  registration,
  waysIn,
}: {
  users: Users
  sessions: Sessions
  passwords: Passwords
  passwordLogin: PasswordLogin
  account: OwnAccount
  signingKeys: SigningKeys
  registration: 'open' | 'closed'
  /** How people can sign in right now. */
  waysIn: () => string[]
}) {
  return [
    route(
      'POST /auth/register',
      {
        summary: 'Create an account and sign in',
        access: 'public',
        limit: '20/min',
        description:
          'Under an `Idempotency-Key` the tokens are answered again for 60 seconds, unless the account has changed or its address is locked; from then on it is a new registration, and the address is taken.',
        idempotent: {
          seconds: 60,
          async isCurrent({ token }: TokenPair) {
            const caller = await sessions.caller(token)
            return caller !== undefined && (await passwordLogin.asRegistered(caller.id)) !== undefined
          },
        },
        body: json(
          withRule(
            Type.Object({
              email: NewEmail,
              password: newPassword(passwords),
              name: Type.Optional(Type.String({ maxLength: 200, examples: ['Ada Lovelace'] })),
            }),
            ({ email, password }) => {
              const message = [email, password].every((one) => typeof one === 'string')
                ? ownAddressFault(password, email)
                : undefined
              return message === undefined ? undefined : { path: '/password', message }
            },
          ),
        ),
        reply: { 201: Type.Object({ user: User, ...Tokens }) },
        errors: [authErrors.registration_closed, authErrors.email_taken],
      },
      async ({ body, recordId, ip, userAgent }) => {
        if (registration === 'closed') throw authErrors.registration_closed()
        const user = await passwordLogin.register({ ...body, id: recordId })
        const tokens = await sessions.open(user, { ip, userAgent })
        return answer({ user: userOf(user), ...tokens }, { headers: UNCACHED })
      },
    ),
    route(
      'POST /auth/login',
      {
        summary: 'Sign in with email and password',
        description:
          'Failed attempts lock the address for a while: then also the right password answers 423.',
        access: 'public',
        limit: '30/min',
        body: json(Type.Object({ email: Email, password: Password })),
        reply: { 200: Type.Object({ user: LoginUser, ...Tokens }) },
        errors: [authErrors.invalid_credentials, authErrors.account_locked],
      },
      async ({ body, ip, userAgent }) => {
        const user = await passwordLogin.prove(body.email, body.password)
        const tokens = await sessions.open(user, { ip, userAgent })
        return answer({ user: loginUser(user), ...tokens }, { headers: UNCACHED })
      },
    ),
    route(
      'POST /auth/refresh',
      {
        summary: 'Exchange a refresh token for a new pair of tokens',
        description: 'A refresh token is single-use. One that was used before revokes its session.',
        access: 'public',
        limit: '60/min',
        body: json(
          Type.Object({
            refreshToken: Type.String({ maxLength: 1000, examples: ['the refreshToken of the last answer'] }),
          }),
        ),
        reply: { 200: Type.Object(Tokens, { title: 'Tokens' }) },
        errors: [errors.unauthorized],
      },
      async ({ body, ip, userAgent }) =>
        answer(await sessions.refresh(body.refreshToken, { ip, userAgent }), { headers: UNCACHED }),
    ),
    route(
      'GET /auth/me',
      { summary: 'Read the signed-in user', access: 'session', reply: { 200: Type.Object({ user: Me }) } },
      async ({ caller }) => {
        const user = await users.byId(caller.id)
        if (!user) throw errors.unauthorized()
        return { user: meOf(user, caller) }
      },
    ),
    route(
      'PATCH /auth/me',
      {
        summary: 'Change the name and metadata of the signed-in user',
        description:
          'What is left out stays. Fields of metadata replace those of the same name, and null removes one; nested objects are replaced whole. All metadata together may have 16 KiB as JSON.',
        access: 'session',
        // 16 KiB of metadata: a client may escape a character of 2 bytes as \uXXXX, which has 6
        body: json(
          Type.Object({
            name: Type.Optional(
              Type.Union([Type.String({ maxLength: 200 }), Type.Null()], { examples: ['Ada Lovelace'] }),
            ),
            metadata: Type.Optional(Metadata),
          }),
          { maxBytes: 100_000 },
        ),
        reply: { 200: Type.Object({ user: Me }) },
      },
      async ({ body, caller }) => ({ user: meOf(await account.change(caller, body), caller) }),
    ),
    route(
      'DELETE /auth/me',
      {
        summary: 'Delete the account of the signed-in user',
        description:
          'Needs the password where the account has one. What other wires keep of the user stays there without an owner.',
        access: 'session',
        body: json(Type.Object({ password: Type.Optional(Password) })),
        reply: { 200: Message },
        errors: [authErrors.invalid_credentials, authErrors.account_locked],
      },
      async ({ body, caller }) => {
        await account.remove(caller, body.password)
        return { message: 'The account is removed.' }
      },
    ),
    route(
      'POST /auth/logout',
      { summary: 'Sign out', access: 'session', reply: { 200: Message } },
      async ({ caller }) => {
        await sessions.end(caller.id, caller.sessionId)
        return { message: 'You are signed out.' }
      },
    ),
    route(
      'POST /auth/change-password',
      {
        summary: 'Change the password and revoke all other sessions',
        access: 'session',
        body: json(
          Type.Object({
            currentPassword: Password,
            newPassword: newPassword(passwords, 'another correct horse'),
          }),
        ),
        reply: { 200: Message },
        errors: [authErrors.invalid_credentials, authErrors.account_locked],
      },
      async ({ body, caller }) => {
        await passwordLogin.change(caller, body.currentPassword, body.newPassword)
        return { message: 'The password is changed, and all other sessions are signed out.' }
      },
    ),
    route(
      'GET /auth/sessions',
      {
        summary: 'List sessions, newest first',
        access: 'session',
        query: Type.Object(PageQuery),
        reply: {
          200: Type.Object({
            sessions: Type.Array(Session),
            ...PageReply,
          }),
        },
      },
      async ({ caller, query }) => {
        const page = pageOf(query)
        return { ...(await sessions.list(caller, page)), limit: page.limit, offset: page.offset }
      },
    ),
    route(
      'DELETE /auth/sessions/:id',
      {
        summary: 'Revoke a session',
        access: 'session',
        params: Type.Object({ id: Type.String({ examples: ['01arz3ndektsv4rrffq69g5fav'] }) }),
        reply: { 200: Message },
        errors: [errors.not_found],
      },
      async ({ caller, params }) => {
        if (!(await sessions.end(caller.id, params.id)))
          throw errors.not_found({ message: 'You have no such session.' })
        return { message: 'That session is signed out.' }
      },
    ),
    healthRoute(
      'GET /auth/health',
      { title: 'AuthHealth', summary: 'Check whether and how users can sign in', fields: HealthFields },
      async () => ({ status: await healthStatus(() => signingKeys.check()), providers: waysIn() }),
    ),
    route(
      'GET /.well-known/jwks.json',
      {
        summary: 'List the public keys of access tokens',
        description: 'RFC 7517. A key is here an hour before it signs, and until its last token has expired.',
        access: 'public',
        limit: '600/min',
        reply: { 200: Type.Object({ keys: Type.Array(PublicKey) }) },
      },
      async () =>
        answer(
          { keys: await signingKeys.published() },
          { headers: { 'cache-control': 'public, max-age=300' } },
        ),
    ),
  ] as const
}
