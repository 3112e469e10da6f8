import { setTimeout as delay } from 'node:timers/promises'

import type { Command } from './command.ts'
import { withApp } from './with-app.ts'

const LONGEST_WAIT_MS = 5_000

export const check: Command = {
  summary: 'Say whether the configuration works and everything it names can be reached',
  usage: 'sixwire check',
  help: `Reads the configuration as start does, opens the database, brings its tables up to date,
and asks every wire whether it and its providers can work. Exits with 1 where something can't.`,
  async run() {
    return withApp(async (app) => {
      console.log('ok      configuration')
      const checks: [string, () => Promise<void>][] = [['database', () => app.db.ping()], ...app.health()]
      let failed = 0
      for (const [name, reach] of checks) {
        try {
          await answerOf(reach)
          console.log(`ok      ${name}`)
        } catch (error) {
          failed++
          console.log(`failed  ${name}: ${(error as Error).message}`)
        }
      }
      return failed === 0 ? 0 : 1
    })
  },
}

async function answerOf(reach: () => Promise<void>): Promise<void> {
  const answered = new AbortController()
  const late = delay(LONGEST_WAIT_MS, undefined, { signal: answered.signal }).then(() => {
    throw new Error(`it has not answered for ${LONGEST_WAIT_MS / 1000} seconds`)
  })
  try {
    await Promise.race([reach(), late])
  } finally {
    answered.abort()
    late.catch(() => undefined)
  }
}
