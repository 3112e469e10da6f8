import { createHmac, timingSafeEqual } from 'node:crypto'

import type { Outcome, OutgoingText, TextProvider } from '../provider.ts'

const API_BASE = 'https://api.twilio.com'
const VERSION = '/2010-04-01/'
const LOOK_UP_MS = 10_000
const PAGE_SIZE = 1000
const PAGES_MAX = 20
const REASON_MAX = 300
/** Twilio's clock and ours differ, and its times are whole seconds. */
const CLOCK_SLACK_MS = 10_000
/** What an account on trial puts before each text. */
const TRIAL = 'Sent from your Twilio trial account - '

/** What we read of a message: https://www.twilio.com/docs/messaging/api/message-resource */
type Message = {
  sid?: string | null
  body?: string | null
  direction?: string
  /** RFC 2822. */
  date_created?: string | null
}
type Page = { messages?: Message[]; next_page_uri?: string | null }
type Problem = { code?: number; message?: string }

/**
 * Refusals by which nothing was accepted and that pass without anything about the text being changed:
 * https://www.twilio.com/docs/api/errors
 */
const PASSING: ReadonlySet<number> = new Set([
  14107, // the rate of messages is exceeded
  20003, // the account's credentials are not right, or it has no money left
  20005, // the account is not active
  20429, // too many requests
  21611, // the queue of this sender is full
])

/** Faults of a call that never reached Twilio, as they stand in `error.cause.code`. */
const NOT_SENT: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

/**
 * Sends SMS or WhatsApp messages through Twilio's Messages resource.
 *
 * Outcomes of `send`:
 * - `accepted`: 2xx with a sid, which is `id`. Whether it arrives is said to `statusCallback` later.
 * - `refused`: any other 4xx, with Twilio's code and sentence.
 * - `retry`: no connection, 429 (with its `Retry-After`), 401, or a code that passes, such as a full queue.
 * - `unknown`: 408, 5xx, an answer that was lost or can't be read, or time was over: Twilio has no idempotency key,
 *   and may have taken the message before it failed.
 *
 * @param options.from E.164, a short code or a sender's name; for SMS also the sid of a messaging service (`MG…`).
 *   WhatsApp's `whatsapp:` is put before it and the receiver where it is not there yet.
 * @param options.apiBase without a slash at its end
 * @param options.statusCallback where Twilio reports each step of a delivery; our id of the text is added as `?id=`.
 *   Left out where only this machine could reach it and Twilio is elsewhere: Twilio would refuse the message for it.
 */
export function twilio(options: {
  channel: TextProvider['channel']
  accountSid: string
  authToken: string
  from: string
  apiBase?: string
  statusCallback?: string
}): TextProvider {
  const { channel, accountSid, authToken } = options
  const base = (options.apiBase ?? API_BASE).replace(/\/+$/, '')
  const account = `${VERSION}Accounts/${encodeURIComponent(accountSid)}`
  const authorization = `Basic ${Buffer.from(`${accountSid}:${authToken}`).toString('base64')}`
  const callback =
    options.statusCallback !== undefined && (!isLocal(options.statusCallback) || isLocal(base))
      ? options.statusCallback
      : undefined

  const address = (number: string): string =>
    channel === 'whatsapp' && !number.startsWith('whatsapp:') ? `whatsapp:${number}` : number

  const call = (path: string, limitMs: number, body?: URLSearchParams): Promise<Response> =>
    fetch(base + path, {
      method: body ? 'POST' : 'GET',
      headers: { authorization, accept: 'application/json' },
      ...(body ? { body } : {}),
      // The credentials go nowhere else.
      redirect: 'manual',
      signal: AbortSignal.timeout(limitMs),
    })

  function form(text: OutgoingText): URLSearchParams {
    const fields = new URLSearchParams({ To: address(text.to), Body: text.body })
    const service = channel === 'sms' && /^MG[0-9a-f]{32}$/i.test(options.from)
    fields.set(service ? 'MessagingServiceSid' : 'From', address(options.from))
    if (text.media) fields.set('MediaUrl', text.media.url)
    if (callback !== undefined) {
      const url = new URL(callback)
      url.searchParams.set('id', text.id)
      fields.set('StatusCallback', url.href)
    }
    return fields
  }

  /** Twilio's own next page, but always below our base: the credentials go nowhere else. */
  const below = (uri: string): string => {
    const start = uri.indexOf(VERSION)
    if (start < 0) throw new Error('Twilio answered a next page that is not one of its own')
    return uri.slice(start)
  }

  return {
    name: 'twilio',
    channel,

    async send(text, limitMs) {
      const started = performance.now()
      try {
        const response = await call(`${account}/Messages.json`, limitMs, form(text))
        const answer = await response.text()
        return outcomeOf(response, parsed(answer))
      } catch (error) {
        if ((error as Error).name === 'TimeoutError') {
          const seconds = Math.round((performance.now() - started) / 100) / 10
          return { kind: 'unknown', reason: `Twilio has not answered for ${seconds} seconds` }
        }
        const code = causeOf(error)
        return NOT_SENT.has(code)
          ? { kind: 'retry', reason: `Twilio can't be reached (${code})` }
          : { kind: 'unknown', reason: `the connection to Twilio was lost (${code})` }
      }
    },

    /**
     * The oldest message of the account with this receiver and body. Twilio keeps nothing of ours beside them, so of
     * two equal texts to one number within seconds it can't be said which is which.
     *
     * @throws Error where Twilio can't be asked
     */
    async find(text, since) {
      const earliest = since - CLOCK_SLACK_MS
      const list = (more: Record<string, string>): string =>
        `${account}/Messages.json?${new URLSearchParams({ To: address(text.to), ...more, PageSize: String(PAGE_SIZE) }).toString()}`
      const dated = list({ 'DateSent>': new Date(earliest).toISOString().slice(0, 10) })

      async function look(first: string, pagesMax: number): Promise<string | undefined> {
        let found: { sid: string; created: number } | undefined
        let path: string | undefined = first
        for (let page = 0; path !== undefined; page++) {
          if (page === pagesMax) {
            if (pagesMax === 1) break
            throw new Error('Twilio lists too many messages for this number')
          }
          const response = await call(path, LOOK_UP_MS)
          const answer: unknown = parsed(await response.text())
          const listed = (answer as Page | undefined)?.messages
          if (!response.ok || !Array.isArray(listed))
            throw new Error(sentence(response.status, answer as Problem))
          for (const { sid, body, direction, date_created } of listed) {
            const created = Date.parse(date_created ?? '')
            if (typeof sid !== 'string' || direction === 'inbound' || !(created >= earliest)) continue
            if (!sameText(body ?? '', text.body)) continue
            if (!found || created < found.created) found = { sid, created }
          }
          const next: string | null | undefined = (answer as Page).next_page_uri
          path = typeof next === 'string' ? below(next) : undefined
        }
        return found?.sid
      }

      // What still waits at Twilio has no DateSent, so the newest are looked through without it as well.
      return (await look(dated, PAGES_MAX)) ?? look(list({}), 1)
    },

    async check() {
      const response = await call(`${account}.json`, LOOK_UP_MS).catch((error: unknown) => {
        throw new Error(`Twilio can't be reached (${causeOf(error)})`, { cause: error })
      })
      const answer = parsed(await response.text()) as (Problem & { status?: unknown }) | undefined
      if (response.status === 401) throw new Error('Twilio does not know this account or its token')
      if (!response.ok) throw new Error(sentence(response.status, answer))
      if (answer?.status !== 'active') throw new Error(`the Twilio account is ${String(answer?.status)}`)
    },

    async close() {},
  }
}

/**
 * Whether Twilio signed a request to this address: HMAC-SHA1 of the address and the sorted parameters, by the
 * account's token (https://www.twilio.com/docs/usage/security#validating-requests). It says nothing about when: the
 * same request stays valid.
 *
 * @param url the whole configured address with its query, never one built from the Host header
 * @param params the fields of the form; a field that is there several times as an array
 * @param signature the header `X-Twilio-Signature`
 */
export function validSignature(
  authToken: string,
  url: string,
  params: Readonly<Record<string, string | readonly string[]>>,
  signature: string,
): boolean {
  // A blank token would make everybody's signature valid.
  if (authToken === '') return false
  const given = Buffer.from(signature)
  const fields = Object.keys(params)
    .toSorted()
    .map((name) => {
      const value = params[name]!
      return typeof value === 'string'
        ? name + value
        : [...new Set(value)]
            .toSorted()
            .map((one) => name + one)
            .join('')
    })
    .join('')
  // Twilio signs with the standard port or without it, by the kind of request.
  return [withPort(url), withoutPort(url), url].some((address) => {
    const right = Buffer.from(
      createHmac('sha1', authToken)
        .update(address + fields)
        .digest('base64'),
    )
    return given.length === right.length && timingSafeEqual(given, right)
  })
}

const ORIGIN = /^(https?):\/\/([^/?#:]+|\[[^\]]*\])(:\d+)?(?=[/?#]|$)/i
const withPort = (url: string): string =>
  url.replace(
    ORIGIN,
    (_all, scheme: string, host: string, port?: string) =>
      `${scheme}://${host}${port ?? (scheme.toLowerCase() === 'https' ? ':443' : ':80')}`,
  )
const withoutPort = (url: string): string => url.replace(ORIGIN, '$1://$2')

function outcomeOf(response: Response, answer: unknown): Outcome {
  const { status } = response
  if (response.ok) {
    const sid = (answer as Message | undefined)?.sid
    return typeof sid === 'string' && sid !== ''
      ? { kind: 'accepted', id: sid }
      : { kind: 'unknown', reason: `Twilio answered ${status} without a message` }
  }
  const problem = answer as Problem | undefined
  const reason = sentence(status, problem)
  if (status >= 500 || status === 408) return { kind: 'unknown', reason }
  if (status === 429 || status === 401 || status < 400 || PASSING.has(problem?.code ?? 0)) {
    const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
    return { kind: 'retry', reason, ...(seconds > 0 ? { afterMs: seconds * 1000 } : {}) }
  }
  return { kind: 'refused', reason }
}

/** One line for the log. */
function sentence(status: number, problem: Problem | undefined): string {
  const { code, message } = problem ?? {}
  if (typeof code !== 'number' || typeof message !== 'string') return `Twilio answered ${status}`
  const line = `Twilio ${code}: ${message.replace(/[\s\x00-\x1f\x7f]+/g, ' ').trim()}`
  return line.length > REASON_MAX ? `${line.slice(0, REASON_MAX)}…` : line
}

/** The JSON object of an answer; undefined where it is something else, such as a proxy's page. */
function parsed(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

function causeOf(error: unknown): string {
  const { cause, name } = error as Error
  const code = (cause as { code?: unknown } | undefined)?.code
  return typeof code === 'string' ? code : name
}

const sameText = (theirs: string, ours: string): boolean =>
  [ours, TRIAL + ours].some((text) => text.trim() === theirs.trim())

const isLocal = (url: string): boolean =>
  URL.canParse(url) &&
  /^(localhost|.*\.localhost|127\.\d+\.\d+\.\d+|\[::1\]|0\.0\.0\.0)$/.test(new URL(url).hostname)
