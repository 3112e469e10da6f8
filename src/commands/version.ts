import { readFile } from 'node:fs/promises'

import type { Command } from './command.ts'

export const version: Command = {
  summary: 'Print the version',
  usage: 'sixwire version',
  help: 'Prints the versions of Sixwire and of the Node that runs it.',
  async run() {
    const manifest = await readFile(new URL('../../package.json', import.meta.url), 'utf8')
    console.log(`sixwire ${(JSON.parse(manifest) as { version: string }).version} (node ${process.version})`)
    return 0
  },
}
