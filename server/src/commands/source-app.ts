import { existsSync } from 'node:fs'

import { createApp, loadConfig, type App } from '../app.ts'
import { systemClock } from '../base/clock.ts'
import { StartError } from '../base/start-error.ts'
import { sqliteFileOf } from '../db/open.ts'
import { readSettings } from '../kernel/config/config.ts'

/** The application of this folder, which must have a database. */
export async function withSource<T>(work: (app: App) => Promise<T>): Promise<T> {
  const folder = process.cwd()
  const config = await loadConfig(folder)
  const { databaseUrl } = await readSettings(config, process.env, folder)
  const file = sqliteFileOf(databaseUrl)
  if (file !== undefined && !existsSync(file))
    throw new StartError(`there is no database ${file}: run this in the folder of the application`)
  const app = await createApp({ config, folder, standIns: false, logTo: { write() {} } })
  try {
    return await work(app)
  } finally {
    await app.close()
  }
}

/** What storages need that no server has opened; their warnings are for the person who has called the command. */
export const toTerminal = {
  clock: systemClock,
  log: { warn: (_fields: object, text: string): void => console.error(`sixwire: ${text}`) },
}
