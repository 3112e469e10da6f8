import { existsSync, readdirSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'

import { oneLine } from '../../base/one-line.ts'
import { StartError } from '../../base/start-error.ts'
import { isPlain, shown } from './fields.ts'
import { shareOwnPackage } from './own-package.ts'

const NAMES = ['sixwire.config.ts', 'sixwire.config.js', 'sixwire.config.mjs']

/** The name of the configuration file of a folder; undefined if there is none. */
export const configFileName = (folder: string): string | undefined =>
  NAMES.find((name) => existsSync(join(folder, name)))

/**
 * Runs the configuration file of a folder; returns its export, or an empty object if there is no file.
 *
 * @throws StartError with one line on what is wrong in it, or in a file that it imports
 */
export async function readConfigFile(folder: string): Promise<object> {
  const name = configFileName(folder)
  const ignored = existsSync(folder)
    ? readdirSync(folder).find((one) => one !== name && /^sixwire\.config\.([cm]?[jt]s|json)$/.test(one))
    : undefined
  if (ignored !== undefined)
    throw new StartError(
      name === undefined
        ? `${ignored}: this file is not read: name it sixwire.config.ts`
        : `${ignored}: this file is not read, as there is ${name}: remove one of them`,
    )
  if (name === undefined) return {}
  const file = join(folder, name)
  shareOwnPackage()
  const { default: config } = (await import(pathToFileURL(file).href).catch((error: unknown) => {
    throw thrownBy(basename(file), error, dirname(file))
  })) as { default?: unknown }
  if (!isPlain(config))
    throw new StartError(`${basename(file)}: export default defineConfig({ … }) is missing`)
  return config
}

const SOURCE_PLACE = /(?:file:\/\/)?(\/[^\s()]*\.[cm]?[jt]s:\d+(?::\d+)?)/g
const LINE_CHARACTERS = 1_000

/**
 * The error line for what an application's code threw.
 *
 * @param what the beginning of the line: the code that threw
 * @param folder the application's folder: the line names the first place of the stack in it, or else the first one
 */
export function thrownBy(what: string, error: unknown, folder: string): StartError {
  if (error instanceof StartError) return error
  if (!(error instanceof Error))
    return new StartError(`${what}: ${shown(error)} was thrown`, { cause: error })
  const { name, message, stack = '' } = error
  const line = oneLine([what, name, message.split('\n', 1)[0]!].join(': '), LINE_CHARACTERS)
  const places = [...stack.matchAll(SOURCE_PLACE)].map(([, place]) => relative(folder, place!))
  const place = places.find((one) => !/^\.\.\/|node_modules\//.test(one)) ?? places[0]
  return new StartError(place === undefined ? line : `${line} (${place})`, { cause: error })
}
