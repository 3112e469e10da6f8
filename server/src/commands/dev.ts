import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { relative, resolve } from 'node:path'
import { isSea } from 'node:sea'
import { fileURLToPath } from 'node:url'

import { asset } from '../base/asset.ts'
import { DEV_VARIABLE } from '../kernel/config/config.ts'
import { defineAction } from './command.ts'
import { SETTING_OPTIONS, settingArguments } from './environment.ts'
import { onPackageManagerEnd } from './parent.ts'
import { onSignals } from './signals.ts'
import { watchSources } from './watch.ts'

export const dev = defineAction({
  summary: 'Run the server, and restart it when a source file changes',
  options: SETTING_OPTIONS,
  details: `Like start, for development: restarts the server when a source file in this folder is saved
(sixwire.config.ts, a wire's .ts or .sql, .env; not in node_modules and the data folder). Data stays.`,
  // The server reads the file itself, as it is then.
  ignoresEnvironmentFile: true,
  async run({ options }) {
    const folder = process.cwd()
    let server: ChildProcess | undefined
    let busy = false
    let isEnding = false

    function startServer(): void {
      const child = spawnServer(settingArguments(options))
      server = child
      child.on('exit', (code, signal) => {
        if (busy || isEnding) return
        server = undefined
        console.log(
          `sixwire dev: the server has ended (${code ?? signal}); it starts again when a file changes`,
        )
      })
    }
    async function restart(path: string): Promise<void> {
      // The next start includes a change that comes meanwhile.
      if (busy || isEnding) return
      busy = true
      console.log(`sixwire dev: ${relative(folder, path)} has changed`)
      await end(server)
      busy = false
      if (!isEnding) startServer()
    }

    startServer()
    const unwatch = watchSources(folder, [resolve(process.env['DATA_DIR'] ?? 'data')], restart)
    await new Promise<void>((enough) => {
      function finish(): void {
        isEnding = true
        enough()
      }
      onPackageManagerEnd(finish)
      onSignals(['SIGINT', 'SIGTERM', 'SIGHUP'], finish, () => server?.kill('SIGKILL'))
    })
    unwatch()
    await end(server)
    return 0
  },
})

function spawnServer(args: readonly string[]): ChildProcess {
  // The program in one file is its own Node.
  const program = isSea() ? [] : [...process.execArgv, fileURLToPath(asset('../bin/sixwire.js'))]
  return spawn(process.execPath, [...program, 'start', ...args], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, [DEV_VARIABLE]: 'on' },
  })
}

/** Closes the server's channel, which ends it, and waits for its exit. */
async function end(server: ChildProcess | undefined): Promise<void> {
  if (!server || server.exitCode !== null || server.signalCode !== null) return
  const exited = once(server, 'exit')
  if (server.connected) server.disconnect()
  await exited
}
