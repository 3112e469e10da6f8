import { setTimeout as delay } from 'node:timers/promises'

import { defineScenario } from '../bench.ts'
import { compare, probe, type Side } from '../compare.ts'
import { accountOf, ask, register } from '../servers.ts'

const SIGN_INS = 50

export default defineScenario({
  name: 'sign-in',
  summary: 'how quick /health stays during 50 sign-ins at once, against a quiet server',

  async prepare(bench) {
    const server = await bench.open('sixwire', 'sixwire')
    bench.note(`registering ${SIGN_INS} accounts`)
    for (let n = 1; n < SIGN_INS; n++) await register(server.base, n)
    return server
  },

  run(bench, { base, pid }) {
    const health = () => ask(base, 'GET /health')
    const quiet: Side = { pid, measure: () => probe(delay(bench.settings.seconds * 1000), health) }
    const busy: Side = {
      pid,
      async measure() {
        const calls = Array.from({ length: SIGN_INS }, (_, n) =>
          ask(base, 'POST /auth/login', { body: accountOf(n) }),
        )
        const signIns = Promise.all(calls)
        const figures = await probe(signIns, health)
        const failed = (await signIns).filter(({ status }) => status !== 200).length
        if (failed > 0) bench.fault(`${failed} of ${SIGN_INS} sign-ins failed`)
        return figures
      },
    }
    return compare(bench, `/health during ${SIGN_INS} sign-ins`, ['quiet', quiet], busy)
  },
})
