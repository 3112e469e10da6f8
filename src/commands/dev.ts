import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

import type { Command } from './command.ts'

export const dev: Command = {
  summary: 'Run the server, and start it anew when a source file changes',
  usage: 'sixwire dev',
  help: `Like start, for the time of writing: whenever sixwire.config.ts, or any file that it imports,
is saved, the server is ended and started again. Data stays.`,
  async run() {
    const cli = fileURLToPath(new URL('../../bin/sixwire.js', import.meta.url))
    const child = spawn(process.execPath, ['--watch', '--watch-preserve-output', cli, 'start'], {
      stdio: 'inherit',
    })
    // Ctrl-C reaches the child as well; this process only waits for its end.
    process.on('SIGINT', () => undefined)
    process.on('SIGTERM', () => child.kill('SIGTERM'))
    return new Promise((resolve) => child.on('exit', (code) => resolve(code ?? 0)))
  },
}
