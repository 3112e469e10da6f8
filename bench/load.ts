import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import type { Bench, Figures, Server } from './bench.ts'
import { compare, type Side } from './compare.ts'
import { processorMs } from './process.ts'

/** A request of the load; a body is JSON unless the type says otherwise. */
export type LoadRequest = {
  readonly method?: 'GET' | 'POST' | 'PUT'
  readonly path: string
  readonly body?: string
  readonly type?: string
}

export type Requests = readonly LoadRequest[]

/** `failed` counts answers that are not 2xx, broken connections and timeouts; `processor` is the time of wrk itself in seconds. */
type LoadResult = { requests: number; seconds: number; p99: number; processor: number; failed: number }

const run = promisify(execFile)
const SCRIPT = fileURLToPath(new URL('./load.lua', import.meta.url))

function textOf({ base, token }: Server, request: LoadRequest): string {
  const { method = 'GET', path, body = '', type = 'application/json' } = request
  const headers = {
    host: new URL(base).host,
    ...(token !== '' && { authorization: `Bearer ${token}` }),
    ...(method !== 'GET' && { 'content-type': type, 'content-length': Buffer.byteLength(body) }),
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}

/**
 * Sends the requests in turn and over again, for the length of a round, by wrk. A load in JavaScript takes about as long
 * for a request as a quick server for its answer, so on few cores it would hide what makes two quick servers differ.
 */
export async function sendLoad(bench: Bench, server: Server, requests: Requests, connections: number) {
  const { settings, folder, fault } = bench
  const { base, pid } = server
  const file = join(folder, 'load')
  writeFileSync(file, requests.map((request) => textOf(server, request)).join('\x01'))
  const before = processorMs(pid)
  const args = ['-t1', `-c${connections}`, `-d${settings.seconds}`, '--timeout', '60', '-s', SCRIPT]
  const { stdout } = await run('wrk', [...args, base, '--', file])
  const {
    requests: count,
    seconds,
    p99,
    processor,
    failed,
  } = JSON.parse(stdout.split('RESULT')[1]!) as LoadResult
  const used = processorMs(pid) - before
  if (failed > 0) fault(`${failed} of ${count} requests such as ${requests[0]!.path.slice(0, 80)} failed`)
  const figures: Figures = {
    'a second': count / seconds,
    'p99 ms': p99,
    'processor µs': (used * 1000) / count,
  }
  return { requests: count - failed, figures, loadMicroseconds: (processor * 1e6) / count }
}

/** A server under that load: requests a second, their 99th percentile, and the server's processor time for each. */
export const loadSide = (bench: Bench, server: Server, requests: Requests, connections: number): Side => ({
  pid: server.pid,
  measure: async () => (await sendLoad(bench, server, requests, connections)).figures,
})

type Call = readonly [Server, Requests]

/** Compares the floor with Sixwire, each under the load of its own requests. */
export const compareLoad = (bench: Bench, name: string, connections: number, floor: Call, own: Call) =>
  compare(
    bench,
    `${name}, ${connections} connections`,
    ['floor', loadSide(bench, ...floor, connections)],
    loadSide(bench, ...own, connections),
  )
