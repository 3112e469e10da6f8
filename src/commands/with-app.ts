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

/** Rows as a table with a line of headings; `(none)` if there are none. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return '(none)'
  const widths = headings.map((heading, at) =>
    Math.max(heading.length, ...rows.map((row) => row[at]!.length)),
  )
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, at) => cell.padEnd(widths[at]!))
      .join('  ')
      .trimEnd()
  return [line(headings), ...rows.map(line)].join('\n')
}
