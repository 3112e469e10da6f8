import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

import type { Ending } from './engines.ts'
import { applicationFolder, startProgram } from './program.ts'

// Writes down every module that the program asks for, before it is loaded.
const WITNESS = `
import { appendFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context)
    appendFileSync(process.env.WITNESS_FILE, resolved.url + '\\n')
    return resolved
  },
})
`

/** A server whose modules are known. */
export type WatchedServer = {
  url: string
  /** Everything printed so far. */
  output(): string
  /** The URLs of the modules that it has loaded so far, each once, in the order in which they were first asked for. */
  loaded(): Promise<string[]>
}

/** Starts the real program with an empty application, and answers once the server listens. It writes down what it loads. */
export async function startWatched(
  ending: Ending,
  environment: Record<string, string>,
): Promise<WatchedServer> {
  const folder = await applicationFolder(ending, { 'witness.mjs': WITNESS })
  const file = join(folder, 'loaded')
  const program = startProgram(ending, ['start'], {
    folder,
    environment: {
      DATA_DIR: join(folder, 'data'),
      NODE_OPTIONS: `--import=${join(folder, 'witness.mjs')}`,
      WITNESS_FILE: file,
      SIXWIRE_SECRET: 'a secret of the tests that is long enough',
      ...environment,
    },
  })
  return {
    url: await program.url(),
    output: () => program.output(),
    loaded: async () => [...new Set((await readFile(file, 'utf8')).trim().split('\n'))],
  }
}
