export type Work = ReturnType<typeof countWork>

/** Counts what is under way: requests until their last byte has gone, and handlers, which may outlast their client. */
export function countWork() {
  let underWay = 0
  let idle = Promise.withResolvers<void>()
  const begin = (): void => void underWay++
  const end = (): void => {
    underWay--
    if (underWay === 0) {
      idle.resolve()
      idle = Promise.withResolvers()
    }
  }
  return {
    begin,
    end,
    async idle(): Promise<void> {
      if (underWay > 0) await idle.promise
    },
  }
}
