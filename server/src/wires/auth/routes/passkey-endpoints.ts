import { errors } from '../../../base/errors.ts'
import { Type } from '../../../base/schema.ts'
import { json } from '../../../http/bodies.ts'
import { answer, endpoint } from '../../../http/route.ts'
import { authErrors } from '../errors.ts'
import { Message, Tokens, UNCACHED, UserFields, userFieldsOf } from './schemas.ts'
import type { PasskeyLogin } from '../sign-in/passkeys/passkey-login.ts'
import {
  PasskeyRegistrationOptions,
  Passkey,
  PasskeyOptions,
  PasskeyRegistration,
  PasskeyResponse,
} from '../sign-in/passkeys/passkey-schemas.ts'
import type { Passkeys } from '../sign-in/passkeys/passkeys.ts'

const Name = Type.String({
  minLength: 1,
  maxLength: 100,
  pattern: '\\S',
  examples: ['Laptop'],
})
const Id = Type.Object({ id: Type.String({ examples: ['01arz3ndektsv4rrffq69g5fav'] }) })
const Empty = json(Type.Object({}, { title: 'PasskeyOptionsRequest', examples: [{}] }))

/** The endpoints of sign-in with a passkey, and of the passkeys of the signed-in user. */
export function passkeyEndpoints({
  passkeys,
  passkeyLogin,
}: {
  passkeys: Passkeys
  passkeyLogin: PasskeyLogin
}) {
  return {
    signInOptions: endpoint(
      {
        summary: 'Get the options of a sign-in with a passkey',
        description:
          'For `navigator.credentials.get`, with `mediation: "conditional"` too. The challenge is valid for 5 minutes and one answer.',
        access: 'public',
        limit: '60/min',
        body: Empty,
        reply: { 200: PasskeyOptions },
        errors: [errors.provider_not_configured],
      },
      async () => answer({ options: await passkeys.requestOptions('sign-in') }, { headers: UNCACHED }),
    ),
    signIn: endpoint(
      {
        summary: 'Sign in with a passkey',
        description:
          'Needs no address: the passkey says whose it is. If its authenticator did not verify its user, by a PIN or biometrics, another second factor is required.',
        access: 'public',
        limit: '30/min',
        body: json(Type.Object({ passkey: PasskeyResponse }, { title: 'PasskeySignInRequest' })),
        reply: {
          200: Type.Object(
            { user: Type.Object(UserFields, { title: 'PasskeyUser' }), ...Tokens },
            { title: 'PasskeySignIn' },
          ),
        },
        errors: [
          errors.provider_not_configured,
          authErrors.invalid_passkey,
          authErrors.invalid_credentials,
          authErrors.second_factor_required,
        ],
      },
      async ({ body, ip, userAgent, actor, record }) => {
        const { user, ...tokens } = await passkeyLogin.signIn(body.passkey, { ip, userAgent, actor, record })
        return answer({ user: userFieldsOf(user), ...tokens }, { headers: UNCACHED })
      },
    ),
    creationOptions: endpoint(
      {
        summary: 'Get the options of a new passkey',
        description:
          'For `navigator.credentials.create`. The challenge is valid for 5 minutes and one answer.',
        access: 'session',
        proof: 'recent',
        body: Empty,
        reply: { 200: PasskeyRegistrationOptions },
        errors: [errors.provider_not_configured, errors.conflict],
      },
      async ({ caller }) => ({ options: await passkeys.creationOptions(caller.id) }),
    ),
    create: endpoint(
      {
        summary: 'Add a passkey to the account',
        description:
          'An account may have 20. With its first second factor it gets ten recovery codes, which are not shown again.',
        access: 'session',
        proof: 'recent',
        // Ten recovery codes take half a second of processor time, which others' codes wait for.
        limit: '30/min',
        body: json(
          Type.Object(
            { passkey: PasskeyRegistration, name: Type.Optional(Name) },
            { title: 'CreatePasskeyRequest' },
          ),
        ),
        reply: {
          201: Type.Object(
            { passkey: Passkey, recoveryCodes: Type.Optional(Type.Array(Type.String())) },
            { title: 'CreatedPasskey' },
          ),
        },
        errors: [errors.provider_not_configured, authErrors.invalid_passkey, errors.conflict],
      },
      async ({ caller, body, userAgent, record }) => {
        const { passkey, name } = body
        const created = await passkeys.create(caller, passkey, { name, userAgent })
        record('factor-added', {
          account: caller.id,
          session: caller.sessionId,
          factor: 'passkey',
          passkey: created.passkey._id,
        })
        return answer(created, { headers: UNCACHED })
      },
    ),
    list: endpoint(
      {
        summary: 'List the passkeys of the account, oldest first',
        access: 'session',
        reply: { 200: Type.Object({ passkeys: Type.Array(Passkey) }, { title: 'Passkeys' }) },
      },
      async ({ caller }) => ({ passkeys: await passkeys.list(caller.id) }),
    ),
    rename: endpoint(
      {
        summary: 'Rename a passkey',
        access: 'session',
        params: Id,
        body: json(Type.Object({ name: Name }, { title: 'RenamePasskeyRequest' })),
        reply: { 200: Type.Object({ passkey: Passkey }, { title: 'RenamedPasskey' }) },
        errors: [errors.not_found],
      },
      async ({ caller, params, body }) => ({
        passkey: await passkeys.rename(caller.id, params.id, body.name),
      }),
    ),
    remove: endpoint(
      {
        summary: 'Remove a passkey from the account',
        description:
          'Recovery codes and trusted devices go with the last second factor. `CONFLICT` if the account must have one and this is the last.',
        access: 'session',
        proof: 'recent',
        params: Id,
        reply: { 200: Message },
        errors: [errors.not_found, errors.conflict],
      },
      async ({ caller, params, record }) => {
        await passkeys.remove(caller, params.id)
        record('factor-removed', {
          account: caller.id,
          session: caller.sessionId,
          factor: 'passkey',
          passkey: params.id,
        })
        return { message: 'The passkey is removed. Delete it on your device too.' }
      },
    ),
  }
}
