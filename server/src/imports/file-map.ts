import { open, readFile } from 'node:fs/promises'

import { parseJson } from '../base/json.ts'
import { StartError } from '../base/start-error.ts'

/** Which address of a file became which, as far as files are stored: a file of NDJSON that grows. */
export type FileMap = {
  /** The new address; undefined if the file is not stored yet. */
  addressOf(from: string): string | undefined
  add(from: string, to: string): Promise<void>
  close(): Promise<void>
}

/**
 * Opens a map to be continued; it is created if there is none. A line that was cut off by a crash goes: its file is found again by
 * its bytes.
 *
 * @throws StartError if it cannot be read or written
 */
export async function openFileMap(file: string): Promise<FileMap> {
  const addresses = await readFileMap(file)
  const map = await open(file, 'a+').catch((cause: unknown) => {
    throw new StartError(`${file} cannot be written: ${(cause as Error).message}`, { cause })
  })
  const text = await map.readFile('utf8')
  await map.truncate(Buffer.byteLength(text.slice(0, text.lastIndexOf('\n') + 1)))
  return {
    addressOf: (from) => addresses.get(from),
    async add(from, to) {
      await map.appendFile(`${JSON.stringify({ from, to })}\n`)
      addresses.set(from, to)
    },
    close: () => map.close(),
  }
}

/** The whole lines of a map, which may be missing. @throws StartError */
export async function readFileMap(file: string): Promise<Map<string, string>> {
  const lines = await readLines(file, { isMap: true })
  return new Map(lines.map(({ from, to }) => [from as string, to as string]))
}

/**
 * The objects of a file of NDJSON.
 *
 * @param options.isMap whether it may be missing, and its last line be cut off
 * @throws StartError
 */
export async function readLines(file: string, { isMap = false } = {}): Promise<Record<string, unknown>[]> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    if (isMap && (cause as { code?: string }).code === 'ENOENT') return ''
    throw new StartError(`${file} cannot be read: ${(cause as Error).message}`, { cause })
  })
  const lines = text.split('\n')
  if (isMap) lines.pop()
  return lines.flatMap((line, i) => {
    if (line.trim() === '') return []
    try {
      const value = parseJson(line)
      if (isRecord(value)) return [value]
    } catch {
      // Told below.
    }
    throw new StartError(`${file}: line ${i + 1} is no object of JSON`)
  })
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null
