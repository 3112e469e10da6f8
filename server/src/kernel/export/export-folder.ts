import { createWriteStream } from 'node:fs'
import { lstat, mkdir, readdir, rename, rm, rmdir, utimes } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

import { StartError } from '../../base/start-error.ts'
import type { ExportFolder } from '../wire/table-export.ts'

/** A folder that is being written; only its owner can read it. */
export type OpenFolder = ExportFolder & {
  /** How many files were written. */
  readonly files: number
  /** Gives it its name. */
  commit(): Promise<void>
  /** Removes what has not got its name. */
  remove(): Promise<void>
}

/**
 * Opens a new folder beside its place, `DIR.part`. What an earlier command that was cut off has left there is removed.
 *
 * @throws StartError if there is something in the place of it, or it cannot be written
 */
export async function openExportFolder(dir: string, signal: AbortSignal): Promise<OpenFolder> {
  const place = resolve(dir)
  const part = `${place}.part`
  const faulted = (error: unknown): never => {
    throw error instanceof Error && 'syscall' in error
      ? new StartError(`${dir} cannot be written: ${error.message}`, { cause: error })
      : error
  }
  const others = await readdir(place).catch((error: unknown) =>
    (error as { code?: string }).code === 'ENOENT' ? [] : faulted(error),
  )
  if (others.length > 0) throw new StartError(`${dir} is not empty: name another folder`)
  // Known now, and not when all is written.
  if (await isFixed(place)) throw new StartError(`${dir} is a link or a mounted disk: name a folder in it`)
  await rm(part, { recursive: true, force: true }).catch(faulted)
  await mkdir(part, { recursive: true, mode: 0o700 }).catch(faulted)
  const folders = new Set<string>()
  let files = 0
  return {
    get files() {
      return files
    },
    async write(path, pieces, { modifiedAt } = {}) {
      const at = join(part, path)
      const folder = dirname(at)
      try {
        if (!folders.has(folder)) await mkdir(folder, { recursive: true, mode: 0o700 })
        folders.add(folder)
        // Never in place of another one: some file systems do not tell letters of different case apart.
        await pipeline(Readable.from(pieces), createWriteStream(at, { flags: 'wx', mode: 0o600 }), { signal })
        if (modifiedAt !== undefined) await utimes(at, modifiedAt / 1000, modifiedAt / 1000)
        files++
      } catch (error) {
        signal.throwIfAborted()
        faulted(error)
      }
    },
    async commit() {
      await rmdir(place).catch(() => undefined)
      await rename(part, place).catch(faulted)
    },
    // What fails beside others may still be written.
    remove: () => rm(part, { recursive: true, force: true, maxRetries: 10 }),
  }
}

/** Whether no other folder can get this name. */
async function isFixed(place: string): Promise<boolean> {
  const found = await lstat(place).catch(() => undefined)
  return found !== undefined && (!found.isDirectory() || found.dev !== (await lstat(dirname(place))).dev)
}
