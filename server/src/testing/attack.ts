// What the attacks on the memory of a server share: a real process, how much memory it takes, and what others notice.
import { readdir, readFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

import { Agent } from '../base/node-http.ts'
import type { TestAnswer } from './app.ts'
import { temporaryFolder, type Ending, type Engine } from './engines.ts'
import { exchange } from './exchange.ts'
import { startProgram } from './program.ts'

const LOOK_MS = 20
const MB = 1_000_000

export type Victim = {
  url: string
  /** Registers an account and answers its token. */
  register(email: string): Promise<string>
  request(
    method: string,
    path: string,
    token?: string,
    body?: unknown,
  ): Promise<Pick<TestAnswer, 'status' | 'body'>>
  /** A connection of an attacker that has sent this, and reads nothing until it is resumed. */
  send(bytes: string | Buffer): Socket
  /** Resident memory now, in MB. */
  memory(): Promise<number>
  openFiles(): Promise<number>
  /** The most that the process holds while the work runs: memory in MB, and open files. */
  most(work: () => Promise<unknown>): Promise<{ memory: number; files: number }>
  /** How long another user waits for a document, in ms, until the signal. */
  watch(token: string, path: string, until: AbortSignal): Promise<number[]>
}

export async function startVictim(
  ending: Ending,
  engine: Engine,
  environment: Record<string, string> = {},
): Promise<Victim> {
  const folder = await temporaryFolder(ending)
  const program = startProgram(ending, ['start'], {
    folder,
    environment: {
      DATA_DIR: folder,
      DATABASE_URL: await engine.migratedUrl(),
      SIXWIRE_SECRET: 'a secret of the tests that is long enough',
      SIXWIRE_SANDBOX: 'off',
      SIXWIRE_RATE_LIMITS: 'on',
      ...environment,
    },
  })
  const url = await program.url()
  const agent = new Agent({ keepAlive: true, maxSockets: Infinity })
  ending.after(async () => agent.destroy())
  const { hostname, port } = new URL(url)

  async function request(method: string, path: string, token?: string, body?: unknown) {
    const headers = {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    }
    const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body))
    const { status, text } = await exchange(url, { method, path, headers, body: bytes }, agent, true)
    return { status, body: JSON.parse(text) }
  }

  async function memory(): Promise<number> {
    const status = await readFile(`/proc/${program.pid}/status`, 'utf8')
    return (Number(/VmRSS:\s+(\d+) kB/.exec(status)![1]) * 1024) / MB
  }
  const openFiles = async () => (await readdir(`/proc/${program.pid}/fd`)).length

  return {
    url,
    request,
    memory,
    openFiles,
    async register(email) {
      const { status, body } = await request('POST', '/auth/register', undefined, {
        email,
        password: 'a long pass phrase 1',
      })
      if (status !== 201) throw new Error(`register: ${status} ${JSON.stringify(body)}`)
      return body.token as string
    },
    send(bytes) {
      const socket = connect(Number(port), hostname)
      socket.on('error', () => undefined) // the server may cut it
      socket.pause()
      socket.write(bytes)
      ending.after(async () => void socket.destroy())
      return socket
    },
    async most(work) {
      const most = { memory: 0, files: 0 }
      let isOver = false
      const looking = (async () => {
        while (!isOver) {
          most.memory = Math.max(most.memory, await memory())
          most.files = Math.max(most.files, await openFiles())
          await delay(LOOK_MS)
        }
      })()
      await work()
      isOver = true
      await looking
      return most
    },
    async watch(token, path, until) {
      const times: number[] = []
      while (!until.aborted) {
        const began = performance.now()
        const { status } = await request('GET', path, token)
        if (status !== 200) throw new Error(`another user is answered ${status}`)
        times.push(performance.now() - began)
        await delay(5)
      }
      return times
    },
  }
}

/** The 99th percentile. */
export const p99 = (times: readonly number[]): number =>
  times.toSorted((a, b) => a - b)[Math.min(times.length - 1, Math.floor(times.length * 0.99))]!
