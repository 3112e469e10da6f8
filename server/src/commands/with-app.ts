import { createApp, loadConfig, type App } from '../app.ts'

/**
 * Runs a command on the application's database, on which a server may be running.
 *
 * @param options.isStarted whether the wires are started; if not, only the tables exist
 */
export async function withApp<T>(
  work: (app: App) => Promise<T>,
  { isStarted = true }: { isStarted?: boolean } = {},
): Promise<T> {
  const folder = process.cwd()
  const app = await createApp({
    config: await loadConfig(folder),
    folder,
    standIns: false,
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
