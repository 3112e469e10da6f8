import { errors } from '../../../base/errors.ts'
import { Type } from '../../../base/schema.ts'
import { json } from '../../../http/bodies.ts'
import { answer, endpoint } from '../../../http/route.ts'
import { authErrors } from '../errors.ts'
import { Message, UNCACHED } from './schemas.ts'
import type { OwnFactors } from '../factors/own-factors.ts'
import { qrCode } from '../factors/qr.ts'
import type { Totp } from '../factors/totp.ts'

const APP = { kind: 'totp', name: 'authenticator app' } as const

// For scripts that guess; a code of an offer has five tries anyway.
const LIMIT = '30/min'

export const RecoveryCodeList = Type.Array(Type.String({ examples: ['5yk-2rw-0d3-vb8h'] }), {
  description: 'Ten codes, each for one use. They are shown only now.',
})

const TotpOffer = Type.Object(
  {
    secret: Type.String({ description: 'In base 32, to be typed into an app that cannot scan.' }),
    uri: Type.String({ description: 'In the Key Uri Format of authenticator apps: otpauth://totp/…' }),
    qr: Type.Object({
      text: Type.String({ description: 'The URI as a QR code of half blocks, for a dark terminal.' }),
      svg: Type.String({ description: 'The URI as a QR code, black on white.' }),
    }),
  },
  { title: 'TotpOffer' },
)

/** The endpoints of the caller's authenticator app and recovery codes. */
export function totpEndpoints({ totp, ownFactors }: { totp: Totp; ownFactors: OwnFactors }) {
  return {
    offer: endpoint(
      {
        summary: 'Create a secret for an authenticator app',
        description:
          'Valid for 10 minutes: it counts once POST /auth/totp/verify has a code of it. A new one replaces it.',
        access: 'session',
        proof: 'recent',
        limit: LIMIT,
        reply: { 200: TotpOffer },
        errors: [errors.recent_sign_in_required],
      },
      async ({ caller }) => {
        const { secret, uri } = await totp.offer(caller.id, caller.email)
        const qr = await qrCode(uri, 'QR code for an authenticator app')
        return answer({ secret, uri, qr }, { headers: UNCACHED })
      },
    ),
    verify: endpoint(
      {
        summary: 'Add the authenticator app that has the secret',
        description:
          'Takes a code of the secret of POST /auth/totp, which replaces an earlier one. A secret has five tries. Answers recovery codes with the first factor of the account.',
        access: 'session',
        proof: 'recent',
        limit: LIMIT,
        body: json(
          Type.Object(
            { code: Type.String({ maxLength: 100, examples: ['123456'], description: 'Six digits.' }) },
            { title: 'VerifyTotpRequest' },
          ),
        ),
        reply: {
          200: Type.Object(
            { message: Type.String(), recoveryCodes: Type.Optional(RecoveryCodeList) },
            { title: 'FactorConfirmation' },
          ),
        },
        errors: [authErrors.invalid_code, errors.recent_sign_in_required],
      },
      async ({ body, caller, record }) => {
        const recoveryCodes = await ownFactors.add(caller, APP, await totp.acceptSql(caller.id, body.code))
        record('factor-added', { account: caller.id, session: caller.sessionId, factor: APP.kind })
        return answer(
          {
            message: 'The authenticator app is added: signing in asks for its code from now on.',
            ...(recoveryCodes && { recoveryCodes }),
          },
          { headers: UNCACHED },
        )
      },
    ),
    remove: endpoint(
      {
        summary: 'Remove the authenticator app',
        description: 'Recovery codes and trusted devices go with the last factor of the account.',
        access: 'session',
        proof: 'recent',
        reply: { 200: Message },
        errors: [errors.not_found, errors.conflict, errors.recent_sign_in_required],
      },
      async ({ caller, record }) => {
        await ownFactors.remove(caller, APP, totp.deleteSql(caller.id))
        record('factor-removed', { account: caller.id, session: caller.sessionId, factor: APP.kind })
        return { message: 'The authenticator app is removed.' }
      },
    ),
    replaceRecoveryCodes: endpoint(
      {
        summary: 'Replace the recovery codes',
        description: 'The older ones are void.',
        access: 'session',
        proof: 'recent',
        limit: '10/min',
        reply: {
          200: Type.Object({ recoveryCodes: RecoveryCodeList }, { title: 'RecoveryCodes' }),
        },
        errors: [errors.conflict, errors.recent_sign_in_required],
      },
      async ({ caller, record }) => {
        const recoveryCodes = await ownFactors.replaceRecoveryCodes(caller)
        record('recovery-codes-replaced', { account: caller.id, session: caller.sessionId })
        return answer({ recoveryCodes }, { headers: UNCACHED })
      },
    ),
  }
}
