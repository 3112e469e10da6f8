import { readdir, stat } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'

import { StartError } from '../base/start-error.ts'
import { openFileMap, readFileMap, readLines } from '../imports/file-map.ts'
import {
  contentAt,
  storeFiles,
  type FilesReport,
  type RefusedFile,
  type SourceFile,
} from '../imports/store-files.ts'
import { defineAction, type CommandGroup } from './command.ts'
import { filesCheck } from './files-check.ts'
import { JSON_OPTION } from './option.ts'
import { plural, print } from './print.ts'
import { createProgressBar, sizeText } from './progress-bar.ts'
import { withApp } from './with-app.ts'

const ERRORS_SHOWN = 20

export const files: CommandGroup = {
  summary: 'Import a folder of files; compare the records of files with what is stored',
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
    check: filesCheck,
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
}

/** What is known of a file besides its bytes. */
type KnownFile = {
  readonly owner?: string
  readonly name?: string
  readonly contentType?: string
  readonly metadata?: Record<string, unknown>
}

type FilesResult = FilesReport & { errors: RefusedFile[] }

async function importFiles(
  dir: string,
  mapFile: string,
  { base = '', owner, owners, 'dry-run': dryRun, json }: ImportFlags,
): Promise<number> {
  const done = await readFileMap(mapFile)
  const known = new Map(
    (owners === undefined ? [] : await readLines(owners)).map((line) => [line['path'], line as KnownFile]),
  )
  const found: FoundFile[] = []
  let present = 0
  let total = 0
  for await (const file of filesIn(dir)) {
    if (done.has(base + file.path)) present++
    else if (resolve(file.at) !== resolve(mapFile)) {
      found.push(file)
      total += file.size
    }
  }
  const result: FilesResult = { stored: found.length, present, failed: 0, bytes: total, errors: [] }
  if (!dryRun) {
    const files = found.map(({ path, at }): SourceFile => {
      const of = known.get(path) ?? {}
      const named = { name: of.name ?? basename(path), owner: of.owner ?? owner }
      return { ...of, ...named, from: base + path, open: () => contentAt(at) }
    })
    Object.assign(result, await store(files, mapFile, total, result.errors), { present })
  }
  print(json, result, () => textOf(result, dryRun))
  return result.failed > 0 ? 1 : 0
}

async function store(
  files: readonly SourceFile[],
  mapFile: string,
  total: number,
  errors: RefusedFile[],
): Promise<FilesReport> {
  const map = await openFileMap(mapFile)
  const bar = createProgressBar({ out: process.stderr })
  try {
    return await withApp((app) =>
      storeFiles(app.service('store').fileImports, files, map, {
        refused: (file) => void (errors.length < ERRORS_SHOWN && errors.push(file)),
        counted: ({ bytes }) => bar.show({ phase: 'Import', done: bytes, total, unit: 'bytes' }),
      }),
    )
  } finally {
    bar.end()
    await map.close()
  }
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
      yield { path, at, size: (await stat(at)).size }
    }
  }
}

const textOf = ({ stored, present, failed, bytes, errors }: FilesResult, dryRun: boolean): string =>
  [
    `${dryRun ? 'Nothing was written. It would be: ' : ''}${plural(stored, 'file')} stored, ${sizeText(bytes)}, ${present} stored before, ${failed} refused.`,
    ...errors.map(({ from, code, message }) => `${from}: ${code} ${message}`),
    ...(failed > errors.length ? [`and ${failed - errors.length} more`] : []),
  ].join('\n')
