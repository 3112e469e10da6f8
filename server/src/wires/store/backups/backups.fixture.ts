import { execFile } from 'node:child_process'
import { constants, open, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'

import type { TestApp } from '../../../testing/app.ts'
import type { ArchivedDocument, ArchivedFile } from './archive-lines.ts'
import { readArchive } from './archive-reader.ts'
import { piecesOf, sha256 } from './archive.fixture.ts'

const run = promisify(execFile)

/** What an archive holds. */
export type Archived = {
  createdAt: string
  collections: string[]
  /** By collection. */
  documents: Map<string, ArchivedDocument[]>
  files: ArchivedFile[]
  /** The bytes of each file, by its id. */
  content: Map<string, Buffer>
}

export async function readWhole(archive: Buffer): Promise<Archived> {
  const read: Archived = {
    createdAt: '',
    collections: [],
    documents: new Map(),
    files: [],
    content: new Map(),
  }
  const manifest = await readArchive(piecesOf(archive), {
    async documents(collection, documents) {
      read.documents.set(collection, [...(read.documents.get(collection) ?? []), ...documents])
    },
    async files(files) {
      read.files.push(...files)
    },
    async content({ id }, bytes) {
      const pieces: Buffer[] = []
      for await (const piece of bytes) pieces.push(piece)
      read.content.set(id, Buffer.concat(pieces))
    },
  })
  read.createdAt = manifest.createdAt
  read.collections = manifest.collections.map(({ name }) => name)
  return read
}

/** Downloads the archive of a backup. */
export async function download(app: TestApp, token: string, id: string): Promise<Buffer> {
  const response = await fetch(`${app.url}/store/backups/${id}/archive`, {
    headers: { authorization: `Bearer ${token}` },
  })
  if (response.status !== 200)
    throw new Error(`the archive answered ${response.status}: ${await response.text()}`)
  const bytes = Buffer.from(await response.arrayBuffer())
  if (response.headers.get('etag') !== `"${sha256(bytes)}"`)
    throw new Error('the archive has another SHA-256')
  return bytes
}

/** The path of the bytes of a file in the local storage. */
export const pathOf = (folder: string, { filename }: { filename: string }): string =>
  join(folder, 'uploads', filename.slice(-2), filename)

/** Replaces an empty file by a pipe, at which whatever opens it waits. */
export async function holdAt(path: string): Promise<{ pass(): Promise<void>; end(): Promise<void> }> {
  await rename(path, `${path}.held`)
  await run('mkfifo', [path])
  return {
    /** Waits until something waits there, and lets it pass. */
    async pass() {
      for (;;)
        try {
          const pipe = await open(path, constants.O_WRONLY | constants.O_NONBLOCK)
          return await pipe.close()
        } catch (error) {
          // Nothing waits there yet.
          if ((error as NodeJS.ErrnoException).code !== 'ENXIO') throw error
          await delay(2)
        }
    },
    /** Puts the file back, and lets pass what waits. */
    async end() {
      const pipe = await open(path, 'r+')
      await rename(`${path}.held`, path)
      await pipe.close()
    },
  }
}
