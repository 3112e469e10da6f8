import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import type { Bench } from './bench.ts'
import { askFor } from './client.ts'
import { gets } from './load.ts'
import { faultsOf, measurePair } from './pairs.ts'
import type { Target } from './servers.ts'
import { median } from './statistics.ts'

/** The lists by hand, and Sixwire with the same documents. */
export type Sides = { floor: Target; server: Target }

/** The paths of one list at both. */
export type Paths = { floor: string; server: string }

/** A list by hand and by Sixwire, p50 in milliseconds; a ratio is Sixwire's time over the other's. */
export type Compared = { name: string; floor: number; subject: number; ratio: number; ratios: number[] }

const SCANS = 9

/** The SQLite file with the tables by hand. */
export const fileOf = (folder: string): string => join(folder, 'by-hand.db')

/** Starts a server that answers the lists by hand-written SQL, on a copy of the documents of another server's database. */
export async function startByHand(url: string, folder: string): Promise<Target & { stop(): void }> {
  const program = fileURLToPath(new URL('./queries-floor.ts', import.meta.url))
  const child = spawn(process.execPath, [program, url, fileOf(folder)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const stop = () => child.kill('SIGKILL')
  process.on('exit', stop)
  const port = await Promise.race([
    once(child.stdout.setEncoding('utf8'), 'data').then(([text]) => (text as string).trim()),
    once(child, 'exit').then(() => {
      throw new Error('the lists by hand ended before they were ready')
    }),
  ])
  return { base: `http://127.0.0.1:${port}`, token: 'any', pid: child.pid!, stop }
}

type Page = { data: { _id: string }[]; total: number }

/** Throws where the two do not answer the same documents and the same total. */
async function compareAnswers(sides: Sides, paths: Paths): Promise<void> {
  const [byHand, answered] = await Promise.all(
    (['floor', 'server'] as const).map(async (side) => {
      const { base, token } = sides[side]
      const { data, total } = await askFor<Page>(base, `GET ${paths[side]}`, { token })
      return JSON.stringify({ total, ids: data.map(({ _id }) => _id) })
    }),
  )
  if (byHand !== answered)
    throw new Error(`${paths.server} is answered differently:\n by hand ${byHand}\n Sixwire ${answered}`)
}

/** Asks both one at a time, in turn: for a list that takes so long that a round of load would have few of them. */
export async function compareSlow(name: string, sides: Sides, paths: Paths): Promise<Compared> {
  const times = { floor: [] as number[], server: [] as number[] }
  await compareAnswers(sides, paths)
  for (let n = 0; n < SCANS; n++)
    for (const side of n % 2 === 0 ? (['floor', 'server'] as const) : (['server', 'floor'] as const)) {
      const { base, token } = sides[side]
      const begun = performance.now()
      await askFor(base, `GET ${paths[side]}`, { token })
      times[side].push(performance.now() - begun)
    }
  const ratios = times.server.map((time, n) => time / times.floor[n]!)
  return { name, floor: median(times.floor), subject: median(times.server), ratio: median(ratios), ratios }
}

/** Measures rounds of load at one connection, with any of the paths. */
export async function compareQuick(
  { load, folder, options }: Bench,
  faults: string[],
  name: string,
  sides: Sides,
  paths: readonly Paths[],
): Promise<Compared> {
  await compareAnswers(sides, paths[0]!)
  const [first, second] = (['floor', 'server'] as const).map((side) => {
    const lines = paths.map((one) => one[side])
    return { server: sides[side], requests: gets(folder, lines) }
  }) as [Parameters<typeof measurePair>[1], Parameters<typeof measurePair>[2]]
  await measurePair(load, first, second, 1, 1)
  const pair = await measurePair(load, first, second, 1, options.rounds)
  faults.push(...faultsOf(name, pair, ['the lists by hand', 'Sixwire']))
  const ratios = pair.second.rounds.map(({ p50 }, round) => p50 / pair.first.rounds[round]!.p50)
  return { name, floor: pair.first.p50, subject: pair.second.p50, ratio: median(ratios), ratios }
}
