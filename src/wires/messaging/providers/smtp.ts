import { Readable } from 'node:stream'

import { createTransport } from 'nodemailer'

import { systemClock } from '../../../base/clock.ts'
import { StartError } from '../../../base/start-error.ts'
import { trackCalls } from '../../../providers/under-way.ts'
import type { MailProvider, OutgoingMail, Outcome, RefusedRecipient } from '../provider.ts'
import { isAddress, plain, readMailbox, type Mailbox } from './mailbox.ts'
import { outcomeOf, sentence, type SmtpError } from './smtp-outcome.ts'
import { defaultSender, readServer, type Server } from './smtp-url.ts'

const CONNECTION_TIMEOUT_MS = 10_000
const DNS_TIMEOUT_MS = 5_000
/** Silence after which a connection is given up; a send also ends at its own limit. */
const SILENCE_MS = 30_000
/** Servers close idle connections, often after a minute: ours go before that. */
const IDLE_MS = 30_000

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
 * @param options.url `smtp://user:password@host:port`, with STARTTLS, which must be where a password is said to another
 *   machine (`?requireTLS=false` goes on without it), and is used where it is offered otherwise; `smtp+starttls://`, or
 *   `?requireTLS=true`, insists on it always; `smtps://` is TLS from the start. Further parameters: `name` (said to the server as EHLO), `maxConnections` (5), `maxMessages` (how
 *   many go over one connection before another is opened, 100), `tls.servername`, `tls.rejectUnauthorized` (`false`
 *   takes any certificate). Special characters are percent-encoded.
 * @param options.from `hello@shop.example` or `Shop <hello@shop.example>`. Without it: `no-reply@` and the domain of
 *   the user where that is an address, else the host of `appUrl`, else the server's.
 * @param options.appUrl only for the default of `from`
 * @param clock for the limit of a send
 * @throws StartError where `url` or `from` can't be read
 */
export function smtp(
  options: { url: string; from?: string; appUrl?: string },
  clock = systemClock,
): MailProvider {
  const server = readServer(options.url)
  const sender = senderOf(options, server)

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
  // send a mail again (smtp-pool/pool-resource.js, send, readableDidRead). So these streams are ours. Each gives the
  // mail in one piece: nodemailer's own gives each header and boundary alone, and each of these is a call of the system.
  const contents = new WeakMap<AbortSignal, Readable[]>()
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

  const calls = trackCalls()

  async function deliver(mail: OutgoingMail, limitMs: number): Promise<Outcome> {
    const everybody = [...mail.to, ...mail.cc, ...mail.bcc]
    const addresses = [...everybody, ...(mail.replyTo === undefined ? [] : [mail.replyTo])]
    if (!addresses.every(isAddress)) return { kind: 'refused', reason: 'an address is not valid' }

    const streams: Readable[] = []
    const limit = new AbortController()
    const clearLimit = clock.timer(limitMs, () => limit.abort())
    contents.set(limit.signal, streams)
    try {
      const sent = await transport.sendMail({
        signal: limit.signal,
        messageId: `<${mail.messageId}>`,
        from: sender,
        // Objects are not parsed: one address stays one address.
        to: mail.to.map(plain),
        cc: mail.cc.map(plain),
        ...(mail.replyTo === undefined ? {} : { replyTo: plain(mail.replyTo) }),
        // What decides who receives it, whatever the headers say; and no header names who is in bcc.
        envelope: { from: plain(sender.address), to: everybody.map(plain) },
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
      clearLimit()
    }
  }

  return {
    name: 'smtp',
    channel: 'email',

    send: (mail, limitMs) => calls.track(deliver(mail, limitMs)),

    async check() {
      try {
        await transport.verify()
      } catch (error) {
        throw new Error(`${server.host}:${server.port}: ${sentence(error as SmtpError)}`, { cause: error })
      }
    },

    async close() {
      await calls.ended()
      transport.close()
    },
  }
}

function senderOf({ from, appUrl }: { from?: string; appUrl?: string }, server: Server): Mailbox {
  if (from === undefined) return plain(defaultSender(server, appUrl))
  const mailbox = readMailbox(from)
  if (!mailbox)
    throw new StartError(
      `MAIL_FROM, or the from of smtp(): "${from}" is not an address like hello@shop.example`,
    )
  return mailbox
}
