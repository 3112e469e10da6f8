import type { Load, Requests, Round } from './load.ts'
import { idle } from './procfs.ts'
import type { Target } from './servers.ts'
import { median } from './statistics.ts'

/** A server and what is asked of it. */
export type Side = { server: Target; requests: Requests }

/** The medians of its rounds; latencies in milliseconds; `failed` is the sum. */
export type Measured = { perSecond: number; p50: number; p99: number; failed: number; rounds: Round[] }

/** `ratio` is how many requests a second the second side took for each of the first: the median of `ratios`, one a round. */
export type Pair = { first: Measured; second: Measured; ratio: number; ratios: number[] }

const measured = (rounds: Round[]): Measured => ({
  perSecond: median(rounds.map((round) => round.perSecond)),
  p50: median(rounds.map((round) => round.p50)),
  p99: median(rounds.map((round) => round.p99)),
  failed: rounds.reduce((sum, round) => sum + round.failed, 0),
  rounds,
})

/**
 * Measures two servers in turn, so that what else the machine does hits both alike:
 * each round holds one against the other, and who begins changes from round to round.
 */
export async function measurePair(
  load: Load,
  first: Side,
  second: Side,
  connections: number,
  rounds: number,
): Promise<Pair> {
  const sides = [first, second] as const
  const taken: [Round[], Round[]] = [[], []]
  for (let round = 0; round < rounds; round++) {
    for (const at of round % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
      const { server, requests } = sides[at]
      taken[at].push(await load.run(server, requests, connections))
      await idle(server.pid)
    }
  }
  const ratios = taken[1].map((round, at) => round.perSecond / taken[0][at]!.perSecond)
  return { first: measured(taken[0]), second: measured(taken[1]), ratio: median(ratios), ratios }
}

/** Says loudly where answers failed: a figure over failed requests means nothing. */
export function faultsOf(what: string, pair: Pair, names: [string, string]): string[] {
  return [pair.first, pair.second].flatMap(({ failed }, at) =>
    failed > 0 ? [`${what}: ${failed} requests to ${names[at]} failed (not 2xx, broken or timed out)`] : [],
  )
}
