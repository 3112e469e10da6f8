import { errors } from '../../../base/errors.ts'
import { Type } from '../../../base/schema.ts'
import { withRule } from '../../../base/with-rule.ts'
import { json } from '../../../http/bodies.ts'
import { answer, endpoint } from '../../../http/route.ts'
import { authErrors } from '../errors.ts'
import { PasskeyOptions, PasskeyResponse } from '../sign-in/passkeys/passkey-schemas.ts'
import { Message, Password, Time, Tokens, UNCACHED, UserFields, userFieldsOf } from './schemas.ts'
import type { Confirmation } from '../sign-in/second-factor/confirmation.ts'
import type { FactorOverview } from '../factors/factor-overview.ts'
import type { SecondFactorLogin } from '../sign-in/second-factor/second-factor-login.ts'
import type { TrustedDevices } from '../sessions/trusted-devices.ts'

const Challenge = Type.String({
  maxLength: 1000,
  description: 'From `details` of the error SECOND_FACTOR_REQUIRED.',
  examples: ['the challenge of the error'],
})
const FACTORS = {
  code: Type.Optional(
    Type.String({
      maxLength: 100,
      description: 'Six digits of an authenticator app.',
      examples: ['123456'],
    }),
  ),
  recoveryCode: Type.Optional(Type.String({ maxLength: 100, description: 'One of the ten recovery codes.' })),
  passkey: Type.Optional(PasskeyResponse),
}
const DEVICE = {
  deviceToken: Type.Optional(
    Type.String({ maxLength: 1000, description: 'From a sign-in with `trustDevice` within 30 days.' }),
  ),
}
const PASSWORD = { password: Type.Optional(Password) }

/** Whether exactly one of these fields is sent. */
const exactlyOne =
  (names: readonly string[]) =>
  (body: object): { path: string; message: string } | undefined => {
    const sentFields = names.filter((name) => (body as Record<string, unknown>)[name] !== undefined)
    return sentFields.length === 1
      ? undefined
      : { path: '', message: `send exactly one of ${names.join(', ')}` }
  }

const SecondFactorLogin = Type.Object(
  {
    user: Type.Object(UserFields, { title: 'SecondFactorUser' }),
    ...Tokens,
    deviceToken: Type.Optional(
      Type.String({
        description: 'If `trustDevice` was sent: proves this device in place of a factor for 30 days.',
      }),
    ),
  },
  { title: 'SecondFactorLogin' },
)
const FactorsReply = Type.Object(
  {
    passkeys: Type.Integer({ description: 'How many there are.' }),
    totp: Type.Boolean({ description: 'Whether there is an authenticator app.' }),
    recoveryCodes: Type.Integer({ description: 'How many are not used.' }),
    required: Type.Boolean({ description: 'Whether the server requires a passkey or an authenticator app.' }),
    dueAt: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'If one is required and missing: when the account can do nothing but add one.',
      }),
    ),
  },
  { title: 'Factors' },
)
const Device = Type.Object(
  {
    _id: Type.String(),
    createdAt: Time,
    lastUsedAt: Time,
    expiresAt: Time,
    ip: Type.String(),
    userAgent: Type.String(),
  },
  { title: 'TrustedDevice' },
)

/** The endpoints of second factors that are alike for all kinds: sign-in, confirmation, overview and trusted devices. */
export function secondFactorEndpoints({
  secondFactor,
  confirmation,
  factors,
  devices,
}: {
  secondFactor: SecondFactorLogin
  confirmation: Confirmation
  factors: FactorOverview
  devices: TrustedDevices
}) {
  return {
    finish: endpoint(
      {
        summary: 'Finish a sign-in with a second factor',
        description:
          'Every way to sign in answers `SECOND_FACTOR_REQUIRED` with a challenge if the account has a second factor. It is valid for 5 minutes and 5 attempts. Wrong codes count like wrong passwords: after too many the address is locked for passwords and codes, and a passkey still works. After a sign-in without a password, such as by a link, they are counted apart, so that wrong passwords of others do not lock the user out.',
        access: 'public',
        limit: '30/min',
        body: json(
          withRule(
            Type.Object(
              {
                challenge: Challenge,
                ...FACTORS,
                ...DEVICE,
                trustDevice: Type.Optional(
                  Type.Boolean({ description: 'Whether to trust this device for 30 days.' }),
                ),
              },
              {
                title: 'SecondFactorRequest',
                examples: [{ challenge: 'the challenge of the error', code: '123456' }],
              },
            ),
            exactlyOne(['code', 'recoveryCode', 'passkey', 'deviceToken']),
          ),
        ),
        reply: { 200: SecondFactorLogin },
        errors: [
          authErrors.invalid_challenge,
          authErrors.invalid_code,
          authErrors.invalid_passkey,
          authErrors.invalid_credentials,
          authErrors.account_locked,
        ],
      },
      async ({ body, ip, userAgent, actor, record }) => {
        const { challenge, trustDevice, ...input } = body
        const client = { ip, userAgent, actor, record }
        const { user, ...tokens } = await secondFactor.finish(challenge, input, client, { trustDevice })
        return answer({ user: userFieldsOf(user), ...tokens }, { headers: UNCACHED })
      },
    ),
    passkeyOptions: endpoint(
      {
        summary: 'Get the options of a passkey that finishes a sign-in',
        access: 'public',
        limit: '30/min',
        body: json(Type.Object({ challenge: Challenge }, { title: 'SecondFactorOptionsRequest' })),
        reply: { 200: PasskeyOptions },
        errors: [authErrors.invalid_challenge],
      },
      async ({ body }) => ({ options: await secondFactor.passkeyOptions(body.challenge) }),
    ),
    confirm: endpoint(
      {
        summary: 'Prove again who you are, before a sensitive call',
        description:
          'Calls that a stolen token must not make answer `RECENT_SIGN_IN_REQUIRED` unless the session has a proof of the last 10 minutes: a sign-in, or this call. To change second factors, an account that has one needs a proof of that: a code or a passkey.',
        access: 'session',
        limit: { rate: '30/min' },
        body: json(
          withRule(
            Type.Object(
              { ...PASSWORD, ...FACTORS },
              { title: 'ConfirmRequest', examples: [{ password: 'correct horse battery' }] },
            ),
            exactlyOne(['password', 'code', 'recoveryCode', 'passkey']),
          ),
        ),
        reply: { 200: Message },
        errors: [
          authErrors.invalid_credentials,
          authErrors.invalid_code,
          authErrors.invalid_passkey,
          authErrors.account_locked,
        ],
      },
      async ({ caller, body, actor, record }) => {
        await confirmation.confirm(caller, body, { actor, record })
        return { message: 'Confirmed for 10 minutes.' }
      },
    ),
    confirmOptions: endpoint(
      {
        summary: 'Get the options of a passkey that confirms who you are',
        access: 'session',
        reply: { 200: PasskeyOptions },
      },
      async ({ caller }) => ({ options: await confirmation.passkeyOptions(caller) }),
    ),
    overview: endpoint(
      {
        summary: 'Retrieve which second factors the account has',
        access: 'session',
        reply: { 200: FactorsReply },
      },
      ({ caller }) => factors.of(caller),
    ),
    listDevices: endpoint(
      {
        summary: 'List the devices that need no second factor, newest first',
        description: 'At most 100. Another password ends the trust in all of them.',
        access: 'session',
        reply: { 200: Type.Object({ devices: Type.Array(Device) }, { title: 'TrustedDevices' }) },
      },
      async ({ caller }) => ({ devices: await devices.list(caller.id) }),
    ),
    revokeDevice: endpoint(
      {
        summary: 'End the trust in a device',
        access: 'session',
        params: Type.Object({ id: Type.String({ examples: ['01arz3ndektsv4rrffq69g5fav'] }) }),
        reply: { 200: Message },
      },
      async ({ caller, params, record }) => {
        if (!(await devices.revoke(caller.id, params.id)))
          throw errors.not_found({ message: 'You have no trusted device with this id.' })
        record('device-revoked', { account: caller.id, session: caller.sessionId })
        return { message: 'The device is not trusted any more.' }
      },
    ),
  }
}
