import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'

import { ApiError, errors } from '../../base/errors.ts'
import { oneLine } from '../../base/one-line.ts'
import { StartError } from '../../base/start-error.ts'
import { sqliteFileOf } from '../../db/open.ts'

const REASON_CHARACTERS = 300
const MB = 1_048_576

/** What a start says if the storage of the database refused it: which storage, and what to do. */
async function problemOf(code: string, file: string | undefined): Promise<string | undefined> {
  const place = file === undefined ? 'the disk of PostgreSQL' : dirname(file)
  if (code === errors.storage_damaged.code)
    return `${file ?? 'the data of PostgreSQL'} is damaged or no database: put a copy back as docs/backups.md says`
  if (code === errors.storage_read_only.code)
    return `${file === undefined ? 'PostgreSQL' : place} takes no writes: make it writable, then start again`
  if (code !== errors.storage_full.code) return undefined
  const free = file === undefined ? '' : ` (${await freeMb(place)} MB free)`
  return `${place} is full${free}: make room, then start again`
}

async function freeMb(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder)
  return Math.floor((bavail * bsize) / MB)
}

/** Settles as the work of a start does; a fault of the storage is a StartError. */
export async function explained<T>(databaseUrl: string, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const problem = await problemOf(error.code, sqliteFileOf(databaseUrl))
    if (problem === undefined) throw error
    const { message } = (error.cause ?? error) as Error
    throw new StartError(`DATABASE_URL: ${problem} (${oneLine(message, REASON_CHARACTERS)})`, {
      cause: error,
    })
  }
}
