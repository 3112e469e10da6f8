import { Readable } from 'node:stream'

import { systemClock } from '../../../base/clock.ts'
import { onceResolved } from '../../../base/once.ts'
import { StartError } from '../../../base/start-error.ts'
import { PendingPromises } from '../../../base/pending-promises.ts'
import type { MailProvider, OutgoingMail, SendOutcome, RefusedRecipient } from './provider.ts'
import { isAddress, plain, readMailbox, type Mailbox } from './mailbox.ts'
import { outcomeOf, sentence, type SmtpError } from './smtp-outcome.ts'
import { defaultSender, readServer, warningsOf, type SmtpServer } from './smtp-url.ts'

const CONNECTION_TIMEOUT_MS = 10_000
const DNS_TIMEOUT_MS = 5_000
/** Silence after which a connection is given up; a send also ends at its own limit. */
const SILENCE_MS = 30_000
/** Servers close idle connections, often after a minute: ours go before that. */
const IDLE_MS = 30_000

/**
 * A provider that sends email by SMTP, over a pool of connections.
 *
 * Outcomes of `send`:
 * - `accepted`: the server accepted the email. `id` is our Message-ID, which the server's log has as well. If the
 *   server accepted it for some recipients only, the others are in `refusedRecipients`; it is not sent again, because
 *   the first ones would get it twice.
 * - `refused`: the server answered MAIL, RCPT or DATA with 5xx.
 * - `retry`: before the first byte of the email was sent, the server answered 4xx or 503, the connection, TLS or the
 *   sign-in failed, or the time limit ended. A refused sign-in is always `retry`: it says nothing about the email.
 * - `unknown`: the connection or the time limit ended after the first byte of the email was sent.
 *
 * @param options.url `smtp://user:password@host:port` uses STARTTLS if the server offers it, and requires it to send a
 *   password to another machine. `smtp+starttls://` or `?requireTLS=true` always
 *   requires it; `smtps://` uses TLS from the first byte. Other parameters: `name` (in EHLO), `maxConnections`
 *   (default 5), `maxMessages` (emails over one connection before it is replaced, default 100), `tls.servername`,
 *   `tls.rejectUnauthorized` (`false` accepts any certificate). Special characters are percent-encoded.
 * @param options.from `hello@shop.example` or `Shop <hello@shop.example>`. Default: `no-reply@` and the domain of the
 *   user if that is an address, else the host of `appUrl`, else that of the server
 * @param options.appUrl used for the default of `from` only
 * @param clock for the time limit of a call
 * @throws StartError if `url` or `from` is invalid
 * @example
 * import { defineConfig } from 'sixwire'
 * import { smtp } from 'sixwire/smtp'
 *
 * export default defineConfig({
 *   messaging: { email: [smtp({ url: 'smtps://user:password@mail.example:465', from: 'hello@shop.example' })] },
 * })
 */
export function smtp(
  options: { url: string; from?: string; appUrl?: string },
  clock = systemClock,
): MailProvider {
  const server = readServer(options.url)
  const sender = senderOf(options, server)

  const contents: Contents = new WeakMap()
  let isOpened = false
  // With the first mail: a start does not load its package.
  const open = onceResolved(async () => {
    const transport = await openTransport(server, contents)
    isOpened = true
    return transport
  })

  const calls = new PendingPromises()

  async function deliver(mail: OutgoingMail, limitMs: number): Promise<SendOutcome> {
    const everybody = [...mail.to, ...mail.cc, ...mail.bcc]
    const addresses = [...everybody, ...(mail.replyTo === undefined ? [] : [mail.replyTo])]
    if (!addresses.every(isAddress)) return { kind: 'refused', reason: 'an address is not valid' }

    const streams: Readable[] = []
    const limit = new AbortController()
    const clearLimit = clock.timer(limitMs, () => limit.abort())
    contents.set(limit.signal, streams)
    try {
      const info = await (
        await open()
      ).sendMail({
        signal: limit.signal,
        messageId: `<${mail.messageId}>`,
        from: sender,
        // Objects are not parsed: one address stays one address.
        to: mail.to.map(plain),
        cc: mail.cc.map(plain),
        ...(mail.replyTo === undefined ? {} : { replyTo: plain(mail.replyTo) }),
        // What decides who receives it, whatever the headers say; and no header names who is in bcc.
        envelope: { from: plain(sender.address), to: everybody.map(plain) },
        subject: subjectOf(mail.subject),
        html: mail.html,
        ...(mail.text === undefined ? {} : { text: mail.text }),
        attachments: mail.attachments.map(({ filename, contentType, content }) => ({
          filename,
          contentType,
          content,
        })),
      })
      const refusedRecipients = (info.rejectedErrors ?? []).map((error): RefusedRecipient => ({
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
      clearLimit()
    }
  }

  return {
    name: 'smtp',
    channel: 'email',
    warnings: warningsOf(server),

    send: (mail, limitMs) => calls.add(deliver(mail, limitMs)),

    async check() {
      try {
        await (await open()).verify()
      } catch (error) {
        throw new Error(`${server.host}:${server.port}: ${sentence(error as SmtpError)}`, { cause: error })
      }
    },

    async close() {
      await calls.idle()
      if (isOpened) (await open()).close()
    },
  }
}

// Whether the content of a mail was begun. The error alone does not say: a lost connection or a timeout is
// ECONNECTION, ESOCKET or ETIMEDOUT with the command CONN, before DATA as well as after it (nodemailer 10.6,
// smtp-connection/index.js, _onClose, _onTimeout and _onSocketError). But the stream of the content is read only
// once the server has answered DATA with 354 (the same, send), and nodemailer itself decides by it whether it may
// send a mail again (smtp-pool/pool-resource.js, send, readableDidRead). So these streams are ours. Each gives the
// mail in one piece: nodemailer's own gives each header and boundary alone, and each of these is a call of the system.
type Contents = WeakMap<AbortSignal, Readable[]>

async function openTransport(server: SmtpServer, contents: Contents) {
  const { createTransport } = await import('nodemailer')
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
  transport.use('stream', (mail, done) => {
    const streams = mail.data.signal && contents.get(mail.data.signal)
    const { message } = mail
    message.build((error, bytes) => {
      if (error) return done(error)
      message.createReadStream = () => {
        const stream = Readable.from(bytes, { objectMode: false })
        streams?.push(stream)
        return stream
      }
      done()
    })
  })
  return transport
}

/** Text that could be taken for an encoded word is itself encoded (RFC 2047, section 5), in words of at most 75 characters. */
const subjectOf = (text: string): string =>
  text.includes('=?')
    ? text
        .match(/.{1,11}/gsu)!
        .map((part) => `=?UTF-8?B?${Buffer.from(part).toString('base64')}?=`)
        .join(' ')
    : text

function senderOf({ from, appUrl }: { from?: string; appUrl?: string }, server: SmtpServer): Mailbox {
  if (from === undefined) return plain(defaultSender(server, appUrl))
  const mailbox = readMailbox(from)
  if (!mailbox)
    throw new StartError(
      `MAIL_FROM, or the from of smtp(): "${from}" is not an address like hello@shop.example`,
    )
  return mailbox
}
