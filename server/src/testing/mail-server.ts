import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'

import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer, type SMTPServerSession } from 'smtp-server'

import { selfSigned } from './certificate.ts'
import type { Ending } from './engines.ts'

/** What happens to the next mail; `take` if no script is left. */
export type MailScript =
  | 'take'
  /** The server has the whole mail, and the connection ends before the reply. */
  | 'take and drop'
  /** The connection ends after the mail, which is thrown away. */
  | 'lose and drop'
  /** The server has the whole mail and never replies. */
  | 'hang'
  /** Reply codes to MAIL, to RCPT (of every recipient, or by address), and after the mail. */
  | { sender?: number; recipient?: number | Record<string, number>; data?: number }

export type ReceivedMail = {
  /** The envelope's. */
  from: string
  to: string[]
  /** Without the angle brackets. */
  messageId: string
  subject: string
  parsed: Email
  /** The source text, for what parsing would hide. */
  raw: string
  /** Whether it came over TLS. */
  secure: boolean
  /** The name of the login, if there was one. */
  user: unknown
}

export type MailServerOptions = {
  /** Passwords by user: only these may send. By default anyone may, with any login or none. */
  accounts?: Record<string, string>
  /** TLS with a self-signed certificate, from the start of the connection or by STARTTLS. */
  tls?: 'implicit' | 'starttls'
  hidePIPELINING?: boolean
}

export type MailServer = {
  /** For `SMTP_URL`. */
  url: string
  port: number
  /** Oldest first. A mail is here before it is accepted. */
  received: ReceivedMail[]
  /** The oldest mail to this address that was not returned yet; waits for it. */
  mailTo: (address: string) => Promise<ReceivedMail>
  /** How many mails were begun. */
  begun: () => number
  connections: () => { opened: number; closed: number }
  next: (...scripts: MailScript[]) => void
  /** Cuts every connection. */
  drop: () => void
  /** Forgets its mails, scripts and hooks. */
  reset: () => void
  /** Called with each connection, before the greeting. */
  onConnect: () => Promise<void> | void
  /** Called with each mail, before the reply to MAIL. */
  onBegun: () => Promise<void> | void
  /** Called with each whole mail, before the reply. */
  onMail: (mail: ReceivedMail) => Promise<void> | void
}

type Connection = { session: { id: string }; _socket: Socket }

const refusal = (responseCode: number, text = 'as scripted'): Error =>
  Object.assign(new Error(text), { responseCode })

const codesOf = (script: MailScript) => (typeof script === 'object' ? script : {})

/** Starts a real SMTP server on a free port that follows scripts; it ends with the test or suite. */
export async function startMailServer(
  ending: Ending,
  { accounts, tls, ...options }: MailServerOptions = {},
): Promise<MailServer> {
  const scripts: MailScript[] = []
  const current = new Map<string, MailScript>()
  const received: ReceivedMail[] = []
  const returned = new Set<ReceivedMail>()
  let arrival = Promise.withResolvers<void>()
  let begun = 0
  let opened = 0
  let closed = 0

  type Done = (error?: Error) => void
  async function reply(done: Done, code: number | undefined, before?: Promise<void> | void): Promise<void> {
    await before
    done(code === undefined ? undefined : refusal(code))
  }
  function drop(id?: string): void {
    for (const { session, _socket } of server.connections as Set<Connection>)
      if (id === undefined || session.id === id) _socket.destroy()
  }
  async function take(raw: string, session: SMTPServerSession, done: Done): Promise<void> {
    const script = current.get(session.id)!
    const { data } = codesOf(script)
    if (data !== undefined) return reply(done, data)
    if (script === 'lose and drop') return drop(session.id)
    const { secure, user, envelope } = session
    const [from, to] = [envelope.mailFrom, envelope.rcptTo.map(({ address }) => address)]
    const parsed = await PostalMime.parse(raw)
    const mail = {
      from: from ? from.address : '',
      to,
      messageId: parsed.messageId?.replace(/^<|>$/g, '') ?? '',
      subject: parsed.subject ?? '',
      parsed,
      raw,
      secure,
      user,
    }
    received.push(mail)
    arrival.resolve()
    arrival = Promise.withResolvers()
    await counterpart.onMail(mail)
    if (script === 'take and drop') return drop(session.id)
    if (script !== 'hang') done()
  }

  const server = new SMTPServer({
    authOptional: !accounts,
    disabledCommands: tls === 'starttls' ? [] : ['STARTTLS'],
    secure: tls === 'implicit',
    ...(tls && selfSigned()),
    disableReverseLookup: true,
    closeTimeout: 10,
    ...options,
    onConnect: (_session, done) => void reply(done, undefined, counterpart.onConnect()),
    onAuth({ username, password }, _session, done) {
      if (accounts && accounts[username!] !== password) done(refusal(535, `wrong: ${password}`))
      else done(null, { user: username })
    },
    onMailFrom(_address, { id }, done) {
      begun++
      const script = scripts.shift() ?? 'take'
      current.set(id, script)
      void reply(done, codesOf(script).sender, counterpart.onBegun())
    },
    onRcptTo({ address }, { id }, done) {
      const { recipient } = codesOf(current.get(id)!)
      void reply(done, typeof recipient === 'object' ? recipient[address] : recipient)
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => void take(Buffer.concat(chunks).toString(), session, done))
    },
  })
  server.on('error', () => undefined) // a client that breaks off
  server.server.on('connection', (socket: Socket) => {
    opened++
    socket.on('close', () => closed++)
  })
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  ending.after(async () => {
    const ended = new Promise<void>((resolve) => server.close(resolve))
    drop()
    await ended
  })

  const { port } = server.server.address() as AddressInfo
  const noHooks = { onConnect: () => undefined, onBegun: () => undefined, onMail: () => undefined }
  const counterpart: MailServer = {
    url: `smtp://127.0.0.1:${port}`,
    port,
    received,
    async mailTo(address) {
      for (;;) {
        const arrived = arrival.promise
        const mail = received.find((one) => one.to.includes(address) && !returned.has(one))
        if (mail) {
          returned.add(mail)
          return mail
        }
        await arrived
      }
    },
    begun: () => begun,
    connections: () => ({ opened, closed }),
    next: (...more) => void scripts.push(...more),
    drop: () => drop(),
    reset() {
      scripts.length = received.length = begun = 0
      Object.assign(counterpart, noHooks)
    },
    ...noHooks,
  }
  return counterpart
}
