import { createApp, loadConfig, type App } from '../app.ts'
import { DEV_VARIABLE } from '../kernel/config.ts'
import { banner } from './banner.ts'
import type { Command } from './command.ts'
import { keepMemorySmall } from './memory.ts'
import { onSignals } from './signals.ts'
import { putPoolBehind } from './thread-priority.ts'

// A little more than the application itself takes to end by force.
const FORCED_END_MS = 31_000

export const start: Command = {
  summary: 'Run the server',
  usage: 'sixwire start',
  help: `Runs until it is told to end. The first SIGTERM or SIGINT (Ctrl-C) lets what is under way finish,
refuses what is new and exits with 0; a second one, or 30 seconds, ends it at once.

Settings most wanted: PORT, HOST, DATA_DIR, DATABASE_URL, SIXWIRE_POLICY, SIXWIRE_SECRET, LOG_LEVEL.`,
  async run() {
    const told = toldToEnd()
    keepMemorySmall()
    const folder = process.cwd()
    const app = await createApp({ config: await loadConfig(folder), folder })
    const running = listen(app)
    // Where the end is asked for during the start, it is no fault that the start comes to nothing.
    running.catch(() => undefined)
    try {
      await Promise.race([running, told])
      await told
    } finally {
      await app.close()
    }
    return 0
  },
}

async function listen(app: App): Promise<void> {
  const address = await app.listen()
  putPoolBehind()
  console.log(banner(app, address))
}

/** Resolves with the first signal. Another one, or time, ends the process. */
function toldToEnd(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  function end(): void {
    resolve()
    setTimeout(() => process.exit(1), FORCED_END_MS).unref()
  }
  const insist = (): void => process.exit(1)
  if (process.env[DEV_VARIABLE]) {
    onSignals(['SIGTERM'], end, insist)
    // A Ctrl-C reaches `sixwire dev` too. It lets go of the channel then, as it does when it dies.
    process.on('SIGINT', () => undefined)
    process.on('disconnect', end)
  } else onSignals(['SIGTERM', 'SIGINT'], end, insist)
  return promise
}
