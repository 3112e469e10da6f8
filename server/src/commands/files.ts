import { createReadStream } from 'node:fs'
import { open, readdir, readFile, stat, type FileHandle } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'

import { ApiError } from '../base/errors.ts'
import { parseJson } from '../base/json.ts'
import { PendingPromises } from '../base/pending-promises.ts'
import { StartError } from '../base/start-error.ts'
import { messageOf } from '../wires/store/index.ts'
import { defineAction, type CommandGroup } from './command.ts'
import { JSON_OPTION } from './option.ts'
import { plural, print } from './print.ts'
import { createProgressBar, sizeText } from './progress-bar.ts'
import { withApp } from './with-app.ts'

/** Files that are read and stored at once. */
const AT_ONCE = 4
const ERRORS_SHOWN = 20

export const files: CommandGroup = {
  summary: 'Import a folder of files',
  actions: {
    import: defineAction({
      summary: 'Store the files of a folder, and write which address became which',
      words: ['DIR', 'MAP'],
      options: {
        base: {
          value: 'ADDRESS',
          description: 'what stands before the path in DIR in old addresses: https://cdn.example.com/',
        },
        owner: { value: 'ID', description: 'the account that files belong to which --owners does not name' },
        owners: {
          value: 'FILE',
          description:
            'NDJSON: {"path": …, "owner": …}, and name, contentType and metadata if they are known',
        },
        'dry-run': { description: 'count the files, and store none' },
        ...JSON_OPTION,
      },
      details: `MAP gets a line of JSON for each file that is stored: {"from": "photos/cat.jpg", "to": "/store/files/ID/content"}.
Run it again to continue: what MAP names is not stored again. Symbolic links are not followed.`,
      run: ({ words: [dir, map], options }) => importFiles(dir, map, options),
    }),
  },
}

type ImportFlags = {
  base?: string | undefined
  owner?: string | undefined
  owners?: string | undefined
  'dry-run': boolean
  json: boolean
}

/** A file of the folder: its path in it, with slashes, and where it is. */
type FoundFile = {
  readonly path: string
  readonly at: string
  readonly size: number
  readonly modifiedAt: number
}

/** What is known of a file besides its bytes. */
type KnownFile = {
  readonly owner?: string
  readonly name?: string
  readonly contentType?: string
  readonly metadata?: Record<string, unknown>
}

type FilesReport = {
  stored: number
  /** Named by the map already. */
  present: number
  failed: number
  bytes: number
  errors: { from: string; code: string; message: string }[]
}

async function importFiles(
  dir: string,
  mapFile: string,
  { base = '', owner, owners, 'dry-run': dryRun, json }: ImportFlags,
): Promise<number> {
  const done = new Set((await readLines(mapFile, true)).map(({ from }) => from))
  const known = new Map(
    (owners === undefined ? [] : await readLines(owners)).map((line) => [line['path'], line as KnownFile]),
  )
  const report: FilesReport = { stored: 0, present: 0, failed: 0, bytes: 0, errors: [] }
  const found: FoundFile[] = []
  let total = 0
  for await (const file of filesIn(dir)) {
    if (done.has(base + file.path)) report.present++
    else if (resolve(file.at) !== resolve(mapFile)) {
      found.push(file)
      total += file.size
    }
  }
  if (dryRun) Object.assign(report, { stored: found.length, bytes: total })
  else {
    const map = await openMap(mapFile)
    const bar = createProgressBar({ out: process.stderr })
    try {
      await withApp(async (app) => {
        const { default: mime } = await import('mime/lite')
        const { fileImports } = app.service('store')
        await storeAll(found, async ({ path, at, size, modifiedAt }) => {
          const from = base + path
          const of = known.get(path) ?? {}
          const file = {
            from,
            name: of.name ?? basename(path),
            contentType: of.contentType ?? mime.getType(path) ?? undefined,
            owner: of.owner ?? owner,
            metadata: of.metadata ?? {},
          }
          const stream = createReadStream(at)
          try {
            const to = await fileImports.add({ ...file, size, modifiedAt, stream })
            await map.appendFile(`${JSON.stringify({ from, to })}\n`)
            report.stored++
            report.bytes += size
          } catch (error) {
            noteFault(report, from, error)
          } finally {
            stream.destroy()
          }
          bar.show({ phase: 'Import', done: report.bytes, total, unit: 'bytes' })
        })
      })
    } finally {
      bar.end()
      await map.close()
    }
  }
  print(json, report, () => textOf(report, dryRun))
  return report.failed > 0 ? 1 : 0
}

/** Stores some files at a time; no more of them once one has failed with an error that is not about it. */
async function storeAll(
  found: readonly FoundFile[],
  store: (file: FoundFile) => Promise<void>,
): Promise<void> {
  const pending = new PendingPromises()
  const failures: unknown[] = []
  for (const file of found) {
    while (pending.size >= AT_ONCE) await pending.next()
    if (failures.length > 0) break
    void pending.add(store(file).catch((error: unknown) => void failures.push(error)))
  }
  await pending.idle()
  if (failures.length > 0) throw failures[0]
}

/** The files of a folder and those inside of it, in the order of their paths. */
async function* filesIn(dir: string, prefix = ''): AsyncGenerator<FoundFile> {
  const entries = await readdir(join(dir, prefix), { withFileTypes: true }).catch((cause: unknown) => {
    throw new StartError(`${join(dir, prefix)} cannot be read: ${(cause as Error).message}`, { cause })
  })
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = prefix + entry.name
    if (entry.isDirectory()) yield* filesIn(dir, `${path}/`)
    else if (entry.isFile()) {
      const at = join(dir, path)
      const { size, mtimeMs } = await stat(at)
      yield { path, at, size, modifiedAt: Math.floor(mtimeMs) }
    }
  }
}

/**
 * The objects of a file of NDJSON.
 *
 * @param isMap whether it may be missing, and its last line be cut off
 */
async function readLines(file: string, isMap = false): Promise<Record<string, unknown>[]> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    if (isMap && (cause as { code?: string }).code === 'ENOENT') return ''
    throw new StartError(`${file} cannot be read: ${(cause as Error).message}`, { cause })
  })
  const lines = text.split('\n')
  if (isMap) lines.pop()
  return lines.flatMap((line, i) => {
    if (line.trim() === '') return []
    try {
      const value = parseJson(line)
      if (isRecord(value)) return [value]
    } catch {
      // Told below.
    }
    throw new StartError(`${file}: line ${i + 1} is no object of JSON`)
  })
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null

/** Opens a map to be continued. A line that was cut off by a crash goes: its file is found again by its bytes. */
async function openMap(file: string): Promise<FileHandle> {
  const map = await open(file, 'a+')
  const text = await map.readFile('utf8')
  await map.truncate(Buffer.byteLength(text.slice(0, text.lastIndexOf('\n') + 1)))
  return map
}

function noteFault(report: FilesReport, from: string, error: unknown): void {
  const { code, message, status = 400 } = error as { code?: string; message: string; status?: number }
  const isOfFile = (error instanceof ApiError && status < 500) || code === 'ENOENT' || code === 'EACCES'
  if (!isOfFile) throw error
  report.failed++
  if (report.errors.length < ERRORS_SHOWN)
    report.errors.push({ from, code: code!, message: error instanceof ApiError ? messageOf(error) : message })
}

const textOf = ({ stored, present, failed, bytes, errors }: FilesReport, dryRun: boolean): string =>
  [
    `${dryRun ? 'Nothing was written. It would be: ' : ''}${plural(stored, 'file')} stored, ${sizeText(bytes)}, ${present} stored before, ${failed} refused.`,
    ...errors.map(({ from, code, message }) => `${from}: ${code} ${message}`),
    ...(failed > errors.length ? [`and ${failed - errors.length} more`] : []),
  ].join('\n')
