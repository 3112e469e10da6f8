import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, request, type IncomingMessage } from 'node:http'
import { text as textOf } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'

import type { Ending } from '../../testing/engines.ts'
import { LIBRARY, applicationFolder, startProgram, type Program } from '../../testing/program.ts'

/** A wire that tells which process answers, and that prints, waits, counts and works. */
const CONFIG = `
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { defineWire, json, route, Type } from ${JSON.stringify(LIBRARY)}

const pid = () => ({ pid: process.pid })
const answer = { access: 'public', reply: { 200: Type.Object({ pid: Type.Integer() }) } }
const probe = defineWire({
  name: 'probe',
  setup({ jobs, metrics }) {
    const work = jobs.define('probe.work', { payload: Type.Null() }, async ({ id }) => console.log('job ' + id))
    metrics.gauge({ name: 'probe_figure', help: 'One figure of the database', labels: [] }, async () => [{ labels: {}, value: 7 }])
    return {
      service: undefined,
      routes: [
        route('GET /probe/pid', { summary: 'Tell the process', ...answer }, pid),
        route('GET /probe/limited', { summary: 'Count', limit: { rate: '100/min', countedIn: 'process', always: true }, ...answer }, pid),
        route('GET /probe/print', { summary: 'Print', ...answer }, () => {
          for (let line = 0; line < 50; line++) console.log('print ' + 'x'.repeat(9000 + line) + ' end')
          return pid()
        }),
        route('GET /probe/job/:id', { summary: 'Work', params: Type.Object({ id: Type.String() }), ...answer }, async ({ params }) => {
          await work.enqueue(null, { id: params.id })
          return pid()
        }),
        route('GET /probe/child', { summary: 'Start a program that outlives this one', ...answer }, () => {
          const stays = 'while [ -e sixwire.config.mjs ] && [ ! -e go-on ]; do sleep 0.1; done'
          spawn('sh', ['-c', stays], { stdio: ['ignore', 'inherit', 'ignore'] })
          return pid()
        }),
        route('GET /probe/slow', { summary: 'Wait', ...answer }, async () => {
          console.log('slow ' + process.pid)
          while (!existsSync('go-on')) await delay(10)
          return pid()
        }),
      ],
    }
  },
})
export default { auth: { bcryptCost: 4 }, wires: [probe()] }
`

/** One connection, which the same process answers for as long as it lives. */
export class Connection {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })
  readonly #url: string

  constructor(url: string) {
    this.#url = url
  }

  async send(
    method: string,
    path: string,
    { token, body, key }: { token?: string; body?: unknown; key?: string } = {},
  ) {
    const headers = {
      ...(key !== undefined && { 'idempotency-key': key }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    }
    const sent = request(this.#url + path, { method, agent: this.#agent, headers })
    const answered = once(sent, 'response') as Promise<[IncomingMessage]>
    sent.on('error', () => undefined) // one that comes with the answer fails its text
    sent.end(body === undefined ? undefined : JSON.stringify(body))
    const [response] = await answered
    const text = await textOf(response)
    const isJson = response.headers['content-type']?.startsWith('application/json')
    return { status: response.statusCode!, text, body: isJson ? JSON.parse(text) : undefined }
  }

  async expect(status: number, ...call: Parameters<Connection['send']>) {
    const answered = await this.send(...call)
    assert.equal(answered.status, status, `${call[0]} ${call[1]}: ${answered.text}`)
    return answered.body
  }

  pid = async (): Promise<number> => (await this.expect(200, 'GET', '/probe/pid')).pid

  close(): void {
    this.#agent.destroy()
  }
}

/** Connections to as many processes, by their ids. */
export async function connectionsToEach(ending: Ending, url: string, count: number) {
  const found = new Map<number, Connection>()
  while (found.size < count) {
    const connection = new Connection(url)
    ending.after(async () => connection.close())
    const pid = await connection.pid()
    if (!found.has(pid)) found.set(pid, connection)
    else await delay(5)
  }
  return found
}

/** Starts two workers with the wire. */
export async function startWorkers(
  ending: Ending,
  databaseUrl: string,
): Promise<{ folder: string; program: Program }> {
  const folder = await applicationFolder(ending, { 'sixwire.config.mjs': CONFIG })
  const program = startProgram(ending, ['start', '--workers', '2'], {
    folder,
    environment: {
      DATA_DIR: folder,
      DATABASE_URL: databaseUrl,
      SIXWIRE_SANDBOX: 'off',
      SIXWIRE_REQUEST_LOG: 'perSecond=1000',
    },
  })
  return { folder, program }
}
