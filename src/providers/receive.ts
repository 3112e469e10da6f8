import type { IncomingHttpHeaders } from 'node:http'

import { ApiError, defineErrors, errors } from '../base/errors.ts'
import type { RawRequest } from '../http/raw-request.ts'

export const receiveErrors = defineErrors({
  invalid_signature: [400, 'The signature of this report is not valid.'],
})

/** A request as it came, and where it was sent to. */
export type WebhookRequest = RawRequest & {
  /** The whole URL that the provider was told, with the query of this request: by the configuration, never by Host. */
  publicUrl: string
}

/** What verifies and reads the webhook of one provider. */
export type Receiver<E> = {
  /**
   * Refuses a request by its headers, before its body is read. What it lets in is still verified.
   *
   * @throws invalid_signature (400) if no request with these headers can be the provider's
   */
  authorize?(headers: IncomingHttpHeaders): void
  /**
   * Verifies a request over its bytes, and answers the events that it tells of; none for kinds that are not used.
   *
   * @throws invalid_signature (400) if the request is not the provider's; unavailable (503) if that cannot be checked
   *   now, so that the provider sends it again
   */
  receive(request: WebhookRequest): Promise<readonly E[]>
}

/**
 * Refuses a request that none of several receivers would read, by its headers.
 *
 * @throws invalid_signature (400), as the last of them said it
 */
export function authorizeByOneOf(
  receivers: readonly Receiver<unknown>[],
  headers: IncomingHttpHeaders,
): void {
  let refusal: unknown = receiveErrors.invalid_signature()
  for (const receiver of receivers)
    try {
      return receiver.authorize?.(headers)
    } catch (error) {
      refusal = error
    }
  throw refusal
}

/**
 * Has the first of several receivers read a request that knows it: providers of one kind may have several accounts, each
 * with a secret of its own. A receiver that breaks counts as one that cannot check now.
 *
 * @throws unavailable (503) if none knows the request, and one could not check it; else invalid_signature (400)
 */
export async function receiveByOneOf<E>(
  receivers: readonly Receiver<E>[],
  request: WebhookRequest,
): Promise<readonly E[]> {
  let unchecked: unknown
  for (const receiver of receivers)
    try {
      const events: unknown = await receiver.receive(request)
      if (!Array.isArray(events))
        throw new TypeError('a provider read a request as what is no list of events')
      return events as E[]
    } catch (error) {
      // A request that was verified, and then is not one that the provider may send.
      if (error instanceof ApiError && error.status === 400 && !isForged(error)) throw error
      if (!isForged(error)) unchecked = error
    }
  if (unchecked instanceof ApiError) throw unchecked
  if (unchecked !== undefined) throw errors.unavailable({ cause: unchecked })
  throw receiveErrors.invalid_signature()
}

const isForged = (error: unknown): boolean =>
  error instanceof ApiError && error.code === receiveErrors.invalid_signature.code
