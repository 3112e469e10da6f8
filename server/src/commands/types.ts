import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { createApp, loadConfig, type Config } from '../app.ts'
import { StartError } from '../base/start-error.ts'
import { apiTypes } from '../http/api-types.ts'
import { defineAction } from './command.ts'
import { definitionFile, readDefinitions, type Definitions } from './definition-files.ts'

export const types = defineAction({
  summary: 'Write the types of the routes and documents for the client',
  options: {
    output: { value: 'FILE', description: 'write the file instead of printing it' },
    collections: {
      value: 'DIR',
      description: 'take the definitions of this folder too, which sixwire collections pull has written',
    },
  },
  details: `Prints TypeScript for createClient<Api> of sixwire/client: the routes of the wires that start would load, those
of this application included, and the documents of the collections that have a schema. It is for clients in other
repositories: the file needs nothing of the server.
Reads the configuration as start does, without a database; nothing is started. Collections that are defined in the
console are in the database: pull them into files first.

  npx sixwire types --output api.ts
  npx sixwire collections pull definitions && npx sixwire types --collections definitions --output api.ts`,
  async run({ options: { output, collections } }) {
    const text = await typesOf(process.cwd(), collections)
    if (output === undefined) {
      console.log(text.trimEnd())
      return 0
    }
    await writeFile(output, text).catch((error: unknown) => {
      throw new StartError(`--output ${output}: the file can't be written: ${(error as Error).message}`)
    })
    return 0
  },
})

/** The types of the routes of the application in a folder. Its database and data are left alone. */
async function typesOf(folder: string, definitionFolder: string | undefined): Promise<string> {
  const config = await loadConfig(folder)
  const definitions: Definitions =
    definitionFolder === undefined ? new Map() : await readDefinitions(definitionFolder)
  const dataDir = await mkdtemp(join(tmpdir(), 'sixwire-types-'))
  try {
    const app = await createApp({
      config: withDefinitions(config, definitions),
      environment: {
        ...process.env,
        DATA_DIR: dataDir,
        DATABASE_URL: `sqlite:${join(dataDir, 'none.db')}`,
        LOG_LEVEL: 'silent',
      },
      folder,
      standIns: false,
    })
    try {
      const collections = app.wires.includes('store') ? app.service('store') : undefined
      return apiTypes(
        app.routes.flatMap(({ routes }) => routes),
        collections,
      )
    } finally {
      await app.close()
    }
  } catch (error) {
    throw atFile(error, config, definitions, definitionFolder ?? '')
  } finally {
    await rm(dataDir, { recursive: true })
  }
}

/** The configuration with definitions of files, over which it has precedence, as over those of the database. */
const withDefinitions = (config: Config, definitions: Definitions): Config =>
  definitions.size === 0
    ? config
    : {
        ...config,
        store: {
          ...config.store,
          collections: { ...Object.fromEntries(definitions), ...config.store?.collections },
        },
      }

/** A fault of a definition, at its file in place of the configuration. */
function atFile(error: unknown, config: Config, definitions: Definitions, folder: string): unknown {
  if (!(error instanceof StartError)) return error
  const [, name = '', rest = ''] = /^store\.collections\.([\w-]+)(.*)$/s.exec(error.message) ?? []
  const isOfFile = definitions.has(name) && !Object.hasOwn(config.store?.collections ?? {}, name)
  return isOfFile ? new StartError(`${definitionFile(folder, name)}${rest.replace(/^\./, ': ')}`) : error
}
