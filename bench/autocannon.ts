// The load where wrk is not installed: a process of its own that prints one line of figures.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

type Sent = { method: string; path: string; body?: string; headers: Record<string, string> }
type Autocannon = (options: {
  url: string
  connections: number
  duration: number
  timeout: number
  requests: { setupRequest: (request: Sent) => Sent }[]
}) => Promise<{
  duration: number
  '2xx': number
  non2xx: number
  errors: number
  latency: { p50: number; p99: number }
}>
type Job = {
  base: string
  token: string
  method: string
  path: string
  file: string
  connections: number
  seconds: number
}

const autocannon = createRequire(import.meta.url)('autocannon') as Autocannon
const job = JSON.parse(process.argv[2]!) as Job
const lines = readFileSync(job.file, 'utf8').trimEnd().split('\n')
const headers = { authorization: `Bearer ${job.token}`, 'content-type': 'application/json' }

const result = await autocannon({
  url: job.base,
  connections: job.connections,
  duration: job.seconds,
  timeout: 60,
  requests: [
    {
      setupRequest(request) {
        const line = lines[Math.floor(Math.random() * lines.length)]!
        const target = job.method === 'GET' ? { path: line } : { path: job.path, body: line }
        return { ...request, method: job.method, headers, ...target }
      },
    },
  ],
})
const failed = result.non2xx + result.errors
const { p50, p99 } = result.latency
const requests = result['2xx'] + result.non2xx
console.log(`RESULT ${JSON.stringify({ requests, seconds: result.duration, p50, p99, failed })}`)
