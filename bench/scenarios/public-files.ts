import { randomBytes } from 'node:crypto'

import { defineScenario, type Server } from '../bench.ts'
import { compare } from '../compare.ts'
import { loadSide, type LoadRequest } from '../load.ts'
import { openNginx } from '../nginx.ts'
import { memoryOf } from '../process.ts'

const FILES = 100
const BYTES = 20_000
const CONNECTIONS = [16, 64]

/** Uploads a file that everybody may read. @returns the path of its bytes */
async function publish({ base, token }: Server, bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const body = new FormData()
  body.append('access', 'public')
  body.append('file', new Blob([bytes]), 'photo.bin')
  const headers = { authorization: `Bearer ${token}` }
  const response = await fetch(`${base}/store/upload`, { method: 'POST', headers, body })
  if (response.status !== 201) throw new Error(`an upload answered ${response.status}`)
  return new URL(((await response.json()) as { url: string }).url).pathname
}

export default defineScenario({
  name: 'public-files',
  summary: 'reads of public files of 20 KB against nginx, one worker with sendfile',

  async prepare(bench) {
    const files = Object.fromEntries(
      Array.from({ length: FILES }, (_, at) => [`${at}.bin`, new Uint8Array(randomBytes(BYTES))] as const),
    )
    const server = await bench.open('sixwire', 'sixwire')
    const paths: string[] = []
    for (const bytes of Object.values(files)) paths.push(await publish(server, bytes))
    return { server, paths, nginx: await openNginx(bench, files), names: Object.keys(files) }
  },

  async *run(bench, { server, paths, nginx, names }) {
    const there = names.map((name): LoadRequest => ({ path: `/${name}` }))
    const here = paths.map((path): LoadRequest => ({ path }))
    const stranger = { ...server, token: '' }
    for (const connections of CONNECTIONS)
      yield* compare(
        bench,
        `read of 20 KB, ${connections} connections`,
        ['nginx', loadSide(bench, nginx, there, connections)],
        loadSide(bench, stranger, here, connections),
      )
    bench.note(`at most MB: nginx ${memoryOf(nginx.pid).peak}, Sixwire ${memoryOf(server.pid).peak}`)
  },
})
