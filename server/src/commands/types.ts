import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { createApp, loadConfig } from '../app.ts'
import { StartError } from '../base/start-error.ts'
import { apiTypes } from '../http/api-types.ts'
import { defineAction } from './command.ts'

export const types = defineAction({
  summary: 'Write the types of the routes and documents for the client',
  options: { output: { value: 'FILE', description: 'write the file instead of printing it' } },
  details: `Prints TypeScript for createClient<Api> of sixwire/client: the routes of the wires that start would load, those
of this application included, and the documents of the collections that have a schema. It is for clients in other
repositories: the file needs nothing of the server.
Reads the configuration as start does, without a database; nothing is started.

  npx sixwire types --output api.ts`,
  async run({ options: { output } }) {
    const text = await typesOf(process.cwd())
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
async function typesOf(folder: string): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), 'sixwire-types-'))
  try {
    const app = await createApp({
      config: await loadConfig(folder),
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
  } finally {
    await rm(dataDir, { recursive: true })
  }
}
