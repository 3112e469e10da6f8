// npm passes on to its child what Ctrl-C in a terminal has sent to the child as well: one press is two signals there.
const SIGNALS_THAT_INSIST = process.env['npm_lifecycle_event'] === undefined ? 2 : 3

/**
 * Calls `end` with the first of these signals, and `insist` where somebody asks again: with the second one, under npm
 * with the third.
 */
export function onSignals(signals: readonly NodeJS.Signals[], end: () => void, insist: () => void): void {
  let count = 0
  for (const signal of signals)
    process.on(signal, () => {
      count++
      if (count === 1) end()
      else if (count >= SIGNALS_THAT_INSIST) insist()
    })
}
