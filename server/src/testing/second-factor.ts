// What the tests of second factors share: an authenticator app, and sign-ins that are challenged.
import assert from 'node:assert/strict'

import { TOTP, Secret } from 'otpauth'

import type { TestApp } from './app.ts'
import { login, send, type AuthReply } from './auth.ts'

const PERIOD_MS = 30_000

/** An authenticator app with the secret of one account. */
export type TestAuthenticator = {
  /** The code of now. Each is accepted once, so the clock of the server is set forward to the next if this one was asked for. */
  code(): string
  secret: string
  /** Of the account, if the app is its first factor. */
  recoveryCodes: string[]
}

/** A code that is not the code of now, nor of the steps beside it. */
export const wrongCode = (authenticator: Pick<TestAuthenticator, 'secret'>, app: TestApp): string => {
  const right = new Set(
    [-1, 0, 1].map((step) => codeAt(authenticator.secret, app.clock.now() + step * PERIOD_MS)),
  )
  return ['000000', '111111', '222222', '333333'].find((code) => !right.has(code))!
}

const codeAt = (secret: string, timestamp: number): string =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp })

/** Adds an authenticator app to the account of a session that has just been proven. */
export async function addAuthenticator(app: TestApp, token: string): Promise<TestAuthenticator> {
  const offer = await send(app, 'POST /auth/totp', { token })
  assert.equal(offer.status, 200, offer.text)
  const { secret } = offer.body as unknown as { secret: string }
  let lastStep = 0
  function code(): string {
    const step = () => Math.floor(app.clock.now() / PERIOD_MS)
    if (step() <= lastStep) app.clock.advance((lastStep + 1) * PERIOD_MS - app.clock.now())
    lastStep = step()
    return codeAt(secret, app.clock.now())
  }
  const accepted = await send(app, 'POST /auth/totp/verify', { token, body: { code: code() } })
  assert.equal(accepted.status, 200, accepted.text)
  const { recoveryCodes = [] } = accepted.body as unknown as { recoveryCodes?: string[] }
  return { code, secret, recoveryCodes }
}

/** A new account with an authenticator app. */
export async function registerWithFactor(app: TestApp, email?: string) {
  const person = await app.register(email)
  return { ...person, authenticator: await addAuthenticator(app, person.token) }
}

/** The challenge of an answer; fails if it is none. */
export function challengeOf(reply: AuthReply): string {
  assert.deepEqual([reply.status, reply.code], [401, 'SECOND_FACTOR_REQUIRED'], reply.text)
  const { challenge } = reply.body.error.details as unknown as { challenge: string }
  return challenge
}

/** Signs in with the password as far as the challenge. */
export const challenged = async (app: TestApp, email: string, password?: string): Promise<string> =>
  challengeOf(await login(app, email, password))

/** Finishes a sign-in with a second factor. */
export const finish = (app: TestApp, body: Record<string, unknown>): Promise<AuthReply> =>
  send(app, 'POST /auth/second-factor', { body })
