import { orAbort } from './abort.ts'
import type { AnyInput } from './route-types.ts'

const FIRST_WAIT_MS = 200
const LONGEST_WAIT_MS = 30_000

// The routes of Sixwire that take an `Idempotency-Key`. Only the server's code knows it, so a test compares both.
const KEYED =
  /^POST \/(messaging\/(sms|whatsapp|email(\/te.+)?|logs.+)|onchain\/(?!.+read).+|auth\/(register|users(\/:id\/notes)?|forgot-.+|magic-link|resend-.+|sms-code|phone|change-email)|pay\/(?!.+(webhook|replay)$).+|store\/(upload(-links\/:id)?|backup|batch|files|:\w+(\/b.+)?))$/

/** Whether a route of Sixwire's own takes an `Idempotency-Key`. */
export const takesKey = (key: string): boolean => KEYED.test(key)

// `crypto` is missing in React Native and on pages without TLS. A key has to be unique only.
const newKey = (): string => `${Date.now()}-${Math.random()}-${Math.random()}`

const HEADER = 'idempotency-key'

/** The headers of a call with an `Idempotency-Key`, if the route takes one. All attempts have the same. */
export function headersOf(key: string, { headers: given, idempotencyKey }: AnyInput): Headers {
  const headers = new Headers(given)
  const own = idempotencyKey ?? takesKey(key)
  const value = own === true ? newKey() : own
  if (value && !headers.has(HEADER)) headers.set(HEADER, value)
  return headers
}

/** Whether a call may be sent again if its outcome is unknown: it only reads, or its key prevents a second effect. */
export const isSafe = (key: string, headers: Headers): boolean =>
  key.startsWith('GET ') || headers.has(HEADER)

/** Waits; a signal ends it early. */
export function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  let timer: ReturnType<typeof setTimeout>
  const slept = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)))
  return orAbort(slept, signal).finally(() => clearTimeout(timer))
}

/** Whether another attempt may be answered otherwise; 409 with `Retry-After`: an attempt with the same key is running. */
const isTemporary = ({ status, headers }: Response): boolean =>
  (status >= 502 && status <= 504) || (status === 409 && headers.has('retry-after'))

/**
 * Sends a request again after a lost connection or an answer that is temporary, with growing pauses or those that
 * `Retry-After` asks for.
 *
 * @param retries how many times it is sent again
 */
export async function sendRepeatedly(
  send: () => Promise<Response>,
  retries: number,
  signal: AbortSignal | undefined,
): Promise<Response> {
  for (let attempt = 0; ; attempt++) {
    let askedMs = 0
    try {
      const response = await send()
      askedMs = Number(response.headers.get('retry-after')) * 1000
      if (attempt >= retries || !isTemporary(response) || askedMs > LONGEST_WAIT_MS) return response
      await response.body?.cancel()
    } catch (error) {
      if (attempt >= retries || signal?.aborted) throw error
    }
    await sleep(Math.max(askedMs || 0, FIRST_WAIT_MS * 2 ** attempt * (0.5 + Math.random())), signal)
  }
}
