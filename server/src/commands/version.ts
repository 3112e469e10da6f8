import { platformVersion } from '../base/platform-version.ts'
import { defineAction } from './command.ts'
import { JSON_OPTION } from './option.ts'
import { print } from './print.ts'

export const version = defineAction({
  summary: 'Print the version',
  options: JSON_OPTION,
  details: 'Prints the versions of Sixwire and of the Node that runs it.',
  ignoresEnvironmentFile: true,
  async run({ options: { json } }) {
    const found = { version: platformVersion(), node: process.version }
    print(json, found, () => `sixwire ${found.version} (node ${found.node})`)
    return 0
  },
})
