import { createApp, loadConfig } from '../app.ts'
import { banner } from './banner.ts'
import type { Command } from './command.ts'

const FORCED_END_MS = 30_000

export const start: Command = {
  summary: 'Run the server',
  usage: 'sixwire start',
  help: `Runs until it is told to end. The first SIGTERM or SIGINT (Ctrl-C) lets what is under way finish,
refuses what is new and exits with 0; a second one, or 30 seconds, ends it at once.

Settings most wanted: PORT, HOST, DATA_DIR, DATABASE_URL, SIXWIRE_POLICY, SIXWIRE_SECRET, LOG_LEVEL.`,
  async run() {
    const folder = process.cwd()
    const app = await createApp({ config: await loadConfig(folder), folder })
    const ended = new Promise<number>((resolve) => {
      let asked = false
      const end = (): void => {
        if (asked) process.exit(1)
        asked = true
        setTimeout(() => process.exit(1), FORCED_END_MS + 1_000).unref()
        app.close().then(
          () => resolve(0),
          (error: unknown) => {
            console.error(`sixwire: the server could not end cleanly: ${(error as Error).message}`)
            resolve(1)
          },
        )
      }
      process.on('SIGTERM', end)
      process.on('SIGINT', end)
    })
    try {
      const address = await app.listen()
      console.log(banner(app, address))
    } catch (error) {
      await app.close()
      throw error
    }
    return ended
  },
}
