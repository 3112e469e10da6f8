import { before } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { sql } from '../db/sql.ts'
import { startApp, type StartOptions, type TestApp } from './app.ts'
import { endOfSuite, type Ending, type Engine } from './engines.ts'
import { startMailServer, type ReceivedMail } from './mail-server.ts'

/** What waits longer is no consequence of the calls of a test. */
const LATER_MS = 600_000

/** A mail server as the tests of accounts read it. */
export type TestMailbox = {
  /** For `SMTP_URL`. */
  url: string
  /** Every mail so far, oldest first. */
  mails: readonly ReceivedMail[]
  /** The oldest mail to this address that was not returned yet; waits for it. */
  next: (to: string) => Promise<ReceivedMail>
}

/** Starts a mail server on a free port; it ends with the test or suite. */
export async function startMailbox(ending: Ending): Promise<TestMailbox> {
  const { url, received, mailTo } = await startMailServer(ending)
  return { url, mails: received, next: mailTo }
}

/** Resolves when everything that was put into the queue has been done, mails included. */
export async function quietQueue({ app, clock }: TestApp): Promise<void> {
  const waiting = () =>
    // What a deleted account leaves is looked for once more an hour later.
    app.db.all(sql`
      select id from sixwire_jobs
      where id not like 'every-%' and state <> 'failed' and run_at < ${clock.now() + LATER_MS} limit 1`)
  while ((await waiting()).length > 0) await delay(20)
}

/** One server for all tests of a suite, and the mailbox that it sends to; call it where the suite is described. */
export function appWithMailbox(
  engine: Engine,
  options: StartOptions = {},
): () => { app: TestApp; mailbox: TestMailbox } {
  const ending = endOfSuite()
  let started: { app: TestApp; mailbox: TestMailbox }
  before(async () => {
    const mailbox = await startMailbox(ending)
    const app = await startApp(ending, engine, withMail(mailbox, options))
    started = { app, mailbox }
  })
  return () => started
}

/** The options of a server that sends to this mailbox, and whose frontend is https://app.example. */
export const withMail = (mailbox: { url: string }, options: StartOptions = {}): StartOptions => ({
  ...options,
  environment: {
    SMTP_URL: mailbox.url,
    MAIL_FROM: 'Tests <tests@app.example>',
    APP_URL: 'https://app.example',
    ...options.environment,
  },
})

type MailPage = 'reset' | 'magic-link' | 'verify' | 'change-email' | 'undo-email-change'

/** The token of the link in a mail; fails where the link leads anywhere but to that page of the frontend. */
export function tokenOf({ parsed }: ReceivedMail, page: MailPage): string {
  const links = `${parsed.html} ${parsed.text}`.match(/https?:\/\/[^\s"<>)\]]*#[^\s"<>)\]]*/g) ?? []
  const start = `https://app.example/auth/${page}#token=`
  const tokens = new Set(links.map((link) => (link.startsWith(start) ? link.slice(start.length) : undefined)))
  const [token] = tokens
  if (tokens.size !== 1 || token === undefined) throw new Error(`links of the mail: ${links.join(', ')}`)
  return token
}

/** The six digits in a mail, which its text shows in two groups on a line of their own. */
export function codeOf({ parsed }: ReceivedMail): string {
  const [, first, last] = /^(\d{3}) (\d{3})$/m.exec(parsed.text ?? '') ?? []
  if (first === undefined || last === undefined) throw new Error(`no code in the mail: ${parsed.text}`)
  return first + last
}

/** The token of the next mail to this address that links to a page; other mails to it are passed over. */
export async function nextToken(
  mailbox: Pick<TestMailbox, 'next'>,
  to: string,
  page: Parameters<typeof tokenOf>[1],
): Promise<string> {
  for (;;) {
    const mail = await mailbox.next(to)
    if (mail.parsed.text?.includes(`/auth/${page}#token=`)) return tokenOf(mail, page)
  }
}

/** The next mail to this address with this in its subject; other mails to it are passed over. */
export async function nextAbout(
  mailbox: Pick<TestMailbox, 'next'>,
  to: string,
  subject: RegExp,
): Promise<ReceivedMail> {
  for (;;) {
    const mail = await mailbox.next(to)
    if (subject.test(mail.parsed.subject ?? '')) return mail
  }
}
