import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, link, mkdir, open, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

import { StartError } from '../../base/start-error.ts'

const SECRET_LENGTH = 32
/** In the data folder. */
export const SECRET_FILE = 'secret'
/** Written before a rotation, and renamed after it. */
const NEXT = 'secret.next'
const PRIVATE = 0o600

/**
 * Answers the operator's secret; outside production one is created in the data folder if none is set.
 *
 * @param variable the value of `SIXWIRE_SECRET`
 * @throws StartError if it is too short, missing in production, or can't be stored
 */
export async function findSecret(
  variable: string | undefined,
  production: boolean,
  dataDir: string,
): Promise<string> {
  if (variable) return checkedSecret('SIXWIRE_SECRET', variable)
  if (production)
    throw new StartError(
      'SIXWIRE_SECRET: it is required in production: make one with "openssl rand -base64 48" and keep it safe',
    )
  return readOrCreate(join(dataDir, SECRET_FILE))
}

/** @throws StartError with the variable if it is too short */
export function checkedSecret(name: string, secret: string): string {
  if (secret.length < SECRET_LENGTH)
    throw new StartError(`${name}: it is shorter than ${SECRET_LENGTH} characters`)
  return secret
}

/** The secret of a file; undefined if there is none that can be read. */
export const readSecret = (file: string): Promise<string | undefined> =>
  readFile(file, 'utf8').catch(() => undefined)

/** @throws StartError if there is a file with another secret, or something else */
export async function refuseOtherSecret(file: string, secret: string): Promise<void> {
  if (existsSync(file) && (await readSecret(file)) !== secret)
    throw new StartError(`${file} exists already, and has another secret: name another place`)
}

/** Writes the secret of an installation into a new place, for its owner only. @throws StartError if that has another one, or can't be written */
export async function placeSecret(file: string, secret: string): Promise<void> {
  await refuseOtherSecret(file, secret)
  if (existsSync(file)) return
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 })
    await writeFile(file, secret, { mode: PRIVATE, flag: 'wx', flush: true })
  } catch (error) {
    throw new StartError(`${file} can't be written: ${(error as Error).message}`, { cause: error })
  }
}

/** The secret that a rotation has not finished with; undefined if there is none. */
export async function findNextSecret(dataDir: string): Promise<string | undefined> {
  const file = join(dataDir, NEXT)
  return readFile(file, 'utf8').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new StartError(`DATA_DIR: ${file} can't be read: ${(error as Error).message}`)
  })
}

/** Creates the secret of a rotation, or finds that of one which was cut off. */
export const createNextSecret = (dataDir: string): Promise<string> => readOrCreate(join(dataDir, NEXT))

/**
 * Puts the next secret in the place of the secret, which stays beside it: backups of the database need it.
 *
 * @returns the file of the secret before
 */
export async function adoptNextSecret(dataDir: string, now: number): Promise<string> {
  const file = join(dataDir, SECRET_FILE)
  const before = `${file}.until-${new Date(now).toISOString().replaceAll(/[-:]|\.\d+/g, '')}`
  try {
    await link(file, before).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    })
    // Of servers that start at the same moment one renames it.
    await rename(join(dataDir, NEXT), file).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    })
    await flushFolder(dataDir)
  } catch (error) {
    throw new StartError(`DATA_DIR: ${file} can't be replaced: ${(error as Error).message}`)
  }
  return before
}

async function readOrCreate(file: string): Promise<string> {
  let secret: string
  try {
    secret = await readFile(file, 'utf8').catch(() => createSecret(file))
  } catch (error) {
    throw new StartError(`DATA_DIR: ${file} can't be read or written: ${(error as Error).message}`)
  }
  // The mode may let others read it. It stays if another user owns the file or the disk has no modes.
  await chmod(file, PRIVATE).catch(() => {})
  if (secret.length < SECRET_LENGTH)
    throw new StartError(
      `DATA_DIR: ${file} does not hold a whole secret: delete it; what was encrypted with it is lost`,
    )
  return secret
}

/** Creates the file atomically: of programs that start at the same moment one does, and all read the same secret. */
async function createSecret(file: string): Promise<string> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  const draft = `${file}.${randomBytes(8).toString('hex')}`
  try {
    await writeFile(draft, randomBytes(48).toString('base64url'), { mode: PRIVATE, flush: true })
    await link(draft, file).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    })
    await flushFolder(dirname(file))
  } finally {
    await rm(draft, { force: true })
  }
  return readFile(file, 'utf8')
}

/** So that a new name in a folder survives a power cut; not every file system can do it. */
async function flushFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined)
  await handle?.sync().catch(() => undefined)
  await handle?.close()
}
