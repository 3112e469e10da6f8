import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'

import { temporaryFolder } from '../testing/engines.ts'
import { startProgram } from '../testing/program.ts'
import { TICKER_CONFIG } from '../testing/ticker.ts'
import { until } from '../testing/until.ts'

/** Of so many addresses, each of which may have 20. */
const ADDRESSES = 50
const STREAMS = 20 * ADDRESSES
/** Calls under way would be waited for for 30 seconds. */
const LONGEST_STOP_MS = 15_000

test('a server with 1,000 open streams tells each that it stops, and stops', async (t) => {
  const folder = await temporaryFolder(t)
  await writeFile(join(folder, 'sixwire.config.mjs'), TICKER_CONFIG)
  const server = startProgram(t, ['start'], { folder, environment: { SIXWIRE_SANDBOX: 'off' } })
  const port = Number(new URL(await server.url()).port)
  const texts = Array.from({ length: STREAMS }, () => '')
  let closed = 0
  for (const at of texts.keys()) {
    const socket = connect({ port, host: '127.0.0.1', localAddress: `127.0.1.${1 + (at % ADDRESSES)}` })
    t.after(() => void socket.destroy())
    socket.setEncoding('utf8').on('data', (text: string) => (texts[at] += text))
    socket.on('close', () => closed++).on('error', () => undefined)
    socket.write('GET /ticker HTTP/1.1\r\nhost: localhost\r\n\r\n')
  }
  await until(() => texts.every((text) => text.includes('data: open\n\n')))
  const startedAt = performance.now()
  server.signal('SIGTERM')
  assert.equal(await server.ended, 0)
  const stoppedMs = performance.now() - startedAt
  await until(() => closed === STREAMS)
  assert.deepEqual(
    texts.filter((text) => !text.includes('data: restart\n\n')),
    [],
  )
  assert.ok(stoppedMs < LONGEST_STOP_MS, `it took ${Math.round(stoppedMs)} ms`)
  t.diagnostic(`stopped in ${Math.round(stoppedMs)} ms`)
})
