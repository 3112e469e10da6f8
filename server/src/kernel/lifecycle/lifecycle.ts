import { StartError } from '../../base/start-error.ts'

const FORCED_END_MS = 30_000

export type Stage = 'starting' | 'ready' | 'draining'

export type Lifecycle = ReturnType<typeof createLifecycle>

/**
 * The stages of a server from start to end. It can be closed while it starts.
 *
 * @param steps.quiet resolves once nothing is in progress; from the stage `draining` on, new work is refused
 * @param steps.end releases all resources; `isQuiet` is false if something was still in progress after 30 s
 */
export function createLifecycle(steps: { quiet(): Promise<unknown>; end(isQuiet: boolean): Promise<void> }) {
  let stage: Stage = 'starting'
  let begun: Promise<unknown> | undefined
  let closing: Promise<void> | undefined
  let force = (): void => undefined

  async function finish(longestMs: number): Promise<void> {
    stage = 'draining'
    let timer: NodeJS.Timeout | undefined
    const forced = new Promise<boolean>((resolve) => {
      force = () => resolve(false)
      timer = setTimeout(force, longestMs)
    })
    // A migration is never interrupted: work in progress is awaited too.
    const quiet = Promise.resolve(begun)
      .then(() => steps.quiet())
      .then(() => true)
    const isQuiet = await Promise.race([quiet, forced])
    clearTimeout(timer)
    await steps.end(isQuiet)
  }

  function goOn(): void {
    if (closing) throw new StartError('the server was told to stop before it had started')
  }

  return {
    stage: (): Stage => stage,

    /** Runs a part of the start. */
    begin<T>(work: () => Promise<T>): Promise<T> {
      const result = work()
      begun = result.catch(() => undefined)
      return result
    },

    /** Called between two steps of the start. @throws StartError if the server is to close */
    goOn,

    /** Requests are accepted from now on. */
    ready(): void {
      goOn()
      stage = 'ready'
    },

    /** Finishes work in progress, for at most so many milliseconds (30 s), then ends. A later call can shorten that. */
    close(longestMs = FORCED_END_MS): Promise<void> {
      if (closing) setTimeout(() => force(), longestMs).unref()
      closing ??= finish(longestMs)
      return closing
    },
  }
}
