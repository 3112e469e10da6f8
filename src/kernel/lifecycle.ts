import { StartError } from '../base/start-error.ts'

const FORCED_END_MS = 30_000

export type Stage = 'starting' | 'ready' | 'draining'

export type Lifecycle = ReturnType<typeof createLifecycle>

/**
 * A server's way from its start to its end, whichever comes in between: the end may be asked for during the start.
 *
 * @param steps.quiet resolves when nothing is under way any more; new work is refused from the stage `draining` on
 * @param steps.end lets go of everything
 */
export function createLifecycle(steps: { quiet(): Promise<unknown>; end(): Promise<void> }) {
  let stage: Stage = 'starting'
  let begun: Promise<unknown> | undefined
  let closing: Promise<void> | undefined

  async function finish(): Promise<void> {
    stage = 'draining'
    let timer: NodeJS.Timeout | undefined
    const forced = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, FORCED_END_MS)
    })
    // No migration is cut in two: what was begun is waited for as well.
    const quiet = Promise.resolve(begun).then(() => steps.quiet())
    await Promise.race([quiet, forced])
    clearTimeout(timer)
    await steps.end()
  }

  function goOn(): void {
    if (closing) throw new StartError('the server was told to end before it had started')
  }

  return {
    stage: (): Stage => stage,

    /** Runs a part of the start. */
    begin<T>(work: () => Promise<T>): Promise<T> {
      const result = work()
      begun = result.catch(() => undefined)
      return result
    },

    /** Stands between two steps of the start. @throws StartError once the end was asked for */
    goOn,

    /** From here on requests are answered. */
    ready(): void {
      goOn()
      stage = 'ready'
    },

    /** Finishes what runs, then ends; after 30 s without waiting any longer. */
    close(): Promise<void> {
      closing ??= finish()
      return closing
    },
  }
}
