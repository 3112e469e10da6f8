const LIMIT_MS = 60_000 // half of a test's own limit, which cannot say what the test waited for
const PAUSE_MS = 5
/** How long a pause is against the look before it: looks then take half a processor at most from what they wait for. */
const PAUSE_PER_LOOK = 1

/** Resolves when a condition holds. @throws with the text of the condition if it does not hold within `limitMs` */
export async function until(
  condition: () => boolean | Promise<boolean>,
  limitMs: number = LIMIT_MS,
): Promise<void> {
  const end = performance.now() + limitMs
  for (;;) {
    const start = performance.now()
    if (await condition()) return
    const now = performance.now()
    if (now > end) throw new Error(`This did not hold within ${limitMs / 1000} s: ${condition.toString()}`)
    const pause = Math.max(PAUSE_MS, PAUSE_PER_LOOK * (now - start))
    await new Promise((resolve) => setTimeout(resolve, pause))
  }
}
