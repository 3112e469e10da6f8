// What images take of memory: those that are decoded, and those that are not stored, for clients that do not read them.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { test } from 'node:test'

import sharp, { type Sharp } from 'sharp'

import { startApp } from '../../../testing/app.ts'
import { anyEngine, temporaryFolder } from '../../../testing/engines.ts'
import { startScript, urlLiteral } from '../../../testing/program.ts'
import { upload } from './files.fixture.ts'

/** Beside what the server takes without images. */
const MEMORY_MAX_BYTES = 350_000_000
/** As docs/files.md says: freed memory goes back to the system. */
const ENVIRONMENT = { MALLOC_TRIM_THRESHOLD_: '1048576' }

const server = (databaseUrl: string, folder: string): string => `
  import { createApp } from ${urlLiteral('app.ts')}
  const folder = ${JSON.stringify(folder)}
  const app = await createApp({
    config: { store: { uploadLimit: '60MB' }, auth: { bcryptCost: 4 } },
    environment: {
      PORT: '0', SIXWIRE_SANDBOX: 'off', DATA_DIR: folder,
      SIXWIRE_SECRET: 'a secret of the tests that is long enough', DATABASE_URL: ${JSON.stringify(databaseUrl)},
    },
    folder,
    logTo: { write() {} },
  })
  console.log('url ' + (await app.listen()))`

/** Smooth and rough at once, like a photo. */
async function photo(side: number): Promise<Sharp> {
  const raw = { width: 10, height: 10, channels: 4 } as const
  const large = await sharp(randomBytes(10 * 10 * 4), { raw })
    .resize(side, side, { kernel: 'cubic' })
    .raw()
    .toBuffer()
  return sharp(large, { raw: { width: side, height: side, channels: 4 } })
}

/** Of each format what takes most to decode. */
const largest = {
  jpeg: async () => (await photo(7000)).jpeg({ progressive: true }).toBuffer(),
  png: async () => (await photo(5000)).png({ progressive: true, compressionLevel: 3 }).toBuffer(),
  webp: async () => (await photo(5000)).webp({ effort: 0 }).toBuffer(),
  avif: async () => (await photo(2828)).avif({ effort: 0 }).toBuffer(),
}

anyEngine((engine) => {
  test('the largest images take no more than 350 MB, one after the other', async (t) => {
    const script = server(await engine.migratedUrl(), await temporaryFolder(t))
    const program = await startScript(t, script, { environment: ENVIRONMENT })
    const [, url = ''] = await program.until(/url (\S+)/)
    const registered = await fetch(`${url}/auth/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'a@example.com', password: 'correct horse battery' }),
    })
    const { token } = (await registered.json()) as { token: string }
    const headers = { authorization: `Bearer ${token}` }
    const most = async (): Promise<number> =>
      Number(/VmHWM:\s+(\d+)/.exec(await readFile(`/proc/${program.pid}/status`, 'utf8'))![1]) * 1024

    // Its start has taken more than it needs now.
    await writeFile(`/proc/${program.pid}/clear_refs`, '5')
    const before = await most()
    t.diagnostic(`before: ${Math.round(before / 1e6)} MB`)
    for (const [format, make] of Object.entries(largest)) {
      const body = new FormData()
      body.set('file', new File([new Uint8Array(await make())], 'a', { type: `image/${format}` }))
      const uploaded = await fetch(`${url}/store/upload`, { method: 'POST', headers, body })
      assert.equal(uploaded.status, 201)
      const { _id, size } = (await uploaded.json()) as { _id: string; size: number }
      const types = await Promise.all(
        ['size=2048', 'width=2048&height=2048&fit=contain', 'width=2828', 'size=64'].map(async (query) => {
          const response = await fetch(`${url}/store/files/${_id}/content?${query}&format=avif`, { headers })
          await response.arrayBuffer()
          return response.headers.get('content-type')
        }),
      )
      assert.deepEqual(types, ['image/avif', 'image/avif', 'image/webp', 'image/avif'], format)
      t.diagnostic(`${format} of ${size} bytes: ${Math.round((await most()) / 1e6)} MB`)
    }
    const bytes = (await most()) - before
    assert.ok(bytes < MEMORY_MAX_BYTES, `${Math.round(bytes / 1e6)} MB`)
  })

  test('images of 64 MiB are held in memory, no more, and of one caller 16 MiB', async (t) => {
    const app = await startApp(t, engine, { environment: { DATA_DIR: await temporaryFolder(t) } })
    const tokens = await Promise.all(Array.from({ length: 5 }, async () => (await app.register()).token))
    const raw = { width: 1600, height: 1600, channels: 3 } as const
    const image = await sharp(randomBytes(1600 * 1600 * 3), { raw })
      .png()
      .toBuffer()
    const { body } = await upload(app, tokens[0], { bytes: new Uint8Array(image), type: 'image/png' })
    const content = `/store/files/${body._id}/content`
    const get = (width: number) => app.request('GET', `${content}?width=${width}`, { token: tokens[0] })
    for (let width = 1; width <= 20; width++) await get(width)

    const { hostname, port } = new URL(app.url)
    const clients = []
    const statuses = []
    for (const [n, token] of tokens.entries())
      for (let width = 1590 + n; width < 1593 + n; width++) {
        const client = connect(Number(port), hostname)
        clients.push(client)
        client.write(
          `GET ${content}?width=${width} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${token}\r\n\r\n`,
        )
        const [answer] = (await once(client, 'data')) as [Buffer]
        client.pause()
        statuses.push(answer.toString('latin1', 9, 12))
      }
    const ofOne = ['200', '200', '503']
    assert.deepEqual(statuses, [...ofOne, ...ofOne, ...ofOne, ...ofOne, '503', '503', '503'])
    for (const client of clients) client.destroy()
    while ((await get(1590)).status === 503);
  })
})
