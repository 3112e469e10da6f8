import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

import { DEV_VARIABLE } from '../kernel/config.ts'
import type { Command } from './command.ts'
import { onSignals } from './signals.ts'
import { watchSources } from './watch.ts'

export const dev: Command = {
  summary: 'Run the server, and start it anew when a source file changes',
  usage: 'sixwire dev',
  help: `Like start, for the time of writing: whenever a source file in this folder is saved
(sixwire.config.ts, a wire's .ts or .sql, .env; not those of node_modules and the data folder),
the server is ended and started again. Data stays.`,
  async run() {
    const folder = process.cwd()
    let server: ChildProcess | undefined
    let busy = false
    let told = false

    function begin(): void {
      const begun = spawnServer()
      server = begun
      begun.on('exit', (code, signal) => {
        if (busy || told) return
        server = undefined
        console.log(
          `sixwire dev: the server has ended (${code ?? signal}); it starts again when a file changes`,
        )
      })
    }
    async function restart(path: string): Promise<void> {
      // A change that comes in between is in what starts next.
      if (busy || told) return
      busy = true
      console.log(`sixwire dev: ${relative(folder, path)} has changed`)
      await end(server)
      busy = false
      if (!told) begin()
    }

    begin()
    const unwatch = watchSources(folder, [resolve(process.env['DATA_DIR'] ?? 'data')], restart)
    await new Promise<void>((enough) =>
      onSignals(
        ['SIGINT', 'SIGTERM', 'SIGHUP'],
        () => {
          told = true
          enough()
        },
        () => server?.kill('SIGKILL'),
      ),
    )
    unwatch()
    await end(server)
    return 0
  },
}

function spawnServer(): ChildProcess {
  const program = fileURLToPath(new URL('../../bin/sixwire.js', import.meta.url))
  return spawn(process.execPath, [...process.execArgv, program, 'start'], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, [DEV_VARIABLE]: 'on' },
  })
}

/** Lets go of the server's channel, at which it ends, and waits until it has. */
async function end(server: ChildProcess | undefined): Promise<void> {
  if (!server || server.exitCode !== null || server.signalCode !== null) return
  const exited = once(server, 'exit')
  if (server.connected) server.disconnect()
  await exited
}
