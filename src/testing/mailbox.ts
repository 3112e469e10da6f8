import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { before } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { callbackify } from 'node:util'

import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer } from 'smtp-server'

import { sql } from '../db/sql.ts'
import { startApp, type StartOptions, type TestApp } from './app.ts'
import { endOfSuite, type Ending, type Engine } from './engines.ts'

/** A mail as it arrived, parsed; `to` is whom the envelope named. */
export type ArrivedMail = {
  from: string
  to: readonly string[]
  parsed: Email
  /** Source text, for what parsing would hide. */
  source: string
}

/** A real SMTP server that keeps what it is sent. */
export type Mailbox = {
  /** For `SMTP_URL`. */
  url: string
  /** Everything that has arrived, oldest first. */
  mails: readonly ArrivedMail[]
  /** The oldest mail to this address that was not taken yet; waits for it. */
  next(to: string): Promise<ArrivedMail>
}

/** Starts an SMTP server on a free port; it ends with the test or suite. */
export async function startMailbox(ending: Ending): Promise<Mailbox> {
  const mails: ArrivedMail[] = []
  const taken = new Set<ArrivedMail>()
  let arrival = Promise.withResolvers<void>()

  // Accepted once it can be looked at, so that a test that waits for the sender finds it.
  const kept = callbackify(async (source: Buffer, from: string, to: string[]): Promise<void> => {
    mails.push({ from, to, parsed: await PostalMime.parse(source), source: source.toString() })
    arrival.resolve()
    arrival = Promise.withResolvers()
  })
  const server = new SMTPServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    closeTimeout: 100,
    onData(stream, { envelope }, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const from = envelope.mailFrom ? envelope.mailFrom.address : ''
        const to = envelope.rcptTo.map(({ address }) => address)
        kept(Buffer.concat(chunks), from, to, done)
      })
    },
  })
  server.on('error', () => undefined) // a client that breaks off
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  ending.after(() => new Promise((resolve) => server.close(() => resolve())))

  return {
    url: `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`,
    mails,
    async next(to) {
      for (;;) {
        const arrived = arrival.promise
        const mail = mails.find((one) => one.to.includes(to) && !taken.has(one))
        if (mail) {
          taken.add(mail)
          return mail
        }
        await arrived
      }
    },
  }
}

/** Resolves when everything that was put into the queue has been done, mails included. */
export async function quietQueue({ app }: TestApp): Promise<void> {
  const waiting = () =>
    app.db.all(sql`select id from sixwire_jobs where id not like 'every-%' and state = 'ready' limit 1`)
  while ((await waiting()).length > 0) await delay(20)
}

/** One server for all tests of a suite, and the mailbox that it sends to; call it where the suite is described. */
export function appWithMailbox(
  engine: Engine,
  options: StartOptions = {},
): () => { app: TestApp; mailbox: Mailbox } {
  const ending = endOfSuite()
  let started: { app: TestApp; mailbox: Mailbox }
  before(async () => {
    const mailbox = await startMailbox(ending)
    const app = await startApp(ending, engine, withMail(mailbox, options))
    started = { app, mailbox }
  })
  return () => started
}

/** The options of a server that sends to this mailbox, and whose frontend is https://app.example. */
export const withMail = (mailbox: Mailbox, options: StartOptions = {}): StartOptions => ({
  ...options,
  environment: {
    SMTP_URL: mailbox.url,
    MAIL_FROM: 'Tests <tests@app.example>',
    APP_URL: 'https://app.example',
    ...options.environment,
  },
})

/** The token of the link in a mail; fails where the link leads anywhere but to that page of the frontend. */
export function tokenOf({ parsed }: ArrivedMail, page: 'reset' | 'magic-link' | 'verify'): string {
  const links = `${parsed.html} ${parsed.text}`.match(/https?:\/\/[^\s"<>)\]]*#[^\s"<>)\]]*/g) ?? []
  const start = `https://app.example/auth/${page}#token=`
  const tokens = new Set(links.map((link) => (link.startsWith(start) ? link.slice(start.length) : undefined)))
  const [token] = tokens
  if (tokens.size !== 1 || token === undefined) throw new Error(`links of the mail: ${links.join(', ')}`)
  return token
}
