import { platformVersion } from '../base/platform-version.ts'
import type { Command } from './command.ts'

export const version: Command = {
  summary: 'Print the version',
  usage: 'sixwire version',
  help: 'Prints the versions of Sixwire and of the Node that runs it.',
  async run() {
    console.log(`sixwire ${platformVersion()} (node ${process.version})`)
    return 0
  },
}
