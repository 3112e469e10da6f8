// What the tests of codes by SMS share: a server with a mailbox and a provider that speaks Twilio's protocol.
import { before } from 'node:test'

import { startApp, type StartOptions, type TestApp } from '../../../testing/app.ts'
import { send } from '../../../testing/auth.ts'
import { endOfSuite, type Engine } from '../../../testing/engines.ts'
import { quietQueue, startMailbox, withMail, type TestMailbox } from '../../../testing/mailbox.ts'
import { environmentOf, startTextServer, type TextServer } from '../../messaging/providers.fixture.ts'

let numbers = 0
/** A number that no test has used. */
export const newNumber = (): string => `+491511${String(2_000_000 + ++numbers)}`

/** One server for all tests of a suite; call it where the suite is described. */
export function appWithTexts(engine: Engine, options: StartOptions = {}) {
  const ending = endOfSuite()
  let started: { app: TestApp; mailbox: TestMailbox; texts: TextServer }
  before(async () => {
    const mailbox = await startMailbox(ending)
    const texts = await startTextServer(ending)
    const environment = { ...environmentOf(undefined, texts), ...options.environment }
    started = {
      app: await startApp(ending, engine, withMail(mailbox, { ...options, environment })),
      mailbox,
      texts,
    }
  })
  const app = (): TestApp => started.app

  /** The texts to a number so far, once nothing is left to be sent. */
  async function textsTo(phone: string): Promise<string[]> {
    await quietQueue(app())
    return started.texts.received.filter(({ to }) => to === phone).map(({ body }) => body)
  }

  /** The code in the last text to a number. */
  async function lastCode(phone: string): Promise<string> {
    const body = (await textsTo(phone)).at(-1) ?? ''
    const [, code] = /^@app\.example #(\d{6})$/m.exec(body) ?? []
    if (code === undefined) throw new Error(`no code for ${phone}: ${body}`)
    return code
  }

  const add = (token: string, phone: string) => send(app(), 'POST /auth/phone', { token, body: { phone } })
  const prove = (token: string, code: string) =>
    send(app(), 'POST /auth/phone/verify', { token, body: { code } })
  const ask = (phone: string, browser?: string) =>
    send(app(), 'POST /auth/sms-code', { body: { phone, browser } })
  const type = (phone: string, code: string, browser?: string) =>
    send(app(), 'POST /auth/verify-code', { body: { phone, code, browser } })

  /** An account with a proven number; the hour of the limit has passed. */
  async function someone() {
    const person = await app().register()
    const phone = newNumber()
    await add(person.token, phone)
    await prove(person.token, await lastCode(phone))
    return { ...person, phone }
  }

  async function askFor(phone: string, browser?: string): Promise<string> {
    await ask(phone, browser)
    return lastCode(phone)
  }

  return { app, mailbox: () => started.mailbox, textsTo, lastCode, add, prove, ask, type, someone, askFor }
}
