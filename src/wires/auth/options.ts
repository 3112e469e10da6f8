import { Type } from 'typebox'

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
  registration: Type.Union([Type.Literal('open'), Type.Literal('closed')], {
    default: 'open',
    description: 'Whether strangers may make accounts.',
  }),
  bcryptCost: Type.Integer({
    minimum: 4,
    maximum: 31,
    default: 12,
    description: 'Each step doubles the time.',
  }),
  accessTokenSeconds: seconds(3_600, 'How long an access token lives.'),
  refreshTokenSeconds: seconds(30 * DAY_SECONDS, 'How long a session lives without a refresh.'),
  refreshGraceSeconds: Type.Integer({
    minimum: 0,
    default: 10,
    description: 'For how long a used refresh token answers again, for a client whose answer was lost.',
  }),
  signingKeySeconds: seconds(
    90 * DAY_SECONDS,
    'How long a key signs access tokens before the next one does.',
  ),
})
