const LIMIT_MS = 60_000 // half of a test's own limit, which cannot say what the test waited for

/** Resolves when a condition holds. @throws with the text of the condition if it does not hold within `limitMs` */
export async function until(
  condition: () => boolean | Promise<boolean>,
  limitMs: number = LIMIT_MS,
): Promise<void> {
  const end = performance.now() + limitMs
  while (!(await condition())) {
    if (performance.now() > end)
      throw new Error(`This did not hold within ${limitMs / 1000} s: ${condition.toString()}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
