import type { IncomingHttpHeaders } from 'node:http'

import { ApiError, defineErrors, errors } from '../base/errors.ts'
import type { RawRequest } from '../http/raw-request.ts'

/** The errors of a webhook: throw `receiveErrors.invalid_signature()` if a request is not the provider's. */
export const receiveErrors = defineErrors({
  invalid_signature: [400, 'The signature of this report is not valid.'],
})

/** A webhook request before anything has parsed it, and the URL that it was sent to. */
export type WebhookRequest = RawRequest & {
  /** The configured public URL of the webhook with the query of this request; never made from the Host header. */
  publicUrl: string
}

/** Verifies and reads the webhook of one provider. */
export type Receiver<E> = {
  /**
   * Refuses a request by its headers, before its body is read. `receive` verifies every request that this accepts.
   *
   * @throws invalid_signature (400) if a request with these headers cannot be the provider's
   */
  authorize?(headers: IncomingHttpHeaders): void
  /**
   * Verifies a request over its bytes and returns its events; none for kinds that are not used.
   *
   * @throws invalid_signature (400) if the request is not the provider's; unavailable (503) if that cannot be verified
   *   now, so that the provider sends the request again
   */
  receive(request: WebhookRequest): Promise<readonly E[]>
}

/**
 * Refuses a request by its headers if all of the receivers refuse it.
 *
 * @throws invalid_signature (400), the error of the last receiver
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
 * Returns the events of the first receiver that accepts the request: providers of one kind may have several accounts,
 * each with its own secret. A receiver that throws another error counts as one that cannot verify now.
 *
 * @throws unavailable (503) if no receiver accepts the request and one could not verify it; else invalid_signature
 *   (400)
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
        throw new TypeError('the receive() of a provider did not return a list of events')
      return events as E[]
    } catch (error) {
      // The request was verified, and its content is invalid.
      if (error instanceof ApiError && error.status === 400 && !isForged(error)) throw error
      if (!isForged(error)) unchecked = error
    }
  if (unchecked instanceof ApiError) throw unchecked
  if (unchecked !== undefined) throw errors.unavailable({ cause: unchecked })
  throw receiveErrors.invalid_signature()
}

const isForged = (error: unknown): boolean =>
  error instanceof ApiError && error.code === receiveErrors.invalid_signature.code
