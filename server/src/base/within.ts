import { systemClock, type Clock } from './clock.ts'

/**
 * Settles as the work does, or rejects after the time limit. The work itself goes on: if it accepts a signal, give it
 * one as well.
 *
 * @param work may throw as well as reject
 * @throws Error 'it has not answered for 5 seconds'
 */
export async function within<T>(
  ms: number,
  work: () => Promise<T>,
  clock: Pick<Clock, 'timer'> = systemClock,
): Promise<T> {
  let clear = (): void => undefined
  const late = new Promise<never>((_resolve, reject) => {
    const fault = new Error(`it has not answered for ${Math.round(ms / 100) / 10} seconds`)
    clear = clock.timer(Math.max(0, ms), () => reject(fault))
  })
  try {
    return await Promise.race([Promise.resolve().then(work), late])
  } finally {
    clear()
  }
}

/** Whether the work resolves within the time. */
export const succeedsWithin = (ms: number, work: () => Promise<unknown>): Promise<boolean> =>
  within(ms, work).then(
    () => true,
    () => false,
  )
