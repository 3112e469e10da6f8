import { rmSync, writeFileSync } from 'node:fs'

import type { EngineFault } from './sqlite-protocol.ts'

// SQLite's codes, https://www.sqlite.org/rescode.html
const READ_ONLY = 8
const FULL = 13
/** An I/O error, and a file that can't be opened: a full disk, a quota or a read-only disk may be the reason. */
const UNCLEAR = new Set([10, 14])
const CODES: Record<string, number> = {
  ENOSPC: FULL,
  EDQUOT: FULL,
  EFBIG: FULL,
  EROFS: READ_ONLY,
  EACCES: READ_ONLY,
}
const PROBE_BYTES = 1_048_576

/** What `node:sqlite` threw, with the code of its reason if it is the disk of the file. */
export function faultOf(error: unknown, file: string): EngineFault {
  const { message, cause } = error as Error
  const { errcode = 0 } = (cause ?? error) as Partial<EngineFault>
  const refusal = UNCLEAR.has(errcode & 0xff) ? refusalOf(file) : undefined
  return refusal ? { ...refusal, message: `${message}: ${refusal.message}` } : { message, errcode }
}

/** Whether `node:sqlite` threw because the disk of the file is full. */
export const isFullDisk = (error: unknown, file: string): boolean =>
  error instanceof Error && faultOf(error, file).errcode === FULL

/** Why the folder of a database takes no file; undefined if it takes one. */
function refusalOf(file: string): EngineFault | undefined {
  const probe = `${file}-probe-${process.pid}`
  try {
    writeFileSync(probe, Buffer.alloc(PROBE_BYTES), { mode: 0o600 })
    rmSync(probe)
    return undefined
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    const errcode = CODES[code]
    if (errcode === undefined) return undefined
    rmSync(probe, { force: true })
    return { message, errcode }
  }
}
