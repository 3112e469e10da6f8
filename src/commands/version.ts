import { readFile } from 'node:fs/promises'

import type { Command } from './command.ts'

export const version: Command = {
  summary: 'Print the version',
  usage: 'sixwire version',
  help: "Prints Sixwire's version and that of the Node it runs on.",
  async run() {
    const manifest = await readFile(new URL('../../package.json', import.meta.url), 'utf8')
    console.log(`sixwire ${(JSON.parse(manifest) as { version: string }).version} (node ${process.version})`)
    return 0
  },
}
