export type Work = ReturnType<typeof countWork>

/** Counts running requests, until their last byte is sent, and handlers, which may outlast their client. */
export function countWork() {
  let running = 0
  let idle = Promise.withResolvers<void>()
  const begin = (): void => void running++
  const end = (): void => {
    running--
    if (running === 0) {
      idle.resolve()
      idle = Promise.withResolvers()
    }
  }
  return {
    begin,
    end,
    async idle(): Promise<void> {
      if (running > 0) await idle.promise
    },
  }
}
