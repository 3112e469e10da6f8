import type { TestContext } from 'node:test'

import twilio from 'twilio'

import { startApp, type StartOptions, type TestApp } from '../../../server/src/testing/app.ts'
import type { Engine } from '../../../server/src/testing/engines.ts'
import type { ReceivedMessage } from './messages.ts'

export const ADA = '+4915112345678'
export const BOB = '+14155552671'

/** What the sandbox says of its phone, as far as the tests read it. */
export type Phone = {
  address: string
  accountSid: string
  authToken: string
  from: string
  whatsappFrom: string
  callbacksWaiting: number
}

const phoneOf = async (app: TestApp): Promise<Phone> =>
  ((await app.request('GET', '/sandbox/api')).body as { phone: Phone }).phone

export const begin = async (t: TestContext, engine: Engine, options: StartOptions = {}) =>
  withPhone(await startApp(t, engine, { ...options, sandbox: true }))

/** A server with the phone of its sandbox, and the official client of it. */
export async function withPhone(app: TestApp) {
  const phone = await phoneOf(app)
  return { app, phone, client: clientOf(phone) }
}

/** The official client, of which nothing is changed but the address. */
export function clientOf(phone: Phone, token = phone.authToken) {
  const client = twilio(phone.accountSid, token)
  client.api.baseUrl = phone.address
  return client
}

/** What is on the phone, newest first. */
export async function shown(app: TestApp, to?: string): Promise<ReceivedMessage[]> {
  const query = to === undefined ? '' : `?to=${encodeURIComponent(to)}`
  const answered = await app.request('GET', `/sandbox/api/phone${query}`)
  return (answered.body as { messages: ReceivedMessage[] }).messages
}

/** How many callbacks are still to be sent. */
export const waiting = async (app: TestApp): Promise<number> => (await phoneOf(app)).callbacksWaiting

export const setFault = (app: TestApp, fault: unknown) =>
  app.request('PUT', '/sandbox/api/faults/phone', { body: fault })
