import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, stat } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'

import { temporaryFolder } from '../testing/engines.ts'
import { PROGRAM } from '../testing/program.ts'
import { until } from '../testing/until.ts'

const SOCKETS = 300

test('connections are bounded below the limit of descriptors, and the lock of a process is private', async (t) => {
  const folder = await temporaryFolder(t)
  const { PATH, HOME } = process.env
  const words = ['-c', 'ulimit -n 256; exec "$0" "$1" start', process.execPath, PROGRAM]
  const env = { PATH, HOME, PORT: '0', DATA_DIR: folder }
  const server = spawn('sh', words, { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(server, 'close')
  t.after(async () => {
    server.kill('SIGKILL')
    await ended
  })
  let output = ''
  server.stdout.setEncoding('utf8').on('data', (text: string) => void (output += text))
  await until(() => /runs at http:\S+:\d+/.test(output))
  // The lines of the log are written on their own, before or after this text.
  await until(() => /this process may open 256 files: more than 128 connections are refused/.test(output))
  const lock = (await readdir(folder)).find((name) => /-process-[^-]+$/.test(name))
  assert.equal((await stat(join(folder, lock!))).mode & 0o777, 0o600)
  const port = Number(/runs at http:\S+:(\d+)/.exec(output)![1])
  let refused = 0
  const sockets = Array.from({ length: SOCKETS }, () =>
    connect(port, '127.0.0.1')
      .on('error', () => undefined)
      .on('close', () => refused++)
      .resume(),
  )
  t.after(() => sockets.forEach((socket) => void socket.destroy()))
  await until(() => refused >= SOCKETS - 128)
})
