/** Keeps account of calls under way, so that `close` of a provider can wait for them. */
export function trackCalls(): { track<T>(call: Promise<T>): Promise<T>; ended(): Promise<void> } {
  const calls = new Set<Promise<unknown>>()
  return {
    track(call) {
      const tracked = call.finally(() => calls.delete(tracked))
      calls.add(tracked)
      return tracked
    },
    async ended() {
      await Promise.allSettled(calls)
    },
  }
}
