import { DatabaseSync } from 'node:sqlite'

import { createPrivate } from './private-file.ts'

/**
 * Locks a file until it is released, or this process ends, however it ends: the system gives the lock of a process back.
 * Of two servers in one process only one gets it, too.
 *
 * @returns the function that releases it; undefined if another server holds it
 */
export function tryLock(file: string): (() => void) | undefined {
  createPrivate(file)
  // SQLite's locks hold between processes and within one: https://sqlite.org/lockingv3.html
  const database = new DatabaseSync(file, { timeout: 0 })
  try {
    // Nothing is ever written, so there need not be a journal beside the file.
    database.exec('pragma journal_mode = memory; begin exclusive')
    return () => database.close()
  } catch (error) {
    database.close()
    const isBusy = (error as { errcode?: number }).errcode === 5 // https://sqlite.org/rescode.html#busy
    if (isBusy) return undefined
    throw error
  }
}
