import { Type } from '../../base/schema.ts'
import type { ProviderEntry } from './sign-in/identity-providers/provider-entry.ts'

const DAY_SECONDS = 86_400
const CLIENT_ID = 'The client ID that the provider gave to this application.'
const CLIENT_SECRET = 'The client secret to this ID.'

/** A hundred years: a time much later cannot be stored, and nobody could sign in. */
const LONGEST_SECONDS = 36_500 * DAY_SECONDS

const seconds = (value: number, description: string) =>
  Type.Integer({ minimum: 1, maximum: LONGEST_SECONDS, default: value, description })

/** An entry of `providers`. Administrators set these options, of an OpenID Connect issuer; other entries have others. */
const OIDC_ISSUER = {
  type: 'object',
  properties: {
    issuer: { description: 'Its issuer identifier: https://login.company.example.' },
    clientId: { description: CLIENT_ID },
    clientSecret: { description: CLIENT_SECRET },
    label: { description: 'Its name for people. Default: its host.' },
  },
  additionalProperties: true,
}

/** The options of accounts and sessions. */
export const AuthOptions = Type.Object({
  local: Type.Object(
    {
      passwordMinLength: Type.Integer({
        minimum: 1,
        maximum: 72,
        default: 8,
        description: 'In code points.',
      }),
      requireEmailVerification: Type.Boolean({
        default: true,
        description:
          'Under the policy guarded, if email is configured: users can use only /auth/* until their address is verified.',
      }),
      maxLoginAttempts: Type.Integer({
        minimum: 1,
        default: 5,
        description: 'Failed attempts that lock an address.',
      }),
      lockDuration: Type.Integer({
        minimum: 1,
        maximum: LONGEST_SECONDS * 1000,
        default: 900_000,
        description: 'In milliseconds.',
      }),
    },
    { default: {} },
  ),
  registration: Type.Enum(['open', 'closed'], {
    default: 'open',
    description: 'Whether anybody may create an account.',
  }),
  secondFactor: Type.Optional(
    Type.Enum(['optional', 'admins', 'required'], {
      description:
        'Which accounts must have a passkey or an authenticator app: those of administrators, or all. Default: admins in production, else optional.',
    }),
  ),
  secondFactorGraceDays: Type.Integer({
    minimum: 0,
    maximum: 36_500,
    default: 7,
    description:
      'How many days after the first sign-in to which this applies an account without one can still be used.',
  }),
  passkeys: Type.Object(
    {
      rpId: Type.Optional(
        Type.String({
          description:
            'The domain name that passkeys belong to: they work on its pages and those of names below it, and are lost if it changes. Default: the host of APP_URL.',
        }),
      ),
      origins: Type.Optional(
        Type.Array(Type.String(), {
          description:
            'The origins of pages that may use passkeys. Default: those of APP_URL and PUBLIC_URL within rpId; outside production http://localhost with any port too.',
        }),
      ),
    },
    { default: {} },
  ),
  idpa: Type.Optional(
    Type.Object(
      {
        issuer: Type.String({
          default: 'https://accounts.google.com',
          description: 'Its issuer identifier.',
        }),
        clientId: Type.Optional(Type.String({ description: CLIENT_ID })),
        clientSecret: Type.Optional(Type.String({ description: CLIENT_SECRET })),
        label: Type.Optional(Type.String({ description: 'Its name in emails. Default: its host.' })),
      },
      { description: 'An OpenID Connect issuer to sign in with; used if clientId is set.' },
    ),
  ),
  idpb: Type.Optional(
    Type.Object(
      {
        authorizeUrl: Type.String({
          default: 'https://github.com/login/oauth/authorize',
          description: 'Its authorization endpoint.',
        }),
        tokenUrl: Type.String({
          default: 'https://github.com/login/oauth/access_token',
          description: 'Its token endpoint.',
        }),
        apiUrl: Type.String({
          default: 'https://api.github.com',
          description: 'Its API, which has /user and /user/emails.',
        }),
        clientId: Type.Optional(Type.String({ description: CLIENT_ID })),
        clientSecret: Type.Optional(Type.String({ description: CLIENT_SECRET })),
        label: Type.Optional(Type.String({ description: 'Its name in emails. Default: its host.' })),
      },
      { description: "An OAuth 2 provider with GitHub's API to sign in with; used if clientId is set." },
    ),
  ),
  providers: Type.Record(Type.String(), Type.Unsafe<ProviderEntry>(OIDC_ISSUER), {
    default: {},
    description: 'Further identity providers by name, as oidc(), apple() and microsoft() make them.',
  }),
  bcryptCost: Type.Integer({
    minimum: 4,
    maximum: 31,
    default: 12,
    description: 'The cost of bcrypt; each step doubles the time.',
  }),
  accessTokenSeconds: seconds(3_600, 'Lifetime of an access token.'),
  refreshTokenSeconds: seconds(30 * DAY_SECONDS, 'Lifetime of a session without a refresh.'),
  sessionSeconds: seconds(90 * DAY_SECONDS, 'Lifetime of a session at most, however often it is refreshed.'),
  refreshGraceSeconds: Type.Integer({
    minimum: 0,
    default: 10,
    description:
      'For how long a used refresh token returns the current one. Later only the one before an unused token is accepted.',
  }),
  impersonationNotice: Type.Boolean({
    default: false,
    description: 'Whether users are told by email when an administrator acts as them.',
  }),
  invitationSeconds: seconds(7 * DAY_SECONDS, 'Lifetime of the link in an invitation.'),
  resetTokenSeconds: seconds(3_600, 'Lifetime of a link to reset a password.'),
  magicLinkSeconds: seconds(900, 'Lifetime of a link to sign in.'),
  verificationTokenSeconds: seconds(DAY_SECONDS, 'Lifetime of a link to verify an address.'),
  signingKeySeconds: seconds(90 * DAY_SECONDS, 'For how long a key signs access tokens.'),
})

/** The environment variables of the identity providers. */
export const AUTH_PROVIDERS = {
  idpa: {
    env: {
      IDPA_ISSUER: 'issuer',
      IDPA_CLIENT_ID: 'clientId',
      IDPA_CLIENT_SECRET: 'clientSecret',
      IDPA_LABEL: 'label',
    },
    sharedWithSandbox: ['label'],
  },
  idpb: {
    env: {
      IDPB_CLIENT_ID: 'clientId',
      IDPB_CLIENT_SECRET: 'clientSecret',
      IDPB_AUTHORIZE_URL: 'authorizeUrl',
      IDPB_TOKEN_URL: 'tokenUrl',
      IDPB_API_URL: 'apiUrl',
      IDPB_LABEL: 'label',
    },
    sharedWithSandbox: ['label'],
  },
} as const

/** What administrators may set while the server runs. */
export const AUTH_SETTABLE = [
  'registration',
  'local',
  'secondFactor',
  'secondFactorGraceDays',
  'idpa',
  'idpb',
  'providers.*',
  'impersonationNotice',
  'accessTokenSeconds',
  'refreshTokenSeconds',
  'sessionSeconds',
  'invitationSeconds',
  'resetTokenSeconds',
  'magicLinkSeconds',
  'verificationTokenSeconds',
] as const
