// Writes client/src/generated/api.ts: the types of the routes of Sixwire's own wires for the client.
//
//   node scripts/api-types.ts
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { createApp } from '../server/src/app.ts'
import { apiTypes } from '../server/src/http/api-types.ts'

export const API_FILE = new URL('../client/src/generated/api.ts', import.meta.url)

/** The text of the file. */
export async function builtInApi(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sixwire-types-'))
  const environment = { PORT: '0', LOG_LEVEL: 'silent', SIXWIRE_SANDBOX: 'off', DATA_DIR: folder }
  const app = await createApp({ folder, environment })
  try {
    return apiTypes(app.routes.flatMap(({ routes }) => routes))
  } finally {
    await app.close()
    await rm(folder, { recursive: true })
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await writeFile(API_FILE, await builtInApi())
