// A terminal sends Ctrl-C to npm and to its child, and npm forwards it: one press is two signals there.
const PER_PRESS = process.env['npm_lifecycle_event'] === undefined ? 1 : 2

/**
 * Calls `end` with the first of these signals, and `insist` with the next one; with SIGINT under npm, that is the next
 * press of Ctrl-C.
 */
export function onSignals(signals: readonly NodeJS.Signals[], end: () => void, insist: () => void): void {
  let isEnding = false
  let interrupts = 0
  for (const signal of signals)
    process.on(signal, () => {
      if (signal === 'SIGINT') interrupts++
      const isSamePress = signal === 'SIGINT' && interrupts > 1 && interrupts <= PER_PRESS
      if (!isEnding) end()
      else if (!isSamePress) insist()
      isEnding = true
    })
}
