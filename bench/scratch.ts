import { readFileSync, readdirSync, rmSync, mkdirSync, existsSync, writeFileSync } from 'node:fs'
import { openServer, askFor, accountOf } from './servers.ts'
import { startStreamClients } from './streams.ts'
import { memoryOf, processorMs, idle } from './process.ts'
import { sendLoad } from './load.ts'
const mode = process.argv[2]!,
  N = Number(process.argv[3] ?? 5000)
const dir = '/tmp/bench-scratch/prof'
rmSync(dir, { recursive: true, force: true })
mkdirSync(dir)
const NOTE = 'A few words about this item, as a person would write them down. '.repeat(6)
const REST = JSON.stringify({ note: NOTE, tags: ['red', 'blue'], active: true }).slice(1)
const config = {
  store: {
    collections: {
      logged: { read: 'public', create: 'user', update: 'user' },
      unlogged: { read: 'public', create: 'user', update: 'user', changes: false },
      news: { read: 'public', create: 'user' },
      rooms: { read: { members: '$$user._id' }, create: 'user' },
    },
  },
  auth: { bcryptCost: 4, accessTokenSeconds: 86400 },
}
const home = `/tmp/bench-scratch/home`
if (!existsSync('/tmp/bench-scratch/keep')) rmSync(home, { recursive: true, force: true })
const endings: any[] = []
const bench: any = {
  settings: { seconds: 3, streams: N },
  folder: '/tmp/bench-scratch',
  note: console.log,
  fault: console.log,
  after: (f: any) => endings.push(f),
}
const server = await openServer('sixwire', home, process.env['PG_URL'] || undefined, {
  config,
  environment: {
    NODE_OPTIONS: process.env['PROF'] ? `--cpu-prof --cpu-prof-dir=${dir}` : (process.env['NOPT'] ?? ''),
  },
})
const clients = startStreamClients(bench)
const { base, token, pid } = server
const usersFile = `${home}/users-${N}.json`
let users: any[] = []
if (existsSync(usersFile)) users = JSON.parse(readFileSync(usersFile, 'utf8'))
else if (N > 20) {
  let next = 1
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      while (next <= N) {
        const { user, token } = await askFor<any>(base, 'POST /auth/register', { body: accountOf(next++) })
        users.push({ _id: user._id, token })
      }
    }),
  )
  writeFileSync(usersFile, JSON.stringify(users))
} else users = Array.from({ length: N }, () => ({ token }))
const tokens = users.map((u) => u.token)
const open = (c: string) => clients({ kind: 'open', base, path: `/store/changes?collection=${c}`, tokens })
const cpu = async (name: string, f: () => Promise<any>) => {
  const a = processorMs(pid),
    t = performance.now()
  const r = await f()
  console.log(
    name,
    'cpu ms',
    processorMs(pid) - a,
    'of',
    Math.round(performance.now() - t),
    r === undefined ? '' : JSON.stringify(r),
  )
  return r
}
await idle(pid)
const wait = (ms: number) => new Promise((r) => setTimeout(r, ms))
const write = { base, path: '/store/logged', token, rests: [REST] }
const reqs = Array.from({ length: 1000 }, (_, n) => ({
  method: 'POST' as const,
  path: '/store/logged',
  body: `{"n":${n},${REST}`,
}))
if (mode === 'snap') {
  await open('rooms')
  await wait(2000)
  process.kill(pid, 'SIGUSR2')
  await wait(15000)
}
if (mode === 'rss') {
  const m = memoryOf(pid).now
  await cpu('open', () => open('rooms'))
  await wait(3000)
  console.log('KiB each', ((memoryOf(pid).now - m) * 1024) / N, m, memoryOf(pid))
  await cpu('idle', () => wait(5000))
  console.log('KiB each', ((memoryOf(pid).now - m) * 1024) / N)
}
if (mode === 'beside') {
  await cpu('none', () => sendLoad(bench, server, reqs, 16))
  await open('rooms')
  await cpu('idle', () => wait(3000))
  await cpu('with', () => sendLoad(bench, server, reqs, 16))
  await cpu('with', () => sendLoad(bench, server, reqs, 16))
  await clients({ kind: 'close' })
  await cpu('none', () => sendLoad(bench, server, reqs, 16))
}
if (mode === 'all') {
  await open('news')
  for (let i = 0; i < 20; i++) {
    await idle(pid)
    await cpu('change', () =>
      clients({ kind: 'change', write: { ...write, path: '/store/news' }, events: N }),
    )
  }
}
if (mode === 'pace') {
  await open('logged')
  for (let i = 0; i < 3; i++)
    await cpu('pace', () =>
      clients({ kind: 'pace', write, events: N, perSecond: Number(process.argv[4] ?? 1000), seconds: 3 }),
    )
}
if (mode === 'resume') {
  for (let i = 0; i < 4; i++) {
    const t = { base, path: '/store/changes?collection=logged', tokens }
    const { id } = await clients({ kind: 'open', ...t })
    await clients({ kind: 'close' })
    for (let j = 0; j < 10; j++)
      await askFor(base, 'POST /store/logged', {
        token,
        body: `[${Array.from({ length: 1000 }, (_, n) => `{"n":${n},${REST}`).join()}]`,
      })
    await idle(pid)
    await cpu('resume', () =>
      clients({ kind: 'resume', target: { ...t, lastEventId: id }, events: 10000 * N }),
    )
    await clients({ kind: 'close' })
  }
}
await server.stop()
endings.forEach((f) => f())
for (const f of readdirSync(dir)) {
  const p = JSON.parse(readFileSync(`${dir}/${f}`, 'utf8'))
  const self = new Map<string, number>()
  const byId = new Map(p.nodes.map((n: any) => [n.id, n]))
  const total = p.timeDeltas.reduce((a: number, b: number) => a + b, 0)
  const incl = new Map<string, number>()
  const parent = new Map<number, number>()
  for (const n of p.nodes) for (const c of n.children ?? []) parent.set(c, n.id)
  const nameOf = (n: any) =>
    `${n.callFrame.functionName || '(anon)'} ${n.callFrame.url.split('/').slice(-2).join('/')}:${n.callFrame.lineNumber}`
  p.samples.forEach((s: number, i: number) => {
    const d = p.timeDeltas[i]
    const n: any = byId.get(s)
    self.set(nameOf(n), (self.get(nameOf(n)) ?? 0) + d)
    const seen = new Set<string>()
    for (let at: number | undefined = s; at !== undefined; at = parent.get(at)) {
      const k = nameOf(byId.get(at))
      if (!seen.has(k)) {
        seen.add(k)
        incl.set(k, (incl.get(k) ?? 0) + d)
      }
    }
  })
  const idleUs = self.get('(idle) :-1') ?? 0
  console.log(f, 'busy s', ((total - idleUs) / 1e6).toFixed(2))
  if (total - idleUs < 3e5) continue
  const top = (m: Map<string, number>, n: number) =>
    [...m]
      .filter(([k]) => !k.startsWith('(idle)') && !k.startsWith('(root)'))
      .sort((a, b) => b[1] - a[1])
      .slice(0, n)
      .map(
        ([k, v]) =>
          `${(v / 1000).toFixed(0).padStart(6)} ms ${((100 * v) / (total - idleUs)).toFixed(1)}% ${k}`,
      )
      .join('\n')
  console.log('SELF\n' + top(self, 28))
  console.log('INCL\n' + top(incl, 60))
}
process.exit(0)
