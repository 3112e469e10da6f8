import { createReadStream, type ReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'

import { StartError } from '../base/start-error.ts'
import { createProgressBar } from './progress-bar.ts'

/**
 * Reads a file for an import, and draws how far it is.
 *
 * @param work takes the content, and a function to call when something of it is done
 * @throws StartError if the file cannot be read
 */
export async function readFile<T>(
  file: string,
  phase: string,
  work: (content: ReadStream, counted: () => void) => Promise<T>,
): Promise<T> {
  const { size: total } = await stat(file).catch((cause: unknown) => {
    throw new StartError(`${file} cannot be read: ${(cause as Error).message}`, { cause })
  })
  const bar = createProgressBar({ out: process.stderr })
  const content = createReadStream(file)
  // An error before it is read is that of the reader.
  content.on('error', () => undefined)
  try {
    return await work(content, () => bar.show({ phase, done: content.bytesRead, total, unit: 'bytes' }))
  } finally {
    content.destroy()
    bar.end()
  }
}
