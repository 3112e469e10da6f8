import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

import type { Bench } from './bench.ts'
import { rowOf } from './compare.ts'
import type { StreamAnswers, StreamCommand, StreamTarget, StreamWrite } from './stream-client.ts'

const CLIENT = fileURLToPath(new URL('./stream-client.ts', import.meta.url))

/** Tells the process of the clients what to do, and waits until it is done. */
export type StreamClients = <C extends StreamCommand>(command: C) => Promise<StreamAnswers[C['kind']]>

/** Starts the clients of event streams in a process of their own, which ends with the scenario. */
export function startStreamClients({ after }: Bench): StreamClients {
  const child = fork(CLIENT, { execArgv: [] })
  const kill = () => child.kill('SIGKILL')
  process.on('exit', kill)
  after(() => {
    process.off('exit', kill)
    kill()
  })
  return async (command) => {
    child.send(command)
    const [{ answer, error }] = (await once(child, 'message')) as [{ answer: never; error?: string }]
    if (error !== undefined) throw new Error(`${command.kind}: ${error}`)
    return answer
  }
}

/** From a write until a stream is told, beside its answer. */
export async function* latency(
  bench: Bench,
  clients: StreamClients,
  name: string,
  write: StreamWrite,
  followed: StreamTarget,
  perSecond = 1000,
) {
  const { rounds, seconds } = bench.settings
  const answered: number[][] = []
  const told: number[][] = []
  await clients({ kind: 'open', ...followed })
  for (let round = 0; round <= rounds; round++) {
    bench.note(`${perSecond} writes a second, ${name}: ${round} of ${rounds}`)
    const result = await clients({ kind: 'pace', write, events: 1, perSecond, seconds })
    if (result.missing > 0) bench.fault(`${result.missing} events did not arrive`)
    if (round === 0) continue
    answered.push([...result.answered])
    told.push([...result.told])
  }
  await clients({ kind: 'close' })
  for (const [at, figure] of ['p50 ms', 'p99 ms'].entries())
    yield rowOf(
      `write to event, ${perSecond} a second, ${name}`,
      figure,
      ['write to its answer', ...answered.map((one) => one[at]!)],
      ...told.map((one) => one[at]!),
    )
}
