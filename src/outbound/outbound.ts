import type { LookupFunction } from 'node:net'

import { systemClock, type Clock } from '../base/clock.ts'
import { isPublicAddress } from '../base/ip-address.ts'
import { StartError } from '../base/start-error.ts'
import type { IsRefused } from './addresses.ts'
import { createSend, type Method, type Reply } from './exchange.ts'

const CONNECT_MS = 3_000
/** How much of a call's time connecting may take, so that some is left for another provider. */
const CONNECT_SHARE = 0.4
const LIMIT_MS = 10_000
const MAX_BYTES = 1_048_576
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
/** What may be said to another origin than the one that a call was meant for. */
const PUBLIC_HEADERS: ReadonlySet<string> = new Set(['accept', 'accept-language', 'user-agent'])

export type OutboundOptions = {
  /** What the peer is called in reasons, such as `Twilio`. Default: the origin of the address. */
  name?: string
  /** `https://api.example/v1`: each path starts below it. Without a base, calls name whole addresses. */
  base?: string | URL
  /** Sent with each call, such as `authorization`. */
  headers?: Readonly<Record<string, string>>
  /** Milliseconds for DNS, TCP and TLS together; default 3,000, and at most 40 % of the call's limit. */
  connectMs?: number
  /** Milliseconds for a call with its answer, where the call says no other; default 10,000. */
  limitMs?: number
  /** The largest body of an answer; default 1 MiB. */
  maxBytes?: number
  /** How many redirects a GET or HEAD follows; default 0, where a redirect is an answer like any other. */
  redirects?: number
  /**
   * Whether addresses outside of the public internet are refused: for URLs that users give. It is decided on the
   * address that is connected to, of each redirect anew. Default false.
   */
  refusePrivate?: boolean
  /**
   * Whether connections are kept for further calls. On a kept one, a request can meet the end that the peer puts to it,
   * and then nobody knows whether it was read. Default false.
   */
  keepAlive?: boolean
  /** Default: the system's clock. */
  clock?: Clock
  /** Default: the system's resolver. */
  lookup?: LookupFunction
  /** Replaces what `refusePrivate` refuses. */
  isRefused?: IsRefused
  /** What certificates are checked against, in PEM. Default: the roots of Node. */
  ca?: string
}

export type OutboundCall = {
  method?: Method
  headers?: Readonly<Record<string, string | undefined>>
  /** Sent as `application/json`. */
  json?: unknown
  /** Sent as `application/x-www-form-urlencoded`. */
  form?: URLSearchParams | Readonly<Record<string, string>>
  /** Sent as it is; its type stands in `headers`. */
  body?: string | Buffer
  /** Milliseconds for this call with its answer. */
  limitMs?: number
}

export type { Method, Reply }
export type Answered = Reply & { kind: 'answered' }

/** Calls out. Resolves within the limit, never rejects, and never sends a request twice. */
export type Outbound = {
  /**
   * @param address below the base, beginning with a slash; without a base a whole address
   * @example
   * const reply = await outbound.call('/messages', { method: 'POST', form: { To: '+4915112345678' } })
   * if (reply.kind === 'answered' && reply.status === 201) …
   */
  call(address: string | URL, call?: OutboundCall): Promise<Reply>
  /** Ends kept connections that no call uses. */
  close: () => void
}

/**
 * The way to call an outside HTTP server. Every call of a provider goes through here.
 *
 * An answer is what came, whatever its status; redirects are followed only where `redirects` allows it, and then
 * headers other than `accept` go to no other origin. Bodies are never decompressed: none is asked for compressed.
 *
 * @throws StartError if the base is not an http or https address, or holds credentials
 */
export function createOutbound(options: OutboundOptions = {}): Outbound {
  const { clock = systemClock, maxBytes = MAX_BYTES, redirects = 0, keepAlive = false, ca, lookup } = options
  const base = options.base === undefined ? undefined : readBase(options.base)
  const isRefused = options.isRefused ?? (options.refusePrivate ? isNotPublic : undefined)
  const { send, close } = createSend(clock, { keepAlive, isRefused, lookup, ca })

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

/** The JSON value of an answer; undefined where its body is none. */
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
