import { existsSync, writeFileSync } from 'node:fs'
import { chmod } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'

import pg from 'pg'

import { freePort } from '../../server/src/testing/free-port.ts'
import { defineScenario, type Bench, type Server } from '../bench.ts'
import { compare } from '../compare.ts'
import { creates, seed } from '../documents.ts'
import { loadSide, type Requests } from '../load.ts'
import { startListener } from '../process.ts'

const CONNECTIONS = 32
// As Debian's packages install them.
const PGBOUNCER = '/usr/sbin/pgbouncer'
const HAPROXY = '/usr/sbin/haproxy'

export default defineScenario({
  name: 'scaling',
  summary: 'two servers behind a balancer, and one behind a pooler, against one on the same PostgreSQL',

  async prepare(bench) {
    const { settings, note } = bench
    if (settings.engine !== 'postgres') throw new Error('scaling is measured with --engine postgres')
    const one = await bench.open('sixwire', 'scaling')
    const { ids } = await seed(bench, one, 'items', { to: settings.documents })
    // As autovacuum does within a minute: behind a pooler each list is planned by these statistics.
    await analyze(one.databaseUrl)
    const others: [string, Server][] = []
    if (existsSync(HAPROXY)) others.push(['two servers behind HAProxy', await balanced(bench, one)])
    else note('HAProxy is not installed: left out')
    if (existsSync(PGBOUNCER))
      for (const mode of ['session', 'transaction'] as const)
        others.push([`behind PgBouncer in ${mode} mode`, await pooled(bench, one, mode)])
    else note('PgBouncer is not installed: left out')
    return { one, others, ids }
  },

  async *run(bench, { one, others, ids }) {
    const requests: [string, Requests][] = [
      ['get', ids.slice(0, 20_000).map((id) => ({ path: `/store/items/${id}` }))],
      ['list 20 with total', [{ path: '/store/items?limit=20' }]],
      ['create', creates('items', bench.settings.documents)],
    ]
    for (const [title, other] of others)
      for (const [kind, some] of requests)
        yield* compare(
          bench,
          `${title}: ${kind}, ${CONNECTIONS} connections`,
          ['one server', loadSide(bench, one, some, CONNECTIONS)],
          loadSide(bench, other, some, CONNECTIONS),
        )
  },
})

async function analyze(databaseUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query('analyze')
  await client.end()
}

/** A second server on the database of the first one, and a balancer in front of both. */
async function balanced(bench: Bench, one: Server): Promise<Server> {
  const two = await bench.open('sixwire', 'scaling')
  const port = await freePort()
  const file = join(bench.folder, 'haproxy.cfg')
  const servers = [one, two].map(({ base }, at) => `  server s${at} ${new URL(base).host} check\n`).join('')
  writeFileSync(
    file,
    `defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
listen sixwire
  bind 127.0.0.1:${port}
  balance roundrobin
  option httpchk GET /ready
${servers}`,
  )
  return behind(bench, { ...one, base: `http://127.0.0.1:${port}` }, [HAPROXY, '-f', file], port)
}

/** A server that reaches the database of the first one through a pooler. */
async function pooled(
  bench: Bench,
  { databaseUrl }: Server,
  mode: 'session' | 'transaction',
): Promise<Server> {
  const [url, port] = [new URL(databaseUrl), await freePort()]
  const [file, users] = [join(bench.folder, `${mode}.ini`), join(bench.folder, 'users')]
  writeFileSync(users, `"${url.username}" "${url.password}"\n`)
  writeFileSync(
    file,
    `[databases]
* = host=${url.hostname} port=${url.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = plain
auth_file = ${users}
pool_mode = ${mode}
default_pool_size = 40
`,
  )
  await chmod(bench.folder, 0o755)
  const account = process.getuid?.() === 0 ? ['-u', 'nobody'] : []
  await behind(bench, undefined, [PGBOUNCER, '-q', ...account, file], port)
  url.port = String(port)
  return bench.open('sixwire', 'scaling', { environment: { DATABASE_URL: url.href } })
}

/** Starts what stands in front of a server, until the end of the scenario. */
async function behind<S>(bench: Bench, server: S, [program, ...args]: string[], port: number): Promise<S> {
  const isReady = () =>
    new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false))
      socket.on('connect', () => socket.end())
    })
  const log = join(bench.folder, `${port}.log`)
  const listener = await startListener(args, { cwd: bench.folder, env: {}, log, program: program! }, isReady)
  bench.after(() => listener.stop())
  return server
}
