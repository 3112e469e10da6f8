import { isIP } from 'node:net'
import type { Readable } from 'node:stream'

import { createTransport } from 'nodemailer'

import { StartError } from '../../../db/migrations.ts'
import type { MailProvider, OutgoingMail, Outcome } from '../provider.ts'

const CONNECTION_TIMEOUT_MS = 10_000
const DNS_TIMEOUT_MS = 5_000
/** Silence after which a connection is given up; a send also ends at its own limit. */
const SILENCE_MS = 30_000
/** Servers close idle connections, often after a minute: ours go before that. */
const IDLE_MS = 30_000
const CONNECTIONS = 5
const REASON_MAX = 300

/** RFC 4954, section 6: the server wants to know, or doesn't know, who sends. The mail is not what it refuses. */
const AUTH_REPLIES: ReadonlySet<number> = new Set([530, 534, 535, 538])

type Mailbox = { name: string; address: string }

/** An address that was refused while the mail went to the others. */
export type RefusedRecipient = { address: string; reason: string }

/**
 * Sends mail by SMTP over a pool of connections.
 *
 * Outcomes of `send`:
 * - `accepted`: the server took the mail. `id` is our Message-ID, by which its log can be searched as well. Where it
 *   took the mail for some recipients and refused others, that is `accepted` too, since another try would send it
 *   twice to those who have it; the refused ones are in `refusedRecipients`.
 * - `refused`: the server answered MAIL, RCPT or DATA with 5xx.
 * - `retry`: it answered 4xx or 503, or there was no connection, no TLS or no sign-in, or time was over, before the
 *   first byte of the mail left. A refused sign-in is here whatever its code: it says nothing about the mail.
 * - `unknown`: the connection or the time ended after the first byte of the mail had left.
 *
 * @param options.url `smtp://user:password@host:port`, with STARTTLS where the server offers it; `smtp+starttls://`
 *   (or `?requireTLS=true`) refuses to go on without it, so nobody between can strip it; `smtps://` is TLS from the
 *   start. Further parameters: `name` (said to the server as EHLO), `maxConnections` (5), `tls.servername`,
 *   `tls.rejectUnauthorized` (`false` takes any certificate). Special characters are percent-encoded.
 * @param options.from `hello@shop.example` or `Shop <hello@shop.example>`. Without it: `no-reply@` and the domain of
 *   the user where that is an address, else the host of `appUrl`, else the server's.
 * @param options.appUrl only for the default of `from`
 * @throws StartError where `url` or `from` can't be read
 */
export function smtp(options: { url: string; from?: string; appUrl?: string }): MailProvider {
  const server = readServer(options.url)
  const sender =
    options.from === undefined
      ? { name: '', address: defaultSender(server, options.appUrl) }
      : readMailbox(options.from)
  if (!sender) throw new StartError(`MAIL_FROM: "${options.from}" is not an address like hello@shop.example`)

  const transport = createTransport({
    pool: true,
    ...server,
    connectionTimeout: CONNECTION_TIMEOUT_MS,
    greetingTimeout: CONNECTION_TIMEOUT_MS,
    dnsTimeout: DNS_TIMEOUT_MS,
    socketTimeout: SILENCE_MS,
    idleTimeout: IDLE_MS,
    maxRequeues: 2,
    disableFileAccess: true,
    disableUrlAccess: true,
  })

  // Whether the content of a mail was begun. The error alone does not say: a lost connection or a timeout is
  // ECONNECTION, ESOCKET or ETIMEDOUT with the command CONN, before DATA as well as after it (nodemailer 10.6,
  // smtp-connection/index.js, _onClose, _onTimeout and _onSocketError). But the stream of the content is read only
  // once the server has answered DATA with 354 (the same, send), and nodemailer itself decides by it whether it may
  // send a mail again (smtp-pool/pool-resource.js, send, readableDidRead). So we keep hold of these streams.
  const contents = new WeakMap<AbortSignal, Readable[]>()
  transport.use('stream', (mail, done) => {
    const streams = mail.data.signal && contents.get(mail.data.signal)
    const { message } = mail
    const open = message.createReadStream.bind(message)
    message.createReadStream = (given) => {
      const stream = open(given)
      streams?.push(stream)
      return stream
    }
    done()
  })

  const underWay = new Set<Promise<Outcome>>()

  async function deliver(mail: OutgoingMail, limitMs: number): Promise<Outcome> {
    const from = mail.from === undefined ? sender : readMailbox(mail.from)
    const everybody = [...mail.to, ...mail.cc, ...mail.bcc]
    const addresses = [...everybody, ...(mail.replyTo === undefined ? [] : [mail.replyTo])]
    if (!from || !addresses.every(isAddress)) return { kind: 'refused', reason: 'an address is not valid' }

    const streams: Readable[] = []
    const limit = new AbortController()
    const timer = setTimeout(() => limit.abort(), limitMs)
    contents.set(limit.signal, streams)
    try {
      const sent = await transport.sendMail({
        signal: limit.signal,
        messageId: `<${mail.messageId}>`,
        from,
        // Objects are not parsed: one address stays one address.
        to: mail.to.map(plain),
        cc: mail.cc.map(plain),
        ...(mail.replyTo === undefined ? {} : { replyTo: plain(mail.replyTo) }),
        // What decides who receives it, whatever the headers say; and no header names who is in bcc.
        envelope: { from: plain(from.address), to: everybody.map(plain) },
        subject: mail.subject,
        html: mail.html,
        ...(mail.text === undefined ? {} : { text: mail.text }),
        attachments: mail.attachments.map(({ filename, contentType, content }) => ({
          filename,
          contentType,
          content,
        })),
      })
      const refusedRecipients = (sent.rejectedErrors ?? []).map((error): RefusedRecipient => ({
        address: error.recipient ?? '',
        reason: sentence(error),
      }))
      return {
        kind: 'accepted',
        id: mail.messageId,
        ...(refusedRecipients.length > 0 ? { refusedRecipients } : {}),
      }
    } catch (error) {
      return outcomeOf(
        error as SmtpError,
        streams.some((stream) => stream.readableDidRead),
        limitMs,
      )
    } finally {
      clearTimeout(timer)
    }
  }

  return {
    name: 'smtp',
    channel: 'email',

    send(mail, limitMs) {
      const sending = deliver(mail, limitMs).finally(() => underWay.delete(sending))
      underWay.add(sending)
      return sending
    },

    async check() {
      try {
        await transport.verify()
      } catch (error) {
        throw new Error(`${server.host}:${server.port}: ${sentence(error as SmtpError)}`, { cause: error })
      }
    },

    async close() {
      await Promise.all(underWay)
      transport.close()
    },
  }
}

type SmtpError = Error & {
  code?: string
  command?: string
  responseCode?: number
  permanent?: boolean
}

function outcomeOf(error: SmtpError, begun: boolean, limitMs: number): Outcome {
  if (error.code === 'EABORT') {
    const reason = `the server did not take the mail within ${limitMs / 1000} seconds`
    return begun ? { kind: 'unknown', reason } : { kind: 'retry', reason }
  }
  const reason = sentence(error)
  // EENVELOPE: MAIL, RCPT or DATA was refused. EMESSAGE: the mail was, after its last byte, or for its size before
  // the first. Either way the server, or nodemailer before anything was sent, has said no: that is certain.
  if (error.code === 'EENVELOPE' || error.code === 'EMESSAGE') {
    const { responseCode: reply } = error
    const forGood = reply === undefined || (error.permanent === true && !AUTH_REPLIES.has(reply))
    return { kind: forGood ? 'refused' : 'retry', reason }
  }
  if (error.code === 'EMAXRECIPIENTS') return { kind: 'refused', reason }
  return { kind: begun ? 'unknown' : 'retry', reason }
}

/** One line for the log: what a server answers is not ours, and may be of any length. */
function sentence({ code, message, responseCode }: SmtpError): string {
  // Some servers repeat in the answer what they were sent.
  if (code === 'EAUTH') return `the server refused the user or the password (${responseCode ?? 'no answer'})`
  const line = message.replace(/[\s\x00-\x1f\x7f]+/g, ' ').trim()
  return line.length > REASON_MAX ? `${line.slice(0, REASON_MAX)}…` : line
}

type Server = {
  host: string
  port: number
  secure: boolean
  requireTLS: boolean
  maxConnections: number
  name?: string
  auth?: { user: string; pass: string }
  tls: { servername?: string; rejectUnauthorized: boolean }
}

// Without the address itself in any message: it may hold a password.
const bad = (why: string): StartError => new StartError(`SMTP_URL: ${why}`)

function readServer(text: string): Server {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^smtp(s|\+starttls)?:$/.test(url.protocol) || url.hostname === '')
    throw bad(
      'write smtp://user:password@host:port, with smtp+starttls:// where TLS must be, or smtps:// for TLS at once',
    )
  if (!/^\/?$/.test(url.pathname) || url.hash !== '')
    throw bad('nothing but ?name=value may follow the host; write a / or # of a password as %2F or %23')

  const given = new Map(url.searchParams)
  const take = (name: string): string | undefined => {
    const value = given.get(name)
    given.delete(name)
    return value
  }
  const flag = (name: string, otherwise: boolean): boolean => {
    const value = take(name) ?? String(otherwise)
    if (value !== 'true' && value !== 'false') throw bad(`${name} is true or false`)
    return value === 'true'
  }
  const secure = url.protocol === 'smtps:'
  const requireTLS = flag('requireTLS', url.protocol === 'smtp+starttls:')
  const rejectUnauthorized = flag('tls.rejectUnauthorized', true)
  const servername = take('tls.servername')
  const name = take('name')
  const maxConnections = Number(take('maxConnections') ?? CONNECTIONS)
  if (!Number.isInteger(maxConnections) || maxConnections < 1 || maxConnections > 1000)
    throw bad('maxConnections is a number from 1 to 1000')
  const [unknown] = given.keys()
  if (unknown !== undefined)
    throw bad(
      `"${unknown}" is not known: there are requireTLS, name, maxConnections, tls.servername and tls.rejectUnauthorized`,
    )

  const user = decoded(url.username)
  const pass = decoded(url.password)
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? (secure ? 465 : 587) : Number(url.port),
    secure,
    requireTLS,
    maxConnections,
    ...(name === undefined ? {} : { name }),
    ...(user === '' && pass === '' ? {} : { auth: { user, pass } }),
    tls: { rejectUnauthorized, ...(servername === undefined ? {} : { servername }) },
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw bad('write a % of the user or the password as %25')
  }
}

function defaultSender(server: Server, appUrl: string | undefined): string {
  const user = server.auth?.user ?? ''
  const domain = isAddress(user)
    ? user.slice(user.lastIndexOf('@') + 1)
    : appUrl !== undefined && URL.canParse(appUrl)
      ? new URL(appUrl).hostname
      : server.host
  return `no-reply@${isIP(domain.replace(/^\[|\]$/g, '')) ? 'localhost' : domain}`
}

/** One address and nothing by which it could become two, or leave its line. What a mailbox is, is checked elsewhere. */
const isAddress = (text: string): boolean =>
  /^[^\s\x00-\x1f\x7f<>()[\],;:"\\@]+@[^\s\x00-\x1f\x7f<>(),;"\\@]+$/.test(text)

const plain = (address: string): Mailbox => ({ name: '', address })

/** `Name <address>` or a bare address. */
function readMailbox(text: string): Mailbox | undefined {
  const [, name = '', address = text.trim()] = /^\s*"?([^"<>\r\n]*?)"?\s*<([^<>]*)>\s*$/.exec(text) ?? []
  return isAddress(address) ? { name, address } : undefined
}
