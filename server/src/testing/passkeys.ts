// What the tests of passkeys share: the ceremonies over HTTP, with an authenticator in software.
import assert from 'node:assert/strict'

import type { TestApp } from './app.ts'
import { send, type AuthReply } from './auth.ts'
import type { PasskeyRequestOptions } from '../wires/auth/sign-in/passkeys/passkey-schemas.ts'
import { createTestPasskey, type Ceremony, type Credential, type TestPasskey } from './authenticator.ts'

/** A passkey with the answer to its registration. */
export type AddedPasskey = {
  key: TestPasskey
  passkey: { _id: string; name: string; createdAt: string; lastUsedAt?: string; synced: boolean }
  recoveryCodes: string[] | undefined
}

/** The options of a ceremony that a route answers. */
export async function optionsOf<T = PasskeyRequestOptions>(
  app: TestApp,
  route: string,
  { token, body = {} }: { token?: string; body?: unknown } = {},
): Promise<T> {
  const answered = await send(app, `POST ${route}`, { body, ...(token !== undefined && { token }) })
  assert.equal(answered.status, 200, answered.text)
  return (answered.body as unknown as { options: T }).options
}

/** Options for a new passkey of the account of this token. */
export const creationOptions = (app: TestApp, token: string) =>
  optionsOf<{ challenge: string; rp: { id: string }; user: { id: string } }>(app, '/auth/passkeys/options', {
    token,
  })

/** Sends a new passkey as its browser answered it. */
export const sendPasskey = (
  app: TestApp,
  token: string,
  passkey: Credential,
  name?: string,
): Promise<AuthReply> => send(app, 'POST /auth/passkeys', { token, body: { passkey, name } })

/** Adds a passkey to the account of this token. */
export async function addPasskey(
  app: TestApp,
  token: string,
  { key = createTestPasskey(), name, ...ceremony }: Ceremony & { key?: TestPasskey; name?: string } = {},
): Promise<AddedPasskey> {
  const credential = key.register(await creationOptions(app, token), ceremony)
  const added = await sendPasskey(app, token, credential, name)
  assert.equal(added.status, 201, added.text)
  const { passkey, recoveryCodes } = added.body as unknown as Omit<AddedPasskey, 'key'>
  return { key, passkey, recoveryCodes }
}

/** Sends what a browser answered to a sign-in. */
export const sendAssertion = (app: TestApp, passkey: Credential): Promise<AuthReply> =>
  send(app, 'POST /auth/passkeys/sign-in', { body: { passkey } })

/** Signs in with a passkey alone. */
export async function signInWith(app: TestApp, key: TestPasskey, ceremony?: Ceremony): Promise<AuthReply> {
  return sendAssertion(app, key.sign(await optionsOf(app, '/auth/passkeys/sign-in-options'), ceremony))
}

/** The passkeys of the account of this token. */
export async function listPasskeys(app: TestApp, token: string): Promise<AddedPasskey['passkey'][]> {
  const { body } = await send(app, 'GET /auth/passkeys', { token })
  return (body as unknown as { passkeys: AddedPasskey['passkey'][] }).passkeys
}
