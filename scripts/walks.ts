// How many functions of the server run for a request, by floors: `npm run walks` writes the table of docs/performance.md,
// `npm run walks -- --check` fails if one has grown by more than 5 %, and `npm run walks -- --list get` names what runs for a get.
// It counts by V8's precise coverage, on the main thread: what worker threads run, such as SQLite's, is not in it.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { Session, type Profiler } from 'node:inspector/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { createApp, type App } from '../server/src/app.ts'
import type { MailProvider } from '../server/src/wires/messaging/providers/provider.ts'
import { startPostgres } from '../server/src/testing/postgres.ts'

const PAGE = new URL('../docs/performance.md', import.meta.url)
const BEGIN = '<!-- walks: made by npm run walks -->\n'
const END = '<!-- end of walks -->'

const DOCUMENTS = 100
/** What the server does beside a request, such as for the log, runs in some of the turns only. */
const TURNS = 6
/** How often a walk that seems to have grown is traced again: the shortest counts. */
const TRACES_MAX = 3
/** By how much a walk may grow against the table. */
const GROWTH_MAX = 1.05

/** The columns of the table: folders of `server/src/`. */
const FLOORS = ['base', 'db', 'http', 'kernel', 'wires'] as const

type Request = { path: string; method?: string; body?: object | FormData; token?: string }
/** A request of each turn, all of which run the same functions. */
type Kind = { name: string; request: (turn: number) => Request | Promise<Request> }
/** The functions that ran in each turn, as `http/dispatch.ts name`. */
type Walk = { name: string; functions: string[] }

const account = { email: 'walks@example.com', password: 'correct horse battery staple' }
const provider: MailProvider = {
  name: 'none',
  channel: 'email',
  send: async () => ({ kind: 'accepted', id: 'walk' }),
  check: async () => undefined,
  close: async () => undefined,
}

async function call(base: string, { path, method = 'GET', body, token }: Request): Promise<unknown> {
  const isForm = body instanceof FormData
  const response = await fetch(new URL(path, base), {
    method,
    ...(body && { body: isForm ? body : JSON.stringify(body) }),
    headers: {
      ...(body && !isForm && { 'content-type': 'application/json' }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
  })
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
  return response.json()
}

/** What is traced, on a server that has an account and some documents. */
async function prepare(base: string): Promise<Kind[]> {
  const post = (path: string, body: object, token?: string) => ({
    path,
    method: 'POST',
    body,
    ...(token !== undefined && { token }),
  })
  const { token } = (await call(base, post('/auth/register', account))) as { token: string }
  const ids: string[] = []
  for (let n = 0; n < DOCUMENTS; n++) {
    const document = { n, city: n % 2 ? 'Basel' : 'Bern' }
    const created = (await call(base, post('/store/items', document, token))) as { _id: string }
    ids.push(created._id)
  }
  const filtered = (n: number) => {
    const filter = encodeURIComponent(JSON.stringify({ n: { $gte: n }, city: 'Basel' }))
    return { path: `/store/items?limit=20&sort=-n&filter=${filter}`, token }
  }
  const upload = () => {
    const body = new FormData()
    body.set('file', new Blob(['a text'], { type: 'text/plain' }), 'a.txt')
    return { path: '/store/upload', method: 'POST', body, token }
  }
  const refresh = async () => {
    const { refreshToken } = (await call(base, post('/auth/login', account))) as { refreshToken: string }
    return post('/auth/refresh', { refreshToken })
  }
  const mail = { to: 'a@example.com', subject: 'A walk', body: 'A text' }
  return [
    { name: '`GET /health`', request: () => ({ path: '/health' }) },
    { name: '`GET /auth/me`', request: () => ({ path: '/auth/me', token }) },
    { name: 'sign-in', request: () => post('/auth/login', account) },
    { name: 'refresh of a token', request: refresh },
    { name: 'get', request: () => ({ path: `/store/items/${ids[5]!}`, token }) },
    { name: 'create', request: (turn) => post('/store/items', { n: turn }, token) },
    {
      name: 'patch',
      request: (n) => ({ path: `/store/items/${ids[7]!}`, method: 'PATCH', body: { n }, token }),
    },
    { name: 'list', request: () => ({ path: '/store/items?limit=20', token }) },
    { name: 'two conditions and a sort, first', request: filtered },
    { name: 'the same list again', request: () => filtered(5) },
    { name: 'upload', request: upload },
    { name: 'mail', request: () => post('/messaging/email', mail, token) },
  ]
}

/** Traces each kind of request on a server of its own, on a new database. */
async function trace(databaseUrl?: string): Promise<Walk[]> {
  const folder = await mkdtemp(join(tmpdir(), 'sixwire-walks-'))
  const app = await createApp({
    config: { messaging: { email: [provider] } },
    folder,
    environment: {
      PORT: '0',
      DATA_DIR: folder,
      LOG_LEVEL: 'silent',
      SIXWIRE_SANDBOX: 'off',
      ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl }),
    },
  })
  try {
    return await traceOn(app)
  } finally {
    await app.close()
    await rm(folder, { recursive: true, force: true })
  }
}

async function traceOnPostgres(): Promise<Walk[]> {
  const server = await startPostgres()
  try {
    return await trace(server.url)
  } finally {
    await server.stop()
  }
}

async function traceOn(app: App): Promise<Walk[]> {
  const base = await app.listen()
  const kinds = await prepare(base)
  const session = new Session()
  session.connect()
  try {
    await session.post('Profiler.enable')
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
    const walks: Walk[] = []
    for (const { name, request } of kinds) {
      // What only the first requests of a process run is not of each turn.
      for (let turn = 0; turn < 3; turn++) await call(base, await request(turn))
      const requests: Request[] = []
      for (let turn = 10; turn < 10 + TURNS; turn++) requests.push(await request(turn))
      await session.post('Profiler.takePreciseCoverage')
      let functions: Set<string> | undefined
      for (const one of requests) {
        await call(base, one)
        const { result } = await session.post('Profiler.takePreciseCoverage')
        const called = calledIn(result)
        functions = functions?.intersection(called) ?? called
      }
      walks.push({ name, functions: [...functions!].toSorted() })
    }
    return walks
  } finally {
    session.disconnect()
  }
}

function calledIn(scripts: readonly Profiler.ScriptCoverage[]): Set<string> {
  return new Set(
    scripts.flatMap(({ url, functions }) => {
      const file = url.split('/server/src/')[1]
      if (file === undefined || url.includes('/node_modules/')) return []
      return functions
        .filter(({ functionName, ranges }) => functionName !== '' && ranges[0]!.count > 0)
        .map(({ functionName, ranges }) => `${file} ${functionName} ${ranges[0]!.startOffset}`)
    }),
  )
}

const inFloor = ({ functions }: Walk, floor: string): number =>
  functions.filter((one) => one.startsWith(`${floor}/`)).length

const filesOf = ({ functions }: Walk): number => new Set(functions.map((one) => one.split(' ', 1)[0])).size

/** The table, from what was traced on both engines. */
function tableOf(sqlite: readonly Walk[], postgres: readonly Walk[]): string {
  const rows = sqlite.map((walk, i) => [
    walk.name,
    walk.functions.length,
    filesOf(walk),
    ...FLOORS.map((floor) => inFloor(walk, floor)),
    postgres[i]!.functions.length,
  ])
  const header = ['request', 'functions', 'files', ...FLOORS, 'on PostgreSQL']
  return [header, header.map((_, i) => (i === 0 ? '---' : '--:')), ...rows]
    .map((cells) => `| ${cells.join(' | ')} |\n`)
    .join('')
}

/** The functions of each walk that a table has, on SQLite and on PostgreSQL. */
function lengthsIn(table: string): Map<string, [sqlite: number, postgres: number]> {
  const rows = table.split('\n').filter((line) => /^\| .*\d \|$/.test(line))
  return new Map(
    rows.map((row) => {
      const cells = row.split('|').map((cell) => cell.trim())
      return [cells[1]!, [Number(cells[2]), Number(cells.at(-2))]]
    }),
  )
}

/** What has grown by more than 5 % against the table, a line each. */
function growth(table: string, committed: string): string[] {
  const limits = lengthsIn(committed)
  return [...lengthsIn(table)].flatMap(([name, lengths]) =>
    ['SQLite', 'PostgreSQL'].flatMap((engine, i) => {
      const [length, limit] = [lengths[i]!, limits.get(name)?.[i] ?? 0]
      return length <= limit * GROWTH_MAX
        ? []
        : [`${name} on ${engine} runs ${length} functions, ${limit} in docs/performance.md`]
    }),
  )
}

/** Names the functions that run for a request. */
async function list(request: string): Promise<void> {
  const walks = await trace()
  const walk = walks.find(({ name }) => name.includes(request))
  if (!walk) throw new Error(`No request is called ${request}: ${walks.map(({ name }) => name).join(', ')}`)
  for (const one of walk.functions) console.log(one.replace(/ \d+$/, ''))
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { check: { type: 'boolean' }, list: { type: 'string' } },
  })
  if (values.list !== undefined) return list(values.list)
  const page = await readFile(PAGE, 'utf8')
  const [before, after] = [page.indexOf(BEGIN) + BEGIN.length, page.indexOf(END)]
  if (!values.check) {
    const table = tableOf(await trace(), await traceOnPostgres())
    await writeFile(PAGE, page.slice(0, before) + table + page.slice(after))
    console.log(table)
    return
  }
  let grown: string[] | undefined
  for (let traces = 0; traces < TRACES_MAX && grown?.length !== 0; traces++) {
    const now = growth(tableOf(await trace(), await traceOnPostgres()), page.slice(before, after))
    const names = new Set(now.map((line) => line.split(' runs ')[0]))
    grown = grown?.filter((line) => names.has(line.split(' runs ')[0])) ?? now
  }
  for (const line of grown!)
    console.error(`${line}: shorten it, or run npm run walks and say why in the commit`)
  if (grown!.length > 0) process.exitCode = 1
}

await main()
