import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'

import type { Logger } from '../../../server/src/base/logger.ts'
import type { Clock } from '../../../server/src/base/clock.ts'
import type { Database } from '../../../server/src/db/database.ts'
import type { Callbacks } from '../callbacks.ts'
import { faulty, type ProviderFault, type Faults, type FaultyHandler } from '../faults.ts'
import { formOf, takeForms } from '../forms.ts'
import { createAnswerError, statusError, TwilioError } from './errors.ts'
import {
  OWN_NUMBER,
  OWN_WHATSAPP_NUMBER,
  REFUSED_RECEIVERS,
  REFUSED_SENDERS,
  UNREACHED_RECEIVERS,
  type Refusal,
} from './magic.ts'
import {
  OUTCOME_MS,
  SENT_MS,
  statusAt,
  type PhoneChannel,
  type PhoneMessage,
  type Messages,
} from './messages.ts'
import { API_VERSION, channelAddress, reportsOf, type TwilioAccount, type TwilioReport } from './reports.ts'
import { segmentsOf } from './segments.ts'

const BODY_MAX = 1_600
const MEDIA_MAX = 10
const PAGE_DEFAULT = 50
const PAGE_MAX = 1_000

export type TwilioApiOptions = {
  db: Database
  clock: Clock
  log: Logger
  account: TwilioAccount
  messages: Messages
  callbacks: Callbacks<TwilioReport>
  faults: Faults
}

/** RFC 2822, as Twilio writes times. */
const rfcTime = (ms: number): string => new Date(ms).toUTCString().replace('GMT', '+0000')

/** `whatsapp:+49…` or `+49…`. */
function readAddress(text: string): { channel: PhoneChannel; number: string } {
  return text.startsWith('whatsapp:')
    ? { channel: 'whatsapp', number: text.slice('whatsapp:'.length) }
    : { channel: 'sms', number: text }
}

const isE164 = (number: string): boolean => /^\+[1-9]\d{6,14}$/.test(number)

const isWebAddress = (text: string): boolean => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)

/**
 * Reads the message that a caller sends.
 *
 * @throws TwilioError with Twilio's own code and message
 */
function readMessage(
  form: URLSearchParams,
): Omit<PhoneMessage, 'id' | 'sid' | 'createdAt'> & { callback?: string } {
  const [toText, fromText, body] = ['To', 'From', 'Body'].map((name) => form.get(name) ?? '') as [
    string,
    string,
    string,
  ]
  const media = form.getAll('MediaUrl').filter((url) => url !== '')
  const callback = form.get('StatusCallback') ?? ''
  if (toText === '') throw new TwilioError(21604, "A 'To' phone number is required.")
  if (fromText === '') throw new TwilioError(21603, "A 'From' phone number is required.")
  if (body === '' && media.length === 0)
    throw new TwilioError(21619, 'A text message body or media urls must be specified.')
  if (body.length > BODY_MAX)
    throw new TwilioError(21617, `The concatenated message body exceeds the ${BODY_MAX} character limit.`)
  if (media.length > MEDIA_MAX) throw new TwilioError(21623, 'Number of media files exceeds allowed limit')
  const unusable = media.find((url) => !isWebAddress(url))
  if (unusable !== undefined) throw new TwilioError(21620, `Invalid media URL(s): ${unusable}`)
  if (callback !== '' && !isWebAddress(callback))
    throw new TwilioError(21609, `The 'StatusCallback' URL ${callback} is not a valid URL.`)

  const to = readAddress(toText)
  const from = readAddress(fromText)
  if (to.channel !== from.channel)
    throw new TwilioError(
      21910,
      "Invalid 'From' and 'To' pair. 'From' and 'To' should be of the same channel",
    )
  const pair = { to: toText, from: fromText }
  const refusalOf = ({ code, message, status }: Refusal) => new TwilioError(code, message(pair), status)
  const refusedSender = REFUSED_SENDERS.get(from.number)
  if (refusedSender) throw refusalOf(refusedSender)
  if (from.channel === 'whatsapp' && from.number !== OWN_WHATSAPP_NUMBER)
    throw new TwilioError(63007, 'Twilio could not find a Channel with the specified From address')
  if (from.channel === 'sms' && from.number !== OWN_NUMBER)
    throw new TwilioError(
      21606,
      `The 'From' phone number provided (${fromText}) is not a valid message-capable Twilio phone number for this destination.`,
    )
  if (!isE164(to.number)) throw new TwilioError(21211, `Invalid 'To' Phone Number: ${toText}`)
  const refusedReceiver = REFUSED_RECEIVERS.get(to.number)
  if (refusedReceiver) throw refusalOf(refusedReceiver)
  const unreached = UNREACHED_RECEIVERS.get(to.number)
  return {
    channel: to.channel,
    to: to.number,
    from: from.number,
    body,
    media,
    outcome: unreached?.outcome ?? 'delivered',
    errorCode: unreached?.errorCode ?? null,
    ...(callback !== '' && { callback }),
  }
}

/** A day, or a time to the second, as a range of milliseconds. */
function readTime(text: string): { from: number; until: number } {
  const from = Date.parse(text)
  if (Number.isNaN(from)) throw new TwilioError(20001, `Invalid date: ${text}`)
  return { from, until: from + (/^\d{4}-\d\d-\d\d$/.test(text) ? 86_400_000 : 1_000) - 1 }
}

/**
 * Twilio's resource Messages, and the account, as far as a client that sends needs them, below one prefix.
 *
 * @see https://www.twilio.com/docs/messaging/api/message-resource
 */
export const createTwilioApi = (options: TwilioApiOptions): FastifyPluginAsync => {
  const { db, clock, log, account, messages, callbacks, faults } = options
  const root = `/${API_VERSION}/Accounts/${account.sid}`
  const credentials = `Basic ${Buffer.from(`${account.sid}:${account.token}`).toString('base64')}`

  /** @param now milliseconds since 1970 */
  function resourceOf(message: PhoneMessage, now: number): Record<string, unknown> {
    const { sid, channel, to, from, body, media, outcome, errorCode, createdAt } = message
    const status = statusAt(message, now)
    const isFinal = status === outcome
    const uri = `${root}/Messages/${sid}`
    return {
      account_sid: account.sid,
      api_version: API_VERSION,
      body,
      date_created: rfcTime(createdAt),
      date_sent: status === 'queued' ? null : rfcTime(createdAt + SENT_MS),
      date_updated: rfcTime(isFinal ? createdAt + OUTCOME_MS : createdAt),
      direction: 'outbound-api',
      error_code: isFinal ? errorCode : null,
      error_message: isFinal ? (UNREACHED_RECEIVERS.get(to)?.message ?? null) : null,
      from: channelAddress(channel, from),
      messaging_service_sid: null,
      num_media: String(media.length),
      num_segments: String(segmentsOf(body)),
      price: null,
      price_unit: 'USD',
      sid,
      status,
      subresource_uris: { media: `${uri}/Media.json` },
      to: channelAddress(channel, to),
      uri: `${uri}.json`,
    }
  }

  type Answer = Record<string, unknown>

  const answering = (handle: FaultyHandler) => faulty(faults, 'phone', refuse, handle)

  async function create(
    { body }: FastifyRequest,
    reply: FastifyReply,
    fault: ProviderFault,
  ): Promise<Answer> {
    const { callback, ...input } = readMessage(formOf(body))
    const message = messages.create(input)
    await db.batch([
      ...messages.insertSql(message),
      ...(callback === undefined
        ? []
        : callbacks.insertSql(reportsOf(account, message, callback), fault.callback)),
    ])
    reply.code(201)
    return resourceOf(message, message.createdAt)
  }

  async function find(request: FastifyRequest): Promise<Answer> {
    const { name } = request.params as { name: string }
    const message = name.endsWith('.json') ? await messages.find(name.slice(0, -'.json'.length)) : undefined
    if (!message) throw notFound(request)
    return resourceOf(message, clock.now())
  }

  async function list(request: FastifyRequest): Promise<Answer> {
    const parameters = new URLSearchParams(request.url.split('?', 2)[1] ?? '')
    const size = Math.max(
      1,
      Math.min(PAGE_MAX, Math.trunc(Number(parameters.get('PageSize'))) || PAGE_DEFAULT),
    )
    const page = Math.max(0, Math.trunc(Number(parameters.get('Page'))) || 0)
    const [to, from] = ['To', 'From'].map((name) => {
      const text = parameters.get(name)
      return text ? readAddress(text) : undefined
    })
    const [on, since, until] = ['DateSent', 'DateSent>', 'DateSent<'].map((name) => {
      const text = parameters.get(name)
      return text ? readTime(text) : undefined
    })
    const channel = to?.channel ?? from?.channel
    const messageRows = await messages.list({
      ...(channel && { channel }),
      ...(to && { to: to.number }),
      ...(from && { from: from.number }),
      // A queued message has no such date, so lists by date do not contain it.
      ...((on ?? since ?? until) && {
        since: Math.max(on?.from ?? 0, since?.from ?? 0) - SENT_MS,
        until: Math.min(on?.until ?? Infinity, until?.until ?? Infinity, clock.now()) - SENT_MS,
      }),
      ...(parameters.has('PageToken') && { before: parameters.get('PageToken')!.slice('PA'.length) }),
      limit: size + 1,
    })
    const pageRows = messageRows.slice(0, size)
    const now = clock.now()
    const address = (number: number, token?: string): string => {
      const query = new URLSearchParams(parameters)
      query.set('PageSize', String(size))
      query.set('Page', String(number))
      if (token === undefined) query.delete('PageToken')
      else query.set('PageToken', `PA${token}`)
      return `${root}/Messages.json?${query.toString()}`
    }
    return {
      end: Math.max(0, page * size + pageRows.length - 1),
      first_page_uri: address(0),
      messages: pageRows.map((one) => resourceOf(one, now)),
      next_page_uri: messageRows.length > size ? address(page + 1, pageRows.at(-1)!.id) : null,
      page,
      page_size: size,
      previous_page_uri: null,
      start: page * size,
      uri: address(page, parameters.get('PageToken')?.slice('PA'.length)),
    }
  }

  async function showAccount(): Promise<Answer> {
    const since = rfcTime(0)
    return {
      auth_token: account.token,
      date_created: since,
      date_updated: since,
      friendly_name: 'Sixwire sandbox',
      owner_account_sid: account.sid,
      sid: account.sid,
      status: 'active',
      subresource_uris: { messages: `${root}/Messages.json` },
      type: 'Full',
      uri: `${root}.json`,
    }
  }

  return async (engine) => {
    engine.removeAllContentTypeParsers()
    takeForms(engine)
    engine.setErrorHandler(createAnswerError(log))
    engine.setNotFoundHandler((request) => {
      throw notFound(request)
    })
    engine.addHook('onRequest', async ({ headers }) => {
      if (headers.authorization !== credentials) throw statusError(401)
    })
    engine.post(`${root}/Messages.json`, answering(create))
    engine.get(`${root}/Messages.json`, answering(list))
    engine.get(`${root}/Messages/:name`, answering(find))
    engine.get(`${root}.json`, answering(showAccount))
  }
}

const refuse = (status: number): never => {
  throw statusError(status)
}

const notFound = ({ url }: FastifyRequest): TwilioError => {
  const [path] = url.split('?', 1) as [string]
  const below = path.slice(Math.max(0, path.indexOf(`/${API_VERSION}/`)))
  return statusError(404, `The requested resource ${below} was not found`)
}
