// Definitions of collections as files of a folder, as `sixwire collections pull` writes them.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

import { parseStrictJson } from '../base/json.ts'
import { StartError } from '../base/start-error.ts'
import { isCollectionName, type CollectionDeclaration } from '../wires/store/index.ts'

const EXTENSION = '.json'

/** Definitions by the names of their collections. */
export type Definitions = ReadonlyMap<string, CollectionDeclaration>

export const definitionFile = (folder: string, name: string): string => join(folder, name + EXTENSION)

/** Reads all definitions of a folder. @throws StartError for a file that is no definition */
export async function readDefinitions(folder: string): Promise<Definitions> {
  const files = await readdir(folder).catch((error: unknown) => {
    throw new StartError(`${folder}: the folder can't be read: ${(error as Error).message}`)
  })
  const names = files.filter((one) => one.endsWith(EXTENSION)).map((one) => one.slice(0, -EXTENSION.length))
  return new Map(
    await Promise.all(names.toSorted().map(async (name) => [name, await readOne(folder, name)] as const)),
  )
}

async function readOne(folder: string, name: string): Promise<CollectionDeclaration> {
  const file = definitionFile(folder, name)
  if (!isCollectionName(name)) throw new StartError(`${file}: ${name} is no name of a collection`)
  try {
    const value: unknown = parseStrictJson(await readFile(file, 'utf8'), { at: '' })
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  } catch (error) {
    throw new StartError(`${file}: ${(error as Error).message}`)
  }
  throw new StartError(`${file}: it must be a JSON object`)
}
