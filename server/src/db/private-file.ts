import { closeSync, openSync } from 'node:fs'

/** The mode of a file that its owner alone reads. */
export const PRIVATE = 0o600

/**
 * SQLite itself would create the file with the mode of the umask. An existing file must not even be opened here: closing
 * it releases every lock that this process has on it (https://www.sqlite.org/howtocorrupt.html, section 2.2).
 */
export function createPrivate(file: string): void {
  try {
    closeSync(openSync(file, 'wx', PRIVATE))
  } catch {
    // It exists, or SQLite will report why it can't be created.
  }
}
