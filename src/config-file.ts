import { existsSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'

import { StartError } from './db/migrations.ts'

const NAMES = ['sixwire.config.ts', 'sixwire.config.js', 'sixwire.config.mjs']

/**
 * Runs the configuration file of a folder; answers what it exports, or an empty object where there is no file.
 *
 * @throws StartError with the one line that says what is wrong in it, or in a file that it imports
 */
export async function readConfigFile(folder: string): Promise<object> {
  const file = NAMES.map((name) => join(folder, name)).find((path) => existsSync(path))
  if (!file) return {}
  const { default: config } = (await import(pathToFileURL(file).href).catch((error: unknown) => {
    throw unreadable(file, error)
  })) as { default?: unknown }
  if (typeof config !== 'object' || config === null)
    throw new StartError(`${basename(file)}: export default defineConfig({ … }) is missing`)
  return config
}

function unreadable(file: string, error: unknown): unknown {
  if (error instanceof StartError || !(error instanceof Error)) return error
  const { name, message, stack = '' } = error
  const line = [basename(file), name, message.split('\n', 1)[0]!].join(': ')
  const place = /(?:file:\/\/)?(\/[^\s()]*\.[cm]?[jt]s:\d+(?::\d+)?)/.exec(stack)?.[1]
  return new StartError(place === undefined ? line : `${line} (${relative(dirname(file), place)})`, {
    cause: error,
  })
}
