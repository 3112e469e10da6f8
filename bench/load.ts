import { execFile, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import type { Target } from './servers.ts'

const run = promisify(execFile)

/** Requests of one kind. Each line of the file is one: a path to get, or a body to post to `path`. */
export type Requests = { method: 'GET'; file: string } | { method: 'POST'; path: string; file: string }

/** What one round measured. Latencies are in milliseconds. */
export type Round = {
  requests: number
  perSecond: number
  p50: number
  p99: number
  /** Answers that are not 2xx, broken connections and timeouts. */
  failed: number
}

export type Load = {
  name: string
  run(server: Target, requests: Requests, connections: number): Promise<Round>
}

function writeLines(folder: string, lines: string[]): string {
  const file = join(folder, `requests-${randomBytes(4).toString('hex')}.txt`)
  writeFileSync(file, lines.join('\n') + '\n')
  return file
}

/** Writes down what to get. */
export const gets = (folder: string, paths: string[]): Requests => ({
  method: 'GET',
  file: writeLines(folder, paths),
})

/** Writes down what to post. */
export const posts = (folder: string, path: string, bodies: string[]): Requests => ({
  method: 'POST',
  path,
  file: writeLines(folder, bodies),
})

// wrk's scripts: https://github.com/wg/wrk/blob/master/SCRIPTING
function script(server: Target, requests: Requests): string {
  const { method, file } = requests
  const { host } = new URL(server.base)
  const headers = `Host: ${host}\r\nAuthorization: Bearer ${server.token}\r\n`
  const [before, after] =
    requests.method === 'GET'
      ? ['GET ', ` HTTP/1.1\r\n${headers}\r\n`]
      : [
          `POST ${requests.path} HTTP/1.1\r\n${headers}Content-Type: application/json\r\nContent-Length: `,
          '\r\n\r\n',
        ]
  // What JSON writes for ASCII text reads the same in Lua.
  const lua = JSON.stringify
  return `
local before, after, lines = ${lua(before)}, ${lua(after)}, {}
function init()
  for line in io.lines(${lua(file)}) do lines[#lines + 1] = line end
  math.randomseed(1)
end
function request()
  local line = lines[math.random(#lines)]
  return ${method === 'GET' ? 'before .. line .. after' : 'before .. #line .. after .. line'}
end
function done(summary, latency)
  local e = summary.errors
  io.write(string.format(
    '\\nRESULT {"requests":%d,"seconds":%f,"p50":%f,"p99":%f,"failed":%d}\\n',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    e.connect + e.read + e.write + e.status + e.timeout))
end
`
}

type Result = { requests: number; seconds: number; p50: number; p99: number; failed: number }

function roundOf(output: string): Round {
  const line = /^RESULT (.*)$/m.exec(output)?.[1]
  if (line === undefined) throw new Error(`the load answered no figures:\n${output}`)
  const { seconds, ...figures } = JSON.parse(line) as Result
  return { ...figures, perSecond: figures.requests / seconds }
}

function wrk(version: string, seconds: number, folder: string): Load {
  return {
    name: version,
    async run(server, requests, connections) {
      const file = join(folder, 'wrk.lua')
      writeFileSync(file, script(server, requests))
      const args = [
        '--threads',
        '1',
        '--connections',
        connections,
        '--duration',
        `${seconds}s`,
        '--timeout',
        '60s',
      ]
      const { stdout } = await run('wrk', [...args.map(String), '--script', file, server.base])
      return roundOf(stdout)
    },
  }
}

function autocannon(seconds: number): Load {
  return {
    name: 'autocannon',
    async run({ base, token }, requests, connections) {
      const program = fileURLToPath(new URL('./autocannon.ts', import.meta.url))
      const job = JSON.stringify({ base, token, ...requests, connections, seconds })
      return roundOf((await run(process.execPath, [program, job])).stdout)
    },
  }
}

/**
 * What sends the load, as a process of its own: wrk where it is installed, else autocannon.
 *
 * @param seconds length of a round
 * @param folder for its script
 */
export function openLoad(wanted: 'wrk' | 'autocannon' | undefined, seconds: number, folder: string): Load {
  if (wanted === 'autocannon') return autocannon(seconds)
  const version = /^wrk \S+/.exec(spawnSync('wrk', ['--version'], { encoding: 'utf8' }).stdout ?? '')?.[0]
  if (version !== undefined) return wrk(version, seconds, folder)
  if (wanted === 'wrk') throw new Error('--load wrk: wrk is not installed')
  return autocannon(seconds)
}
