import type { LookupFunction } from 'node:net'

import { systemClock, type Clock } from '../base/clock.ts'
import { isPublicAddress } from '../base/ip-address.ts'
import { StartError } from '../base/start-error.ts'
import type { IsRefused } from './addresses.ts'
import { createSend, type OutboundMethod, type Reply } from './exchange.ts'

const CONNECT_MS = 3_000
/** The share of a call's time that connecting may take, so that time is left for another provider. */
const CONNECT_SHARE = 0.4
const LIMIT_MS = 10_000
const MAX_BYTES = 1_048_576
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
/** The headers that a redirect to another origin may carry. */
const PUBLIC_HEADERS: ReadonlySet<string> = new Set(['accept', 'accept-language', 'user-agent'])

/** Options of a client for one provider, or for any address. */
export type OutboundOptions = {
  /** The name of the peer in reasons, such as `Twilio`. Default: the origin of the address. */
  name?: string
  /** `https://api.example/v1`: the paths of calls are below it. Without a base, calls have absolute URLs. */
  base?: string | URL
  /** Sent with each call, such as `authorization`. */
  headers?: Readonly<Record<string, string>>
  /** Milliseconds for DNS, TCP and TLS together. Default: 3,000, but at most 40 % of the call's limit. */
  connectMs?: number
  /** Milliseconds for a call with its answer; a call can have its own. Default: 10,000. */
  limitMs?: number
  /** The largest body of an answer, in bytes. Default: 1 MiB. */
  maxBytes?: number
  /** How many redirects a GET or HEAD follows. Default: 0; a redirect is then an answer like any other. */
  redirects?: number
  /**
   * Whether addresses outside of the public internet are refused: for URLs that users enter. The address that is
   * connected to is checked, for each redirect again. Default: false.
   */
  refusePrivate?: boolean
  /**
   * Whether connections are reused. The peer can close an idle connection at the moment when a request is sent on it;
   * the outcome of that call is then unknown. Default: false.
   */
  keepAlive?: boolean
  /** Default: the system's clock. */
  clock?: Clock
  /** Default: the system's resolver. */
  lookup?: LookupFunction
  /** Decides instead of `refusePrivate` which addresses are refused. */
  isRefused?: IsRefused
  /** The certificate authorities to trust, in PEM. Default: those of Node. */
  ca?: string
}

/** One call. Without a body the method is GET by default, else POST. */
export type OutboundCall = {
  method?: OutboundMethod
  headers?: Readonly<Record<string, string | undefined>>
  /** Sent as `application/json`. */
  json?: unknown
  /** Sent as `application/x-www-form-urlencoded`. */
  form?: URLSearchParams | Readonly<Record<string, string>>
  /** Sent unchanged; set its content type in `headers`. */
  body?: string | Buffer
  /** Milliseconds for this call with its answer. Default: that of the client. */
  limitMs?: number
  /** Ends the call at once, as its limit does. */
  signal?: AbortSignal
}

export type { OutboundMethod, Reply }
/** A reply with an HTTP answer, whatever its status. */
export type Answered = Reply & { kind: 'answered' }

/** A client for calls to other servers. */
export type Outbound = {
  /**
   * Calls a server. Resolves within the limit, never rejects, and never sends a request twice. The reply is `answered`
   * (with any status), `not-sent` (certainly), or `unknown` (sent, but without a complete answer).
   *
   * @param address a path below the base that starts with a slash; without a base an absolute URL
   * @example
   * const reply = await outbound.call('/messages', { method: 'POST', form: { To: '+4915112345678' } })
   * if (reply.kind === 'answered' && reply.status === 201) …
   */
  call(address: string | URL, call?: OutboundCall): Promise<Reply>
  /** Closes idle connections. */
  close: () => void
}

/**
 * Creates a client for calls to other HTTP servers. Every HTTP call to a provider uses one.
 *
 * An answer with any status is returned as it is. Redirects are followed only if `redirects` allows it; only `accept`,
 * `accept-language` and `user-agent` are sent to another origin. Answers are requested without compression, and never
 * decompressed.
 *
 * @throws StartError if the base is not an http or https URL, or has credentials
 * @example
 * const outbound = createOutbound({
 *   name: 'Acme',
 *   base: 'https://api.acme.example/v1',
 *   headers: { authorization: `Bearer ${token}` },
 * })
 * const reply = await outbound.call('/messages', { json: { to: '+4915112345678' }, limitMs: 5_000 })
 * if (reply.kind !== 'answered') throw new Error(reply.reason)
 */
export function createOutbound(options: OutboundOptions = {}): Outbound {
  const { clock = systemClock, maxBytes = MAX_BYTES, redirects = 0, keepAlive = false, ca, lookup } = options
  const base = options.base === undefined ? undefined : readBase(options.base)
  const isRefused = options.isRefused ?? (options.refusePrivate ? isNotPublic : undefined)
  const { send, close } = createSend({ clock }, { keepAlive, isRefused, lookup, ca })

  async function call(address: string | URL, request: OutboundCall = {}): Promise<Reply> {
    const limitMs = request.limitMs ?? options.limitMs ?? LIMIT_MS
    const deadline = clock.elapsed() + limitMs
    const target = readAddress(address, base)
    if (typeof target === 'string') return { kind: 'not-sent', reason: target }
    let content: ReturnType<typeof contentOf>
    try {
      content = contentOf(request)
    } catch {
      return { kind: 'not-sent', reason: 'the body of the request is not a JSON value' }
    }
    const method = request.method ?? (content.body === undefined ? 'GET' : 'POST')
    let headers = headersOf(options.headers, content.headers, request.headers)
    let url = target
    for (let hops = 0; ; hops++) {
      const leftMs = deadline - clock.elapsed()
      const reply = await send({
        url,
        method,
        headers,
        body: content.body,
        connectMs: options.connectMs ?? Math.min(CONNECT_MS, leftMs * CONNECT_SHARE),
        limitMs: leftMs,
        maxBytes,
        name: options.name ?? url.origin,
        signal: request.signal,
      })
      // After a redirect something was sent, whatever became of the hop.
      if (reply.kind === 'not-sent' && hops > 0) return { kind: 'unknown', reason: reply.reason }
      if (reply.kind !== 'answered' || redirects === 0 || !REDIRECTS.has(reply.status)) return reply
      const { location } = reply.headers
      if (location === undefined || (method !== 'GET' && method !== 'HEAD')) return reply
      if (hops === redirects)
        return { kind: 'unknown', reason: `${target.origin} redirects more than ${redirects} times` }
      const next = readAddress(URL.canParse(location, url) ? new URL(location, url) : location, undefined)
      if (typeof next === 'string') return { kind: 'unknown', reason: `after a redirect, ${next}` }
      if (url.protocol === 'https:' && next.protocol !== 'https:')
        return { kind: 'unknown', reason: `${url.origin} redirects from https to http` }
      if (next.origin !== url.origin)
        headers = Object.fromEntries(Object.entries(headers).filter(([name]) => PUBLIC_HEADERS.has(name)))
      url = next
    }
  }

  return { call, close }
}

/** Parses the body of an answer as JSON; returns undefined if it is not JSON. */
export function jsonOf({ body }: Pick<Answered, 'body'>): unknown {
  try {
    return JSON.parse(body.toString())
  } catch {
    return undefined
  }
}

const isNotPublic: IsRefused = (address) => !isPublicAddress(address)

type Base = { origin: string; prefix: string }

function readBase(base: string | URL): Base {
  const url = URL.canParse(base) ? new URL(base) : undefined
  if (!url || !/^https?:$/.test(url.protocol))
    throw new StartError('the base of a provider is not an address like https://api.example')
  if (url.username || url.password)
    throw new StartError(`${url.origin}: send credentials by a header, not in the address`)
  return { origin: url.origin, prefix: url.pathname.replace(/\/+$/, '') }
}

/** The address of a call, or what is wrong with it. */
function readAddress(address: string | URL, base: Base | undefined): URL | string {
  if (!base) {
    const url = URL.canParse(address) ? new URL(address) : undefined
    if (!url) return 'the address can not be read'
    if (url.username || url.password) return 'the address holds credentials'
    return url
  }
  const root = base.origin + base.prefix
  const text = String(address)
  const url = text.startsWith('/') && URL.canParse(root + text) ? new URL(root + text) : undefined
  return url?.href.startsWith(`${root}/`) ? url : 'the path leads out of the base'
}

function contentOf({ json, form, body }: OutboundCall): {
  body: string | Buffer | undefined
  headers: Record<string, string>
} {
  if (json !== undefined)
    return { body: JSON.stringify(json), headers: { 'content-type': 'application/json' } }
  if (form !== undefined)
    return {
      body: new URLSearchParams(form).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded;charset=UTF-8' },
    }
  return { body, headers: {} }
}

/** Header names in lower case; a later list wins. */
function headersOf(
  ...lists: (Readonly<Record<string, string | undefined>> | undefined)[]
): Record<string, string> {
  const headers: Record<string, string> = { 'user-agent': 'sixwire', 'accept-encoding': 'identity' }
  for (const list of lists)
    for (const [name, value] of Object.entries(list ?? {}))
      if (value !== undefined) headers[name.toLowerCase()] = value
  return headers
}
