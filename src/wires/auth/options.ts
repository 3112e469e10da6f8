import { Type } from '../../base/schema.ts'

const DAY_SECONDS = 86_400

const seconds = (value: number, description: string) =>
  Type.Integer({ minimum: 1, default: value, description })

/** What the configuration may say of accounts and sessions. */
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
          'Under the policy guarded, where mails can be sent: nothing but auth until the address is verified.',
      }),
      maxLoginAttempts: Type.Integer({
        minimum: 1,
        default: 5,
        description: 'Failures that lock an address.',
      }),
      lockDuration: Type.Integer({ minimum: 1, default: 900_000, description: 'In milliseconds.' }),
    },
    { default: {} },
  ),
  registration: Type.Enum(['open', 'closed'], {
    default: 'open',
    description: 'Whether strangers may make accounts.',
  }),
  idpa: Type.Optional(
    Type.Object(
      {
        issuer: Type.String({ default: 'https://accounts.google.com' }),
        clientId: Type.Optional(Type.String()),
        clientSecret: Type.Optional(Type.String()),
        label: Type.Optional(Type.String({ description: 'What people know it by. Default its host.' })),
      },
      { description: 'An OpenID Connect issuer to sign in with; used where it has a clientId.' },
    ),
  ),
  idpb: Type.Optional(
    Type.Object(
      {
        authorizeUrl: Type.String({ default: 'https://github.com/login/oauth/authorize' }),
        tokenUrl: Type.String({ default: 'https://github.com/login/oauth/access_token' }),
        apiUrl: Type.String({ default: 'https://api.github.com' }),
        clientId: Type.Optional(Type.String()),
        clientSecret: Type.Optional(Type.String()),
        label: Type.Optional(Type.String({ description: 'What people know it by. Default its host.' })),
      },
      { description: "An OAuth 2 provider in GitHub's shape; used where it has a clientId." },
    ),
  ),
  bcryptCost: Type.Integer({
    minimum: 4,
    maximum: 31,
    default: 12,
    description: 'Each step doubles the time.',
  }),
  accessTokenSeconds: seconds(3_600, 'How long an access token lives.'),
  refreshTokenSeconds: seconds(30 * DAY_SECONDS, 'How long a session lives without a refresh.'),
  sessionSeconds: seconds(
    90 * DAY_SECONDS,
    'How long a session lives at most, however often it is refreshed.',
  ),
  refreshGraceSeconds: Type.Integer({
    minimum: 0,
    default: 10,
    description: 'For how long a used refresh token answers again, for a client whose answer was lost.',
  }),
  resetTokenSeconds: seconds(3_600, 'How long a link to reset a password is good.'),
  magicLinkSeconds: seconds(900, 'How long a link to sign in is good.'),
  verificationTokenSeconds: seconds(DAY_SECONDS, 'How long a link to verify an address is good.'),
  signingKeySeconds: seconds(
    90 * DAY_SECONDS,
    'How long a key signs access tokens before the next one does.',
  ),
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
    standInTakes: ['label'],
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
    standInTakes: ['label'],
  },
} as const
