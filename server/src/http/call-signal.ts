import type { ServerResponse } from 'node:http'

import { errors } from '../base/errors.ts'

/**
 * A signal that aborts if the client disconnects before it is answered, or at the end of a time limit.
 *
 * @param timeLimit `leftMs` counts from now; `limitMs` is the figure in the error
 */
export function signalOf(
  response: ServerResponse,
  timeLimit: { leftMs: number; limitMs: number } | undefined,
): AbortSignal {
  const controller = new AbortController()
  const abort = (message: string): void => controller.abort(errors.unavailable({ message }))
  const timer =
    timeLimit &&
    setTimeout(
      () => abort(`This took longer than ${timeLimit.limitMs / 1000} s: try again shortly.`),
      Math.max(0, timeLimit.leftMs),
    )
  const end = (): void => {
    clearTimeout(timer)
    if (!response.writableFinished) abort('The client closed the connection before it was answered.')
  }
  if (response.closed) end()
  else response.once('close', end)
  return controller.signal
}
