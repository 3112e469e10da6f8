import { flushCompileCache } from 'node:module'

import { createApp, loadConfig, type App } from '../app.ts'
import { DEV_VARIABLE, WORKER_VARIABLE } from '../kernel/config/config.ts'
import { banner, runningLine } from './banner.ts'
import { withSettings, type Environment, type SettingValues } from './environment.ts'
import { limitBuffers, settleHeap } from './heap.ts'
import { onPackageManagerEnd } from './parent.ts'
import { onSignals } from './signals.ts'
import { putPoolBehind } from './thread-priority.ts'
import type { Worker } from './workers/worker.ts'

// A little longer than the application waits before it ends by force.
const FORCED_END_MS = 31_000
const SETTLED_MS = 1_000

/** Runs the server in this process, alone or as one of several workers, until a signal. @returns the exit code */
export async function serve(
  { 'new-database': newDatabase, ...options }: SettingValues & { readonly 'new-database': boolean },
  environment: Environment,
): Promise<number> {
  const { ended, end } = untilSignal()
  const worker = process.env[WORKER_VARIABLE] === undefined ? undefined : await joinWorkers(end)
  limitBuffers()
  const folder = process.cwd()
  const settings = withSettings(environment, options)
  const app = await createApp({
    config: await loadConfig(folder),
    environment: settings.variables,
    sourceOf: (name) => settings.sourceOf(name),
    folder,
    newDatabase,
    ...(worker && { siblings: worker.siblings }),
  })
  app.outdated.catch(() => worker?.outdated())
  const running = listen(app, worker)
  // A start that a signal interrupts may fail; that is no error then.
  running.catch(() => undefined)
  try {
    await Promise.race([running, ended, app.outdated])
    await Promise.race([ended, app.outdated])
  } finally {
    await app.close()
  }
  return 0
}

const joinWorkers = async (end: () => void) => (await import('./workers/worker.ts')).joinWorkers(end)

async function listen(app: App, worker: Worker | undefined): Promise<void> {
  const address = await app.listen()
  putPoolBehind()
  // Once the first clients have their answers.
  setTimeout(settleHeap, SETTLED_MS).unref()
  // Node itself writes it at a regular end only.
  flushCompileCache()
  function announce(): void {
    const workers = worker?.siblings.count
    if (app.settings.production) app.log.info(...runningLine(app, address, workers))
    else console.log(banner(app, address, workers))
  }
  if (worker) worker.ready(announce, (fields, text) => app.log.warn(fields, text))
  else announce()
}

/** Resolves at the first signal, or when the package manager has ended. A second one, or a timeout, ends the process. */
function untilSignal(): { ended: Promise<void>; end: () => void } {
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
  return { ended: promise, end }
}
