// How many functions of the store a list runs on the main thread: node scripts/functions-called.ts [--list]
// It counts by V8's precise coverage; what a thread runs is not in it.
import { mkdtemp, rm } from 'node:fs/promises'
import { Session, type Profiler } from 'node:inspector/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { createApp } from '../src/app.ts'

const DOCUMENTS = 200
const filter = encodeURIComponent(JSON.stringify({ n: { $gte: 5 }, city: 'Basel' }))
const REQUESTS = [
  ['a list', '/store/items?limit=20'],
  ['a filtered and sorted list', `/store/items?limit=20&sort=-n&filter=${filter}`],
  ['the same list again', `/store/items?limit=20&sort=-n&filter=${filter}`],
] as const

const folder = await mkdtemp(join(tmpdir(), 'sixwire-functions-'))
const app = await createApp({
  config: {},
  folder,
  environment: {
    PORT: '0',
    DATA_DIR: folder,
    LOG_LEVEL: 'silent',
    ...(process.env['DATABASE_URL'] && { DATABASE_URL: process.env['DATABASE_URL'] }),
    SIXWIRE_SANDBOX: 'off',
  },
})
const session = new Session()
session.connect()
try {
  const base = await app.listen()
  const call = async (path: string, token?: string, body?: object): Promise<Record<string, unknown>> => {
    const response = await fetch(new URL(path, base), {
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
      headers: {
        ...(body && { 'content-type': 'application/json' }),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
    })
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return (await response.json()) as Record<string, unknown>
  }
  const account = { email: 'functions@example.com', password: 'correct horse battery staple' }
  const { token } = await call('/auth/register', undefined, account)
  const documents = Array.from({ length: DOCUMENTS }, (_, n) => ({ n, city: n % 2 ? 'Basel' : 'Bern' }))
  for (const document of documents) await call('/store/items', String(token), document)
  // What only the first list of a process does is not counted.
  await call('/store/others', String(token))
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  for (const [name, path] of REQUESTS) {
    await session.post('Profiler.takePreciseCoverage')
    await call(path, String(token))
    const { result } = await session.post('Profiler.takePreciseCoverage')
    const called = calledOf(result)
    console.log(
      `${name}: ${called.length} functions of the store in ${new Set(called.map(([url]) => url)).size} files`,
    )
    if (process.argv.includes('--list')) for (const [url, of] of called) console.log(`  ${url} ${of}`)
  }
} finally {
  session.disconnect()
  await app.close()
  await rm(folder, { recursive: true, force: true })
}

function calledOf(scripts: readonly Profiler.ScriptCoverage[]): [url: string, functionName: string][] {
  return scripts
    .filter(({ url }) => url.includes('/src/wires/store/'))
    .flatMap(({ url, functions }) =>
      functions
        .filter(({ ranges }) => ranges[0]!.count > 0)
        .map(({ functionName }): [string, string] => [url.split('/src/wires/store/')[1]!, functionName]),
    )
}
