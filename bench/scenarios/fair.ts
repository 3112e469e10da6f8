import { setTimeout as delay } from 'node:timers/promises'

import { defineScenario, type Figures, type Server } from '../bench.ts'
import { compare, probe, rowOf, type Side } from '../compare.ts'
import { explain, indexesReady, seed } from '../documents.ts'
import { idle, memoryOf } from '../process.ts'
import { accountOf, ask, askFor, register } from '../servers.ts'

const LARGE_DOCUMENTS = 40
const SMALL_DOCUMENTS = 200
const ATTACKERS = 24
const CLAUSES = 199
const SIGN_IN_PAUSE_MS = 300

const COSTLY = JSON.stringify({ $or: Array.from({ length: CLAUSES }, (_, n) => ({ [`no${n}.x`]: n })) })
/** A list that an index answers. */
const INDEXED = `/store/items?sort=n&filter=${encodeURIComponent('{"n":{"$lt":100}}')}`

/** What others see of a server. */
async function look({ base, token }: Server, seconds: number): Promise<Figures> {
  const ended = delay(seconds * 1000)
  const [list, health, signIn] = await Promise.all([
    probe(ended, () => askFor(base, `GET ${INDEXED}`, { token })),
    probe(ended, () => askFor(base, 'GET /health')),
    probe(ended, () => askFor(base, 'POST /auth/login', { body: accountOf(0) }), SIGN_IN_PAUSE_MS),
  ])
  const figures = { 'list by an index': list, '/health': health, 'sign-in': signIn }
  return Object.fromEntries(Object.entries(figures).map(([name, one]) => [`${name}, p99 ms`, one['p99 ms']]))
}

/** Sends costly lists until `isOver`. */
async function attack(base: string, token: string, isOver: () => boolean): Promise<void> {
  const call = `GET /store/large?filter=${encodeURIComponent(COSTLY)}`
  while (!isOver()) if ((await ask(base, call, { token })).status !== 200) await delay(5)
}

export default defineScenario({
  name: 'fair',
  summary: 'what others see while one user sends costly lists, against a quiet server',

  async prepare(bench) {
    const config = { store: { collections: { items: 'shared' }, indexes: { items: ['n'] } } }
    const server = await bench.open('sixwire', 'sixwire', { isAdmin: true, config })
    const { base } = server
    const attacker = await register(base, 1)
    bench.note(`creating ${LARGE_DOCUMENTS} documents of 1 MiB`)
    const fields = Array.from({ length: 25_000 }, (_, n) => [`field${n}`, `the value of it ${n}`])
    const large = JSON.stringify(Object.fromEntries(fields))
    for (let n = 0; n < LARGE_DOCUMENTS; n++)
      await askFor(base, 'POST /store/large', { token: attacker, body: large })
    await seed(bench, server, 'items', { to: SMALL_DOCUMENTS })
    await indexesReady(server, 'items', 1)
    return { server, attacker }
  },

  async *run(bench, { server, attacker }) {
    const { seconds } = bench.settings
    const { base, pid } = server
    const { plan } = await explain(server, INDEXED)
    if (plan !== 'index') throw new Error(`the plan of the list is ${plan}`)
    await idle(pid)
    const before = memoryOf(pid).now
    const attacked: Side = {
      pid,
      async measure() {
        let isOver = false
        const attacks = Array.from({ length: ATTACKERS }, () => attack(base, attacker, () => isOver))
        await delay(1000)
        const figures = await look(server, seconds)
        isOver = true
        await Promise.all(attacks)
        return figures
      },
    }
    const quiet: Side = { pid, measure: () => look(server, seconds) }
    yield* compare(bench, 'during the attack', ['quiet', quiet], attacked)
    yield rowOf('resident memory at most', 'MB', ['before the attack', before], memoryOf(pid).peak)
  },
})
