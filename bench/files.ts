import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import type { Bench } from './bench.ts'
import { askFor } from './client.ts'
import { documentBody } from './documents.ts'
import { openFileClient, type FileClient, type FileServer } from './file-client.ts'
import { probe, type Latency } from './health-probe.ts'
import { idle, memoryOf } from './procfs.ts'
import type { Server } from './servers.ts'
import { median } from './statistics.ts'

const run = promisify(execFile)
const path = (name: string) => fileURLToPath(new URL(name, import.meta.url))

/** MB a second, or files a second; a ratio is that of Sixwire over that of the floor in the same round. */
export type FileTransfer = {
  name: string
  unit: 'MB' | 'files'
  floor: number
  subject: number
  ratios: number[]
}

/** What an upload of 2 GiB does to the server that takes it; undefined where the system does not tell. */
export type LargeUpload = {
  seconds: number
  /** Resident memory: before, and the most it ever was. */
  memory: { beforeMB: number; peakMB: number } | undefined
  /** A get by id. */
  before: Latency
  during: Latency
}

export type FilesResult = { transfers: FileTransfer[]; large: LargeUpload }

const LARGE_FILE = 100e6
const SMALL_FILE = 10e3
/** Uploaded and downloaded in all rounds together. */
const SMALL_FILES = 10_000
const CONNECTIONS = 16
const HUGE_FILE = 2 * 1024 ** 3
const BEFORE_MS = 5_000

type Floor = FileServer & { pid: number; stop(): void }

async function startFloor(folder: string): Promise<Floor> {
  mkdirSync(folder)
  const child = spawn(process.execPath, [path('./files-floor.ts'), folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const stop = () => child.kill('SIGKILL')
  process.on('exit', stop)
  const [port] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string]
  return { base: `http://127.0.0.1:${port.trim()}`, token: 'any', pid: child.pid!, stop }
}

type Ids = Map<FileClient, string[]>

/** Does the work so many times over all connections, and answers the seconds that it took. */
async function timed(times: number, work: () => Promise<void>): Promise<number> {
  let begun = 0
  const startedAt = performance.now()
  await Promise.all(
    Array.from({ length: Math.min(CONNECTIONS, times) }, async () => {
      while (begun++ < times) await work()
    }),
  )
  return (performance.now() - startedAt) / 1000
}

const uploads = (client: FileClient, ids: Ids, times: number, size: number): Promise<number> =>
  timed(times, async () => void ids.get(client)!.push(await client.upload(size)))

const downloads = (client: FileClient, ids: Ids, times: number, size: number): Promise<number> =>
  timed(times, async () => {
    const bytes = await client.download(ids.get(client)!.pop()!)
    if (bytes < size) throw new Error(`a download had ${bytes} bytes of ${size}`)
  })

/** Uploads and downloads files of one size, on the two servers in turn. */
async function transfer(
  bench: Bench,
  sides: readonly [Floor, Server],
  { name, size, times, rounds }: { name: string; size: number; times: number; rounds: number },
): Promise<FileTransfer[]> {
  const unit = times === 1 ? 'MB' : 'files'
  const amount = times === 1 ? size / 1e6 : times
  const clients = sides.map((side) => openFileClient(side, CONNECTIONS))
  const ids: Ids = new Map(clients.map((client) => [client, []]))
  const rates = { upload: [[], []] as number[][], download: [[], []] as number[][] }
  // The first round warms up.
  for (let round = 0; round <= rounds; round++) {
    bench.note(`${name}: ${round === 0 ? 'warming up' : `round ${round} of ${rounds}`}`)
    for (const [what, work] of [
      ['upload', uploads],
      ['download', downloads],
    ] as const)
      for (const at of round % 2 === 0 ? [0, 1] : [1, 0]) {
        const seconds = await work(clients[at]!, ids, times, size)
        if (round > 0) rates[what][at]!.push(amount / seconds)
        await idle(sides[at]!.pid)
      }
  }
  for (const client of clients) client.close()
  return (['upload', 'download'] as const).map((what) => {
    const [floor = [], subject = []] = rates[what]
    return {
      name: `${what} ${name}`,
      unit,
      floor: median(floor),
      subject: median(subject),
      ratios: subject.map((rate, at) => rate / floor[at]!),
    }
  })
}

/** Uploads 2 GiB to a server that has just started, and reads a document the whole time. */
async function uploadLarge(bench: Bench, server: Server): Promise<LargeUpload> {
  const { base, token, pid } = server
  const { _id } = await askFor<{ _id: string }>(base, 'POST /store/items', {
    token,
    body: documentBody(1, 100),
  })
  const point = { call: `GET /store/items/${_id}`, token }
  bench.note('gets before an upload of 2 GiB')
  await probe(base, delay(1_000), point) // warming up
  const before = await probe(base, delay(BEFORE_MS), point)
  const beforeMB = memoryOf(pid)?.nowMB
  bench.note('gets during an upload of 2 GiB')
  const begun = performance.now()
  const upload = run(process.execPath, [path('./upload-alone.ts'), base, token, String(HUGE_FILE)])
  const during = await probe(base, upload, point)
  await upload
  const seconds = (performance.now() - begun) / 1000
  const peakMB = memoryOf(pid)?.peakMB
  return {
    seconds,
    memory: beforeMB === undefined || peakMB === undefined ? undefined : { beforeMB, peakMB },
    before,
    during,
  }
}

/** Files through Sixwire, each with its record, against a bare server that writes them to the same disk. */
export async function runFiles(bench: Bench): Promise<FilesResult> {
  const { rounds } = bench.options
  const environment = { SIXWIRE_UPLOAD_LIMIT: '3GB' }
  const floor = await startFloor(join(bench.folder, 'files-floor'))
  const server = await bench.open('sixwire', 'files', { environment })
  const sides = [floor, server] as const
  const transfers = [
    ...(await transfer(bench, sides, { name: 'one file of 100 MB', size: LARGE_FILE, times: 1, rounds })),
    ...(await transfer(bench, sides, {
      name: `${SMALL_FILES.toLocaleString('en')} files of 10 KB`,
      size: SMALL_FILE,
      times: Math.ceil(SMALL_FILES / rounds),
      rounds,
    })),
  ]
  floor.stop()
  await server.stop()
  const other = await bench.open('sixwire', 'large-file', { environment })
  const large = await uploadLarge(bench, other)
  await other.stop()
  return { transfers, large }
}
