import { randomBytes } from 'node:crypto'
import { chmod, link, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

import { settingError } from './setting-parsers.ts'

const SECRET_LENGTH = 32
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
  if (variable) {
    if (variable.length < SECRET_LENGTH)
      throw settingError('SIXWIRE_SECRET', `it is shorter than ${SECRET_LENGTH} characters`)
    return variable
  }
  if (production)
    throw settingError(
      'SIXWIRE_SECRET',
      'it is required in production: make one with "openssl rand -base64 48" and keep it safe',
    )
  const file = join(dataDir, 'secret')
  let secret: string
  try {
    secret = await readFile(file, 'utf8').catch(() => createSecret(file))
  } catch (error) {
    throw settingError('DATA_DIR', `${file} can't be read or written: ${(error as Error).message}`)
  }
  // The mode may let others read it. It stays if another user owns the file or the disk has no modes.
  await chmod(file, PRIVATE).catch(() => {})
  if (secret.length < SECRET_LENGTH)
    throw settingError(
      'DATA_DIR',
      `${file} does not hold a whole secret: delete it; what was encrypted with it is lost`,
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
  } finally {
    await rm(draft, { force: true })
  }
  return readFile(file, 'utf8')
}
