import { createHash } from 'node:crypto'
import { mkdir, open, rename, stat, statfs, unlink, writeFile, type FileHandle } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'

import { errors, type ApiError, type ErrorKind } from '../../../base/errors.ts'
import { createFolderFlushes } from './folder-flushes.ts'
import { gathered } from './gathered.ts'
import { listFolder, statFile } from './local-list.ts'
import { checkKey, NoSuchObject, type ObjectStorage } from './storage.ts'

const FILE_MODE = 0o600
const FOLDER_MODE = 0o700
// What is written stays in memory until it is flushed, and then holds up the commits of the database.
const FLUSH_BYTES = 16 * 1024 * 1024
const READ_BYTES = 256 * 1024
/** With less the folder counts as full: a database on the same disk needs some as well. */
const FREE_BYTES = 4 * 1024 * 1024
const PROBE = '.probe'
// Anybody may ask for the health.
const PROBE_MS = 2_000
const RETRY_SECONDS = 10

const KINDS: Readonly<Record<string, ErrorKind>> = {
  ENOSPC: errors.storage_full,
  EDQUOT: errors.storage_full,
  EFBIG: errors.storage_full,
  EROFS: errors.storage_read_only,
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? ''

/** The path is in the cause, which is logged and not answered. */
const unavailable = (error: unknown): ApiError =>
  KINDS[codeOf(error)]?.({ cause: error }) ??
  errors.unavailable({
    message: 'The storage of files does not work right now: try again shortly.',
    retryAfter: RETRY_SECONDS,
    cause: error,
  })

/** Settles as the work does; what the file system refuses is UNAVAILABLE, or STORAGE_FULL. */
const disk = <T>(work: () => Promise<T>): Promise<T> =>
  work().catch((error: unknown) => {
    throw (error as NodeJS.ErrnoException).syscall === undefined ? error : unavailable(error)
  })

async function writeAll(file: FileHandle, chunks: readonly Buffer[]): Promise<void> {
  const { bytesWritten } = await file.writev(chunks)
  let rest = Buffer.alloc(0)
  // Only when the disk is about to be full; it says so then.
  if (bytesWritten < chunks.reduce((sum, { length }) => sum + length, 0))
    rest = Buffer.concat(chunks).subarray(bytesWritten)
  while (rest.length > 0) rest = rest.subarray((await file.write(rest)).bytesWritten)
}

/** @returns whether there was a file */
const removeFile = (path: string): Promise<boolean> =>
  unlink(path).then(
    () => true,
    (error: unknown) => {
      if (codeOf(error) === 'ENOENT') return false
      throw error
    },
  )

/**
 * Objects as files of a folder, which is created when it is first used. If it is missing after that, it is not created
 * again: a disk is no longer mounted.
 *
 * @param options.isSharded whether objects are in subfolders, each named after the last two characters of their keys
 */
export function createLocalStorage(options: { folder: string; isSharded: boolean }): ObjectStorage {
  const { folder, isSharded } = options
  const flushes = createFolderFlushes()
  let created: Promise<void> | undefined
  let probed: { at: number; result: Promise<void> } | undefined

  /** The path of an object, and that of its bytes while they are written: no key begins with a dot. */
  function pathsOf(key: string): { parent: string; path: string; part: string } {
    checkKey(key)
    const parent = isSharded ? join(folder, key.slice(-2)) : folder
    return { parent, path: join(parent, key), part: join(parent, `.${key}.part`) }
  }

  function createFolder(): Promise<void> {
    created ??= (async () => {
      const first = await mkdir(folder, { recursive: true, mode: FOLDER_MODE })
      if (first !== undefined) await flushes.flush(dirname(first))
    })().catch((error: unknown) => {
      created = undefined
      throw error
    })
    return created
  }

  async function createFile(path: string, parent: string): Promise<FileHandle> {
    await createFolder()
    try {
      return await open(path, 'w', FILE_MODE)
    } catch (error) {
      if (!isSharded || codeOf(error) !== 'ENOENT') throw error
      await mkdir(parent, FOLDER_MODE).catch((fault: unknown) => {
        if (codeOf(fault) !== 'EEXIST') throw fault
      })
      await flushes.flush(folder)
      return open(path, 'w', FILE_MODE)
    }
  }

  /** Opens a file; tells an object that is missing from a folder that is. */
  async function openFile(key: string): Promise<FileHandle> {
    try {
      return await open(pathsOf(key).path, 'r')
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error
      await stat(folder)
      throw new NoSuchObject(key)
    }
  }

  async function probe(): Promise<void> {
    try {
      await createFolder()
      const { bavail, bsize } = await statfs(folder)
      if (bavail * bsize < FREE_BYTES) throw new Error('the disk is full')
      const path = join(folder, PROBE)
      await writeFile(path, 'x', { mode: FILE_MODE })
      // Another replica may have deleted it.
      await removeFile(path)
    } catch (error) {
      throw new Error(`nothing can be stored in ${folder}: ${(error as Error).message}`, { cause: error })
    }
  }

  return {
    name: 'local',

    async write(key, bytes, { signal, sha256 } = {}) {
      const { parent, path, part } = pathsOf(key)
      const hash = sha256 ? undefined : createHash('sha256')
      let file: FileHandle | undefined
      let size = 0
      let isRenamed = false
      /** Of what was gathered before; the next bytes are awaited meanwhile. */
      let writing: Promise<void> = Promise.resolve()
      /** Of what was written before; it goes on beside the writing. */
      let flushing: Promise<void> = Promise.resolve()
      let unflushed = 0

      async function append(chunks: readonly Buffer[]): Promise<void> {
        await writing
        const handle = (file ??= await createFile(part, parent))
        if (chunks.length > 0) writing = writeAll(handle, chunks)
        // These may fail while nothing awaits them.
        writing.catch(() => undefined)
        if (unflushed < FLUSH_BYTES) return
        unflushed = 0
        await flushing
        flushing = handle.datasync()
        flushing.catch(() => undefined)
      }

      async function finish(): Promise<void> {
        await append([])
        await writing
        // A failure is reported once: the flush below does not repeat it.
        await flushing
        // The row of the object tells what a power cut left until both are on the disk, which after the rename takes one
        // commit of the file system instead of two.
        await rename(part, path)
        isRenamed = true
        await file!.sync()
        await Promise.all([flushes.flush(parent), file!.close()])
      }

      try {
        for await (const chunks of gathered(bytes, signal)) {
          for (const chunk of chunks) {
            hash?.update(chunk)
            size += chunk.length
            unflushed += chunk.length
          }
          await disk(() => append(chunks))
        }
        await disk(finish)
        return { size, sha256: hash?.digest('hex') ?? sha256!() }
      } catch (error) {
        await Promise.allSettled([writing, flushing])
        // If this fails as well, the garbage collector deletes them.
        await Promise.allSettled([file?.close(), file && removeFile(isRenamed ? path : part)])
        throw error
      }
    },

    read: (key, range) =>
      disk(async () => {
        const file = await openFile(key)
        try {
          const { size } = await file.stat()
          const { start, end } = { start: range?.start ?? 0, end: Math.min(range?.end ?? size, size - 1) }
          if (end - start >= READ_BYTES)
            return file.createReadStream({ start, end, highWaterMark: READ_BYTES })
          // A small one is read at once: a stream of the file would cost twice as much.
          const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(Math.max(0, end - start + 1)), {
            position: start,
          })
          await file.close()
          return Readable.from([buffer.subarray(0, bytesRead)], { objectMode: false })
        } catch (error) {
          await file.close()
          throw error
        }
      }),

    remove: (key) =>
      disk(async () => {
        const { parent, path, part } = pathsOf(key)
        await createFolder()
        // The part first: what is renamed between the two is found by the second.
        const removed = [await removeFile(part), await removeFile(path)]
        // Else a power cut could bring it back after its row is gone.
        if (removed.includes(true)) await flushes.flush(parent)
        else await stat(folder)
      }),

    stat: (key) =>
      disk(async () => {
        const { path, part } = pathsOf(key)
        const found = (await statFile(path, key)) ?? (await statFile(part, key))
        // A folder that is missing has lost nothing yet.
        if (!found) await stat(folder)
        return found
      }),

    async *list() {
      try {
        yield* listFolder(folder, isSharded)
      } catch (error) {
        throw (error as NodeJS.ErrnoException).syscall === undefined ? error : unavailable(error)
      }
    },

    ping() {
      const now = performance.now()
      if (!probed || now - probed.at > PROBE_MS) probed = { at: now, result: probe() }
      return probed.result
    },

    close: () => undefined,
  }
}
