// What decoding takes: memory, of the server and of the process that decodes, and time.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'

import sharp, { type Sharp } from 'sharp'

import { temporaryFolder } from '../../../../../testing/engines.ts'
import { createPackedApplication, startInstalled } from '../../../../../testing/packed.ts'
import { until } from '../../../../../testing/until.ts'
import type { Uploaded } from '../file-content.fixture.ts'
import { decodersOf, memoryOf } from './decoder.fixture.ts'

const skip = process.platform !== 'linux' && 'reads /proc'

const MEMORY_MAX_BYTES = 400e6
const SAMPLE_MS = 10
const DOCUMENTS = 2000
const CONNECTIONS = 16
const CONFIG = `export default { name: 'images', store: { uploadLimit: '60MB' }, rateLimits: 'off' }`

/** Smooth and rough at once, like a photo. */
async function photo(side: number, channels: 3 | 4 = 3): Promise<Sharp> {
  const raw = { width: 10, height: 10, channels }
  const large = await sharp(randomBytes(10 * 10 * channels), { raw })
    .resize(side, side, { kernel: 'cubic' })
    .raw()
    .toBuffer()
  return sharp(large, { raw: { width: side, height: side, channels } })
}

/** The largest of each format that are decoded. */
const LARGEST: [type: string, make: () => Promise<Sharp>][] = [
  ['jpeg', async () => (await photo(7071)).jpeg({ chromaSubsampling: '4:4:4' })],
  ['jpeg', async () => (await photo(5000)).jpeg({ progressive: true })],
  ['jpeg', async () => (await photo(3535)).jpeg({ progressive: true, chromaSubsampling: '4:4:4' })],
  ['png', async () => (await photo(7071, 4)).png({ compressionLevel: 3 })],
  ['png', async () => (await photo(4330, 4)).png({ progressive: true, compressionLevel: 3 })],
  ['webp', async () => (await photo(4000)).webp({ effort: 0 })],
  ['webp', async () => (await photo(4000, 4)).webp({ effort: 0, lossless: true })],
  ['gif', async () => (await photo(4000)).gif({ effort: 1, colours: 16, dither: 0 })],
  ['avif', async () => (await photo(2048)).avif({ effort: 0 })],
  ['avif', async () => (await photo(2048, 4)).avif({ effort: 0 })],
]
const QUERIES = ['avif', 'webp', 'jpeg', 'png'].map((format) => `size=2048&format=${format}`)

async function startServer(t: TestContext) {
  const folder = await createPackedApplication(await temporaryFolder(t))
  await writeFile(join(folder, 'sixwire.config.ts'), CONFIG)
  const program = join(folder, 'node_modules/sixwire/bin/sixwire.js')
  const environment = { PORT: '0', SIXWIRE_SANDBOX: 'off', SIXWIRE_SECRET: 's'.repeat(40) }
  const { server, url } = await startInstalled(t, [process.execPath, program, 'start'], {
    folder,
    environment,
  })
  const json = { 'content-type': 'application/json' }
  const registered = await fetch(`${url}/auth/register`, {
    method: 'POST',
    headers: json,
    body: JSON.stringify({ email: 'ada@example.com', password: 'correct horse battery' }),
  })
  const { token } = (await registered.json()) as { token: string }
  const headers = { authorization: `Bearer ${token}` }
  return {
    pid: server.pid!,
    get: (path: string) => fetch(url + path, { headers }),
    add: (path: string, document: object) =>
      fetch(url + path, { method: 'POST', headers: { ...headers, ...json }, body: JSON.stringify(document) }),
    async upload(bytes: Buffer, type: string): Promise<Uploaded> {
      const body = new FormData()
      body.set('file', new File([new Uint8Array(bytes)], 'a', { type }))
      const answer = await fetch(`${url}/store/upload`, { method: 'POST', headers, body })
      return (await answer.json()) as Uploaded
    },
  }
}

type Server = Awaited<ReturnType<typeof startServer>>

async function load({ add, get }: Server): Promise<void> {
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      for (let n = 0; n < DOCUMENTS / CONNECTIONS; n++) {
        const added = await add('/store/books', { title: `Momo ${n}` })
        const { _id } = (await added.json()) as Uploaded
        await (await get(`/store/books/${_id}`)).arrayBuffer()
        await (await get('/store/books')).arrayBuffer()
      }
    }),
  )
}

/** Looks at the memory of the server and its processes. @returns the most that both took, and what ends the looks */
function watchMemory(pid: number) {
  let most = { sum: 0, server: 0 }
  const timer = setInterval(() => {
    const server = memoryOf(pid).resident
    const sum = decodersOf(pid).reduce((bytes, decoder) => bytes + memoryOf(decoder).own, server)
    if (sum > most.sum) most = { sum, server }
  }, SAMPLE_MS)
  return {
    most: () => most,
    end: () => clearInterval(timer),
  }
}

const MB = (bytes: number): number => Math.round(bytes / 1e6)

test('a server that decodes the largest images takes less than 400 MB', { skip }, async (t) => {
  const server = await startServer(t)
  await load(server)
  t.diagnostic(`after some load: ${MB(memoryOf(server.pid).resident)} MB`)
  for (const [format, make] of LARGEST) {
    const bytes = await (await make()).toBuffer()
    const { _id } = await server.upload(bytes, `image/${format}`)
    const memory = watchMemory(server.pid)
    const statuses = []
    for (const query of QUERIES) {
      const answer = await server.get(`/store/files/${_id}/content?${query}`)
      await answer.arrayBuffer()
      statuses.push(answer.status)
    }
    memory.end()
    const { sum, server: own } = memory.most()
    t.diagnostic(`${format} of ${bytes.length} bytes: ${MB(sum)} MB, of which the server ${MB(own)}`)
    assert.deepEqual(statuses, [200, 200, 200, 200], format)
    assert.ok(sum < MEMORY_MAX_BYTES, `${format}: ${MB(sum)} MB, of which the server ${MB(own)}`)
  }
  await until(() => decodersOf(server.pid).length === 0)
  t.diagnostic(`afterwards: ${MB(memoryOf(server.pid).resident)} MB`)
})

test('an image whose process does not answer is refused', { skip }, async (t) => {
  const server = await startServer(t)
  const image = await (await photo(40)).png().toBuffer()
  const { _id } = await server.upload(image, 'image/png')
  const path = `/store/files/${_id}`
  await until(async () => 'image' in ((await (await server.get(path)).json()) as object))
  const [pid] = decodersOf(server.pid)
  process.kill(pid!, 'SIGSTOP')
  const answer = await server.get(`${path}/content?width=9`)
  const { error } = (await answer.json()) as { error: { code: string } }
  assert.deepEqual([answer.status, error.code], [422, 'IMAGE_TOO_LARGE'])
  assert.equal((await server.get(`${path}/content?width=9`)).status, 200)
})
