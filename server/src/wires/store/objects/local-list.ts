import type { Dirent } from 'node:fs'
import { opendir, stat } from 'node:fs/promises'
import { join } from 'node:path'

import { isKey, type StoredObject } from './storage.ts'

const PAGE = 1_000
const PART = /^\.(.+)\.part$/

/** The objects and parts in a folder, or in its subfolders if it is sharded; none if the folder does not exist. */
export async function* listFolder(folder: string, isSharded: boolean): AsyncGenerator<StoredObject[]> {
  if (!isSharded) yield* listNames(folder, () => true)
  else
    for await (const { name: shard } of entriesOf(folder))
      if (shard.length === 2) yield* listNames(join(folder, shard), (key) => key.endsWith(shard))
}

async function* listNames(
  folder: string,
  isExpected: (key: string) => boolean,
): AsyncGenerator<StoredObject[]> {
  let names: string[] = []
  for await (const { name } of entriesOf(folder)) {
    const key = keyIn(name)
    if (isKey(key) && isExpected(key)) names.push(name)
    if (names.length < PAGE) continue
    yield await statAll(folder, names)
    names = []
  }
  if (names.length > 0) yield await statAll(folder, names)
}

const keyIn = (name: string): string => PART.exec(name)?.[1] ?? name

async function statAll(folder: string, names: readonly string[]): Promise<StoredObject[]> {
  const found = await Promise.all(names.map((name) => statFile(join(folder, name), keyIn(name))))
  return found.filter((one) => one !== undefined)
}

/** What a file has, which is a part if it has another name than its key; undefined if there is none. */
export async function statFile(path: string, key: string): Promise<StoredObject | undefined> {
  const isPart = path.endsWith('.part')
  try {
    const file = await stat(path)
    return file.isFile() ? { key, size: file.size, modifiedAt: file.mtimeMs, isPart } : undefined
  } catch (error) {
    return orNone(error)
  }
}

async function* entriesOf(folder: string): AsyncGenerator<Dirent> {
  const opened = await opendir(folder, { bufferSize: PAGE }).catch(orNone)
  if (opened) yield* opened
}

/** A folder or file that is not there, or a file in place of a folder. */
function orNone(error: unknown): undefined {
  if (!['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
}
