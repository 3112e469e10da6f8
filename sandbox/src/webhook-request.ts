import { ANSWER_MS, type CallbackRequest } from './callbacks.ts'

const ANSWER_BYTES = 2_048
const REASON_CHARACTERS = 300

/** One attempt to deliver a webhook. */
export type DeliveryAttempt = {
  url: string
  headers: Record<string, string>
  /** HTTP status of the answer; null if there was none. */
  status: number | null
  /** What was answered, or why nothing was, in one line; null if it was delivered. */
  error: string | null
}

/** One line that every database stores. */
const lineOf = (text: string): string =>
  text
    .slice(0, REASON_CHARACTERS)
    .toWellFormed()
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim()

/** The beginning of an answer: the rest may be endless. */
async function beginningOf(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes >= ANSWER_BYTES) break
  }
  return Buffer.concat(chunks).subarray(0, ANSWER_BYTES).toString()
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.name === 'TimeoutError') return `There was no answer within ${ANSWER_MS / 1_000} s.`
  return error.cause instanceof Error ? error.cause.message || error.message : error.message
}

/** Sends a webhook once; never rejects. A redirection is not followed: it is no delivery, as with real providers. */
export async function postWebhook(
  url: string,
  request: CallbackRequest,
  stopping: AbortSignal,
): Promise<DeliveryAttempt> {
  const headers = { 'content-type': 'application/json', ...request.headers }
  let status: number | null = null
  try {
    const response = await fetch(url, {
      method: 'POST',
      redirect: 'manual',
      headers,
      body: request.body,
      signal: AbortSignal.any([stopping, AbortSignal.timeout(ANSWER_MS)]),
    })
    status = response.status
    if (!response.ok) {
      const text = lineOf(await beginningOf(response))
      return { url, headers, status, error: text || `It was answered with ${status}.` }
    }
    await response.body?.cancel().catch(() => undefined)
    return { url, headers, status, error: null }
  } catch (error) {
    return { url, headers, status, error: lineOf(reasonOf(error)) }
  }
}
