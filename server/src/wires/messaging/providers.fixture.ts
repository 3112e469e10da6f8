// A counterpart that speaks Twilio's protocol, and does what a test tells it to.
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'

import { createServer } from '../../base/node-http.ts'
import { sql } from '../../db/sql.ts'
import type { TestApp } from '../../testing/app.ts'
import type { Ending } from '../../testing/engines.ts'
import type { MailServer } from '../../testing/mail-server.ts'

export type TextScript =
  | 'take'
  /** It has the message, and its answer is lost. */
  | 'take and drop'
  /** It has nothing, and the connection ends. */
  | 'lose and drop'
  | { status: number; code: number }

export type ReceivedText = {
  sid: string
  to: string
  from: string
  body: string
  media: string | undefined
  callback: string | undefined
}

export type TextServer = {
  base: string
  received: ReceivedText[]
  /** How often a message was asked for. */
  begun(): number
  next(...scripts: TextScript[]): void
  /** Whether lists of messages are answered. */
  lists: boolean
  /** What becomes of the next lists: no answer, or none of the messages yet. */
  nextLists(...scripts: ('fail' | 'empty')[]): void
  /** How often a list was asked for. */
  looked(): number
  /** Forgets what it received and was told. */
  reset(): void
  /** Called before anything becomes of a message. */
  onBegun: () => Promise<void> | void
  /** Called with each message that it has, before it is answered. */
  onText: (text: ReceivedText) => Promise<void> | void
}

export const ACCOUNT = 'AC00000000000000000000000000000001'
export const TOKEN = 'the token of the account'

/** https://www.twilio.com/docs/messaging/api/message-resource, as much of it as our adapter uses. */
export async function startTextServer(
  ending: Ending,
  now: () => number = () => Date.now(),
): Promise<TextServer> {
  const scripts: TextScript[] = []
  const received: (ReceivedText & { created: number })[] = []
  let begun = 0
  let looked = 0
  const lists: ('fail' | 'empty')[] = []
  const server = createServer((request, response) => {
    const answer = (status: number, body: unknown): void => {
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify(body))
    }
    const right = `Basic ${Buffer.from(`${ACCOUNT}:${TOKEN}`).toString('base64')}`
    if (request.headers.authorization !== right) return answer(401, { code: 20003, message: 'Authenticate' })
    const url = new URL(request.url!, 'http://host')
    if (url.pathname === `/2010-04-01/Accounts/${ACCOUNT}.json`) return answer(200, { status: 'active' })
    if (request.method === 'GET') {
      looked++
      const script = lists.shift()
      if (!counterpart.lists || script === 'fail')
        return answer(500, { code: 20500, message: 'Internal Server Error' })
      const found = received.filter(({ to }) => script !== 'empty' && to === url.searchParams.get('To'))
      return answer(200, {
        messages: found.map(({ sid, body, created }) => ({
          sid,
          body,
          direction: 'outbound-api',
          date_created: new Date(created).toUTCString(),
        })),
        next_page_uri: null,
      })
    }
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => void create(new URLSearchParams(Buffer.concat(chunks).toString())))
    async function create(form: URLSearchParams): Promise<void> {
      begun++
      const script = scripts.shift() ?? 'take'
      await counterpart.onBegun()
      if (typeof script === 'object')
        return answer(script.status, { code: script.code, message: 'as scripted' })
      if (script === 'lose and drop') return void request.socket.destroy()
      const text = {
        sid: `SM${String(received.length).padStart(32, '0')}`,
        to: form.get('To')!,
        from: form.get('From')!,
        body: form.get('Body')!,
        media: form.get('MediaUrl') ?? undefined,
        callback: form.get('StatusCallback') ?? undefined,
        created: now(),
      }
      received.push(text)
      await counterpart.onText(text)
      if (script === 'take and drop') return void request.socket.destroy()
      answer(201, { sid: text.sid, status: 'queued' })
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  ending.after(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const { port } = server.address() as AddressInfo
  const counterpart: TextServer = {
    base: `http://127.0.0.1:${port}`,
    received,
    begun: () => begun,
    next: (...more) => void scripts.push(...more),
    lists: true,
    nextLists: (...more) => void lists.push(...more),
    looked: () => looked,
    reset() {
      scripts.length = received.length = lists.length = begun = looked = 0
      Object.assign(counterpart, { lists: true, onBegun: () => undefined, onText: () => undefined })
    },
    onBegun: () => undefined,
    onText: () => undefined,
  }
  return counterpart
}

/** What names the two as providers. */
export const environmentOf = (mail?: MailServer, text?: TextServer): Record<string, string> => ({
  ...(mail && { SMTP_URL: mail.url, MAIL_FROM: 'Shop <shop@example.com>' }),
  ...(text && {
    TWILIO_ACCOUNT_SID: ACCOUNT,
    TWILIO_AUTH_TOKEN: TOKEN,
    TWILIO_FROM: '+15005550006',
    TWILIO_WHATSAPP_FROM: '+14155238886',
    TWILIO_API_BASE: text.base,
  }),
})

/** Resolves when nothing waits in the outbox: a new account has a mail sent to it, for one. */
export async function settled({ app }: Pick<TestApp, 'app'>): Promise<void> {
  // The mail of an account is a job before it is a message.
  const open = sql`
    select id from messaging_messages where status in ('queued', 'sending')
    union all select id from sixwire_jobs where (kind like 'auth.%-mail' or kind = 'auth.notice') and state <> 'failed'
    limit 1`
  while (await app.db.get(open)) await new Promise((resolve) => setTimeout(resolve, 10))
}
