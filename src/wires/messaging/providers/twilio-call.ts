import { Client } from 'undici'

import type { Clock } from '../../../base/clock.ts'

const CONNECT_MS = 3_000
/** How much of a call's time connecting may take, so that some is left for the next provider. */
const CONNECT_SHARE = 0.4

/** How a call of Twilio's API ended. */
export type Reply =
  | {
      kind: 'answered'
      status: number
      /** The header `Retry-After`. */
      retryAfter: string | undefined
      /** The JSON object; undefined where the answer is something else, such as a proxy's page. */
      body: unknown
    }
  /** `sent` is false where the request has certainly not left this machine. */
  | { kind: 'lost'; sent: boolean; reason: string }

/** Resolves within `limitMs`, never rejects. With a form it is a POST, which is made once. */
export type Call = (path: string, limitMs: number, form?: URLSearchParams) => Promise<Reply>

/**
 * Calls Twilio's API, each time over a connection of its own: on one that is kept, a request can meet the end that
 * Twilio puts to it, and then nobody knows whether it was read.
 *
 * Connecting (DNS, TCP and TLS together) has a limit of its own of 3 seconds, and of 40 % of the call's. No redirect is
 * followed: the credentials go nowhere else.
 *
 * @param base without a slash at its end
 * @param authorization the header's value
 */
export function createCall(base: string, authorization: string, clock: Clock): Call {
  const { origin, pathname } = new URL(base)
  const prefix = pathname.replace(/\/+$/, '')

  return async (path, limitMs, form) => {
    const started = clock.elapsed()
    const seconds = (): number => Math.round((clock.elapsed() - started) / 100) / 10
    const connecting = new AbortController()
    const clearConnecting = clock.timer(Math.min(CONNECT_MS, limitMs * CONNECT_SHARE), () =>
      connecting.abort(),
    )
    const limit = new AbortController()
    const clearLimit = clock.timer(Math.ceil(limitMs), () =>
      limit.abort(new DOMException('the limit of the call is over', 'TimeoutError')),
    )
    // undici's own limit of connecting is up to a second late.
    const client = new Client(origin, { allowH2: false, connect: { timeout: 0, signal: connecting.signal } })
    let connected = false
    client.once('connect', () => {
      connected = true
      clearConnecting()
    })
    try {
      const response = await client.request({
        path: prefix + path,
        method: form ? 'POST' : 'GET',
        headers: {
          authorization,
          accept: 'application/json',
          'user-agent': 'sixwire',
          ...(form && { 'content-type': 'application/x-www-form-urlencoded;charset=UTF-8' }),
        },
        ...(form && { body: form.toString() }),
        signal: limit.signal,
      })
      const retryAfter = response.headers['retry-after']?.toString()
      const body = parsed(await response.body.text())
      return { kind: 'answered', status: response.statusCode, retryAfter, body }
    } catch (error) {
      const { code, name } = error as { code?: unknown; name: string }
      const what = typeof code === 'string' ? code : name
      if (!connected) {
        const why = connecting.signal.aborted ? `no connection within ${seconds()} seconds` : what
        return { kind: 'lost', sent: false, reason: `Twilio can't be reached (${why})` }
      }
      const reason =
        name === 'TimeoutError'
          ? `Twilio has not answered for ${seconds()} seconds`
          : `the connection to Twilio was lost (${what})`
      return { kind: 'lost', sent: true, reason }
    } finally {
      clearConnecting()
      clearLimit()
      await client.destroy()
    }
  }
}

function parsed(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}
