import { flushCompileCache } from 'node:module'

import { createApp, loadConfig, type App } from '../app.ts'
import { DEV_VARIABLE } from '../kernel/config/config.ts'
import { banner, runningLine } from './banner.ts'
import { defineAction } from './command.ts'
import { SETTING_OPTIONS, withSettings } from './environment.ts'
import { limitBuffers, settleHeap } from './heap.ts'
import { onPackageManagerEnd } from './parent.ts'
import { onSignals } from './signals.ts'
import { putPoolBehind } from './thread-priority.ts'

// A little longer than the application waits before it ends by force.
const FORCED_END_MS = 31_000
const SETTLED_MS = 1_000

export const start = defineAction({
  summary: 'Run the server',
  options: {
    ...SETTING_OPTIONS,
    'new-database': {
      description: 'create an empty database, though DATA_DIR has the files of an installation',
    },
  },
  details: `Runs until SIGTERM or SIGINT (Ctrl-C): the first one finishes the requests under way, refuses new ones
and exits with 0; a second one, over a second later, or 30 seconds end it at once.

Common settings: PORT, HOST, DATA_DIR, DATABASE_URL, SIXWIRE_POLICY, SIXWIRE_SECRET, LOG_LEVEL.`,
  async run({ options: { 'new-database': newDatabase, ...options }, environment }) {
    const signal = untilSignal()
    limitBuffers()
    const folder = process.cwd()
    const settings = withSettings(environment, options)
    const app = await createApp({
      config: await loadConfig(folder),
      environment: settings.variables,
      sourceOf: (name) => settings.sourceOf(name),
      folder,
      newDatabase,
    })
    const running = listen(app)
    // A start that a signal interrupts may fail; that is no error then.
    running.catch(() => undefined)
    try {
      await Promise.race([running, signal, app.outdated])
      await Promise.race([signal, app.outdated])
    } finally {
      await app.close()
    }
    return 0
  },
})

async function listen(app: App): Promise<void> {
  const address = await app.listen()
  putPoolBehind()
  // Once the first clients have their answers.
  setTimeout(settleHeap, SETTLED_MS).unref()
  // Node itself writes it at a regular end only.
  flushCompileCache()
  if (app.settings.production) app.log.info(...runningLine(app, address))
  else console.log(banner(app, address))
}

/** Resolves at the first signal, or when the package manager has ended. A second one, or a timeout, ends the process. */
function untilSignal(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  function end(): void {
    resolve()
    setTimeout(() => process.exit(1), FORCED_END_MS).unref()
  }
  onPackageManagerEnd(end)
  const insist = (): void => process.exit(1)
  if (process.env[DEV_VARIABLE]) {
    onSignals(['SIGTERM'], end, insist)
    // A Ctrl-C reaches `sixwire dev`, too, which closes the channel then, as it does when it dies.
    process.on('SIGINT', () => undefined)
    process.on('disconnect', end)
  } else onSignals(['SIGTERM', 'SIGINT'], end, insist)
  return promise
}
