import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

import type { Bench } from './bench.ts'
import type { StreamAnswers, StreamCommand } from './stream-client.ts'

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
