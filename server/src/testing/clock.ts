import { setTimeout as delay } from 'node:timers/promises'

import type { Clock } from '../base/clock.ts'

const LOOK_MS = 2

/** A clock that a test can set forward; what waits by it waits no longer then. */
export type TestClock = Clock & {
  advance(ms: number): void
  /**
   * Waits for the work without waiting for the clock: it is set forward to the end of each pause that is slept through.
   *
   * @param stuck counts the calls that get no answer: at each one more, the clock is set forward to the end of the next limit
   */
  through<T>(work: Promise<T>, stuck?: () => number): Promise<T>
}

/** A clock that runs as the system's does. */
export const testClock = (): TestClock =>
  clockFrom(
    () => Date.now(),
    () => performance.now(),
  )

/** A clock that stands still until it is moved. What waits by it is not kept waiting longer than in real time. */
export const stillClock = (now = Date.UTC(2026, 0, 1)): TestClock =>
  clockFrom(
    () => now,
    () => 0,
  )

type Kind = 'pause' | 'idle' | 'limit'
type Pending = { kind: Kind; due: number; end: () => void }

function clockFrom(now: () => number, sinceStart: () => number): TestClock {
  let ahead = 0
  let passed = 0
  const waiting = new Set<Pending>()
  const elapsed = (): number => sinceStart() + passed

  function wait(kind: Kind, ms: number, call: () => void): () => void {
    const clear = (): void => {
      clearTimeout(timer)
      waiting.delete(one)
    }
    const end = (): void => {
      clear()
      call()
    }
    const one: Pending = { kind, due: elapsed() + ms, end }
    const timer = setTimeout(end, ms)
    if (kind === 'idle') timer.unref()
    waiting.add(one)
    return clear
  }

  const inOrder = (kinds: readonly Kind[]): Pending[] =>
    [...waiting].filter(({ kind }) => kinds.includes(kind)).toSorted((a, b) => a.due - b.due)

  function advance(ms: number): void {
    ahead += ms
    passed += Math.max(0, ms) // a clock that is set back makes no time pass backwards
    for (const one of inOrder(['pause', 'idle', 'limit'])) if (one.due <= elapsed()) one.end()
  }
  const advanceTo = ({ due }: Pending): void => advance(Math.ceil(Math.max(0, due - elapsed())))

  return {
    now: () => now() + ahead,
    elapsed,
    async sleep(ms, { signal, idle = false } = {}) {
      if (signal?.aborted) return
      const { promise, resolve } = Promise.withResolvers<void>()
      const clear = wait(idle ? 'idle' : 'pause', ms, resolve)
      const abort = () => resolve()
      signal?.addEventListener('abort', abort, { once: true })
      await promise
      signal?.removeEventListener('abort', abort)
      clear()
    },
    timer: (ms, call) => wait('limit', ms, call),
    advance,
    async through(work, stuck = () => 0) {
      let isOver = false
      const over = (): void => void (isOver = true)
      work.then(over, over)
      for (let seen = stuck(); !isOver; await delay(LOOK_MS)) {
        const [pause] = inOrder(['pause'])
        const [limit] = inOrder(['limit'])
        if (pause) advanceTo(pause)
        else if (limit && stuck() > seen) {
          seen = stuck()
          advanceTo(limit)
        }
      }
      return work
    },
  }
}
