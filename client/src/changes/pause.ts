type Listen = (type: string, listener: () => void) => void
type Target = { addEventListener?: Listen; removeEventListener?: Listen }

/**
 * Calls a listener when the machine is online again, and when the page is shown or hidden.
 *
 * @returns a function that ends it
 */
export function onWake(listener: () => void): () => void {
  const scope = globalThis as Target & { document?: Target }
  scope.addEventListener?.('online', listener)
  scope.document?.addEventListener?.('visibilitychange', listener)
  return () => {
    scope.removeEventListener?.('online', listener)
    scope.document?.removeEventListener?.('visibilitychange', listener)
  }
}

/**
 * Waits; a signal ends it early.
 *
 * @param canWake whether being online again, or shown, ends it too
 */
export const pause = (ms: number, signal: AbortSignal, canWake = true): Promise<void> =>
  new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      stopWaking?.()
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    const stopWaking = canWake ? onWake(end) : undefined
    signal.addEventListener('abort', end)
    if (signal.aborted) end()
  })
