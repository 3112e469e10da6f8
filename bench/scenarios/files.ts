import { randomBytes } from 'node:crypto'

import { defineScenario, type Bench, type Server } from '../bench.ts'
import { compare, rowOf, type Side } from '../compare.ts'
import { compareLoad, type LoadRequest } from '../load.ts'
import { idle, memoryOf } from '../process.ts'

const CONNECTIONS = 16
const SMALL_BYTES = 10_000
const SMALL_FILES = 200
const MEGABYTE = 1_000_000
const BOUNDARY = 'bench-of-files-8b1f3a'

/** Random, so that no file system or disk compresses it. */
function megabytes(count: number): Blob {
  const part = new Blob([randomBytes(MEGABYTE)])
  return new Blob(Array.from({ length: count }, () => part))
}

async function upload({ base, token }: Server, file: Blob): Promise<string> {
  const body = new FormData()
  body.append('file', file, 'bench.bin')
  const headers = { authorization: `Bearer ${token}` }
  const response = await fetch(`${base}/store/upload`, { method: 'POST', headers, body })
  if (response.status !== 201) throw new Error(`an upload answered ${response.status}`)
  return ((await response.json()) as { _id: string })._id
}

/** @returns how many bytes came */
async function download({ base, token }: Server, id: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}` }
  return (await (await fetch(`${base}/store/files/${id}/content`, { headers })).arrayBuffer()).byteLength
}

/** One large file at a time, up and down. */
const largeSide = (server: Server, file: Blob): Side => ({
  pid: server.pid,
  async measure() {
    const begun = performance.now()
    const id = await upload(server, file)
    const uploaded = performance.now()
    if ((await download(server, id)) < file.size) throw new Error('a download was too short')
    const downMs = performance.now() - uploaded
    const rate = (ms: number) => (file.size / MEGABYTE / ms) * 1000
    return { 'up MB a second': rate(uploaded - begun), 'down MB a second': rate(downMs) }
  },
})

/** Uploads of small files as the load sends them. */
const smallUploads = (): LoadRequest[] =>
  Array.from({ length: SMALL_FILES }, () => {
    const content = randomBytes((SMALL_BYTES * 3) / 4).toString('base64')
    const part = 'content-disposition: form-data; name="file"; filename="bench.txt"'
    const body = `--${BOUNDARY}\r\n${part}\r\n\r\n${content}\r\n--${BOUNDARY}--\r\n`
    return { method: 'POST', path: '/store/upload', type: `multipart/form-data; boundary=${BOUNDARY}`, body }
  })

async function smallDownloads(server: Server): Promise<LoadRequest[]> {
  const requests: LoadRequest[] = []
  const file = new Blob([randomBytes(SMALL_BYTES)])
  while (requests.length < SMALL_FILES)
    requests.push({ path: `/store/files/${await upload(server, file)}/content` })
  return requests
}

/** MB more than a server had, at most, during an upload. */
async function memoryForUpload({ note }: Bench, server: Server, size: number): Promise<number> {
  await upload(server, megabytes(1))
  await idle(server.pid)
  const before = memoryOf(server.pid).now
  note(`an upload of ${size} MB`)
  await upload(server, megabytes(size))
  return memoryOf(server.pid).peak - before
}

export default defineScenario({
  name: 'files',
  summary: 'uploads and downloads against the floor, which stores a request as it comes',

  prepare: async (bench) => ({
    floor: await bench.open('floor', 'floor'),
    server: await bench.open('sixwire', 'sixwire', {
      environment: { SIXWIRE_UPLOAD_LIMIT: '3GB', SIXWIRE_USER_QUOTA: 'none' },
    }),
  }),

  async *run(bench, { floor, server }) {
    const [large, huge] = bench.settings.isQuick ? [10, 50] : [50, 2000]
    const there = await memoryForUpload(bench, floor, huge)
    const here = await memoryForUpload(bench, server, huge)
    yield rowOf(`an upload of ${huge} MB`, 'MB more memory', ['floor', there], here)
    const file = megabytes(large)
    yield* compare(bench, `a file of ${large} MB`, ['floor', largeSide(floor, file)], largeSide(server, file))
    const up = smallUploads()
    yield* compareLoad(bench, 'upload of 10 KB', CONNECTIONS, [floor, up], [server, up])
    const [down, ownDown] = [await smallDownloads(floor), await smallDownloads(server)]
    yield* compareLoad(bench, 'download of 10 KB', CONNECTIONS, [floor, down], [server, ownDown])
  },
})
