import { ProviderFault } from './provider.ts'

const BODY_MAX = 1_048_576 // bytes: more than any provider says of one person

export type ProviderFetch = (
  address: string,
  options: {
    method?: string
    headers?: Record<string, string> | undefined
    body?: RequestInit['body'] | undefined
    signal?: AbortSignal | undefined
  },
) => Promise<Response>

/**
 * Calls of an identity provider: never redirected, at most so long with the answer's body, and that at most 1 MiB.
 *
 * @param timeoutMs milliseconds
 */
export const createProviderFetch =
  (timeoutMs: number): ProviderFetch =>
  async (address, { method = 'GET', headers, body, signal }) => {
    const limit = AbortSignal.timeout(timeoutMs)
    const response = await fetch(address, {
      method,
      redirect: 'manual',
      signal: signal ? AbortSignal.any([limit, signal]) : limit,
      ...(headers && { headers }),
      ...(body && { body }),
    })
    const chunks: Uint8Array[] = []
    let size = 0
    for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      size += chunk.length
      if (size > BODY_MAX)
        throw new ProviderFault(`the answer of ${new URL(address).host} has more than 1 MiB`)
      chunks.push(chunk)
    }
    const { status, statusText } = response
    // Responses of these statuses can't be made with a body, not even an empty one.
    const content = status === 204 || status === 205 || status === 304 ? null : Buffer.concat(chunks)
    return new Response(content, { status, statusText, headers: response.headers })
  }

/** A field of an answer, where it is text and says anything. */
export const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined
