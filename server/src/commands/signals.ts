/** npm forwards a signal to the server, which has received it already if the whole process group was signalled. */
const SAME_SIGNAL_MS = 1_000

/**
 * Calls `end` with the first of these signals, and `insist` with each later one. One that arrives within a second of the
 * first is the same signal.
 */
export function onSignals(signals: readonly NodeJS.Signals[], end: () => void, insist: () => void): void {
  let firstAt: number | undefined
  for (const signal of signals)
    process.on(signal, () => {
      if (firstAt === undefined) {
        firstAt = performance.now()
        end()
      } else if (performance.now() - firstAt > SAME_SIGNAL_MS) insist()
    })
}
