// The files of an export: a class each, `{"results": […]}` as the dashboard writes it, or what mongoexport writes of its collection.
import { createReadStream } from 'node:fs'
import { open, readdir } from 'node:fs/promises'
import { join } from 'node:path'

import { ApiError } from '../../base/errors.ts'
import { StartError } from '../../base/start-error.ts'
import { messageOf, recordsOf, type ImportRecord } from '../../wires/store/index.ts'
import { wrappedArray } from '../wrapped-array.ts'

export type ExportFiles = {
  /** The names of classes, `_User` among them; those of joins are `_Join:field:Class`. */
  readonly names: readonly string[]
  /** The objects of a class; none if it has no file. */
  objects(name: string): AsyncIterable<ImportRecord>
}

/** @throws StartError if the folder cannot be read, or has no file of JSON */
export async function openExportFiles(dir: string): Promise<ExportFiles> {
  const entries = await readdir(dir).catch((cause: unknown) => {
    throw new StartError(`${dir} cannot be read: ${(cause as Error).message}`, { cause })
  })
  const names = entries
    .flatMap((name) => (/^[\w:-]+\.json$/.test(name) ? [name.slice(0, -'.json'.length)] : []))
    .toSorted()
  if (names.length === 0)
    throw new StartError(`${dir} has no files like _User.json: name the folder of the export`)
  return {
    names,
    async *objects(name) {
      if (!names.includes(name)) return
      const file = join(dir, `${name}.json`)
      try {
        yield* recordsOf('ndjson', await piecesOf(file), undefined)
      } catch (cause) {
        throw cause instanceof ApiError ? new StartError(`${file}: ${messageOf(cause)}`, { cause }) : cause
      }
    },
  }
}

const HEAD_BYTES = 64

/** The bytes of a file; those of the array, if it is in `results`. */
async function piecesOf(file: string): Promise<AsyncIterable<Buffer>> {
  const handle = await open(file)
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0)
  await handle.close()
  const isWrapped = /^\s*\{\s*"results"\s*:\s*\[/.test(buffer.subarray(0, bytesRead).toString())
  const pieces = createReadStream(file) as AsyncIterable<Buffer>
  return isWrapped ? wrappedArray(pieces) : pieces
}
