import type { Command } from './command.ts'
import { withApp } from './with-app.ts'

export const check: Command = {
  summary: 'Say whether the configuration works and everything it names can be reached',
  usage: 'sixwire check',
  help: `Reads the configuration as start does, opens the database, brings its tables up to date,
and asks every wire whether it and its providers can work. Exits with 1 where something can't.`,
  async run() {
    return withApp(async (app) => {
      console.log('ok  configuration')
      const checks: [string, () => Promise<void>][] = [['database', () => app.db.ping()], ...app.health()]
      let failed = 0
      for (const [name, reach] of checks) {
        try {
          await reach()
          console.log(`ok  ${name}`)
        } catch (error) {
          failed++
          console.log(`--  ${name}: ${(error as Error).message}`)
        }
      }
      return failed === 0 ? 0 : 1
    })
  },
}
