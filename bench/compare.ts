import { setTimeout as delay } from 'node:timers/promises'

import type { Bench, Figures, Row } from './bench.ts'
import { idle } from './process.ts'

/** One of the two that are compared. */
export type Side = {
  /** Of the process that is to be idle before the next round. */
  readonly pid?: number
  readonly measure: () => Promise<Figures>
}

/** The value that the given share of the values do not exceed (nearest rank). */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? NaN
}

/** The row of figures that were measured one side after the other. */
export function rowOf(name: string, figure: string, peer: [string, ...number[]], ...values: number[]): Row {
  const [peerName, ...peerValues] = peer
  return { name, figure, peer: peerName, peerValues, values }
}

/**
 * Measures two sides in turn, so that what else the machine does meets both alike. The first round warms up, and who
 * begins changes from round to round.
 *
 * @returns a row for each figure that both have
 */
export async function* compare(bench: Bench, name: string, [title, peer]: [string, Side], own: Side) {
  const { settings, note } = bench
  const sides = [peer, own] as const
  const rounds: [Figures[], Figures[]] = [[], []]
  for (let round = 0; round <= settings.rounds; round++) {
    note(`${name}: ${round === 0 ? 'warming up' : `round ${round} of ${settings.rounds}`}`)
    for (const at of round % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
      const { measure, pid } = sides[at]
      const figures = await measure()
      if (round > 0) rounds[at].push(figures)
      if (pid !== undefined) await idle(pid)
    }
  }
  const [there, here] = rounds
  for (const figure of Object.keys(there[0]!).filter((one) => one in here[0]!)) {
    const peerValues = there.map((figures) => figures[figure]!)
    yield rowOf(name, figure, [title, ...peerValues], ...here.map((figures) => figures[figure]!))
  }
}

/** Calls again and again, one at a time, until `ended` resolves. @returns milliseconds */
export async function probe(ended: Promise<unknown>, call: () => Promise<unknown>, pauseMs = 2) {
  const times: number[] = []
  let isOver = false
  const end = () => void (isOver = true)
  ended.then(end, end) // the caller sees a rejection
  while (!isOver) {
    const begun = performance.now()
    await call()
    times.push(performance.now() - begun)
    await delay(pauseMs)
  }
  return { 'p50 ms': quantile(times, 0.5), 'p99 ms': quantile(times, 0.99) }
}

/** How many calls a second are answered to so many callers of a package used bare. */
export const callers = (bench: Bench, count: number, call: (caller: number) => Promise<unknown>): Side => ({
  async measure() {
    const begun = performance.now()
    let calls = 0
    const work = async (caller: number) => {
      for (; performance.now() - begun < bench.settings.seconds * 1000; calls++) await call(caller)
    }
    await Promise.all(Array.from({ length: count }, (_, caller) => work(caller)))
    return { 'a second': calls / ((performance.now() - begun) / 1000) }
  },
})
