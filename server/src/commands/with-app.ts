import { createApp, loadConfig, type App, type Config } from '../app.ts'

/**
 * Runs a command on the application's database, on which a server may be running.
 *
 * @param options.isStarted whether the wires are started; if not, only the tables exist
 * @param options.config in place of that of the current folder
 */
export async function withApp<T>(
  work: (app: App) => Promise<T>,
  {
    isStarted = true,
    withoutStored = false,
    config,
  }: { isStarted?: boolean; withoutStored?: boolean; config?: Config } = {},
): Promise<T> {
  const folder = process.cwd()
  const app = await createApp({
    config: config ?? (await loadConfig(folder)),
    folder,
    standIns: false,
    withoutStored,
    logTo: { write: writeEvent },
  })
  try {
    await (isStarted ? app.start() : app.migrate())
    return await work(app)
  } finally {
    await app.close()
  }
}

/** Where no person reads, what a command changed in accounts belongs to what collects the logs. */
function writeEvent(line: string): void {
  if (!process.stderr.isTTY && line.includes('"event":"')) console.error(line.trimEnd())
}
