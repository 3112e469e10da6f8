import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { inspect } from 'node:util'

import type { Config } from '../app.ts'
import { oneLine } from '../base/one-line.ts'
import { StartError } from '../base/start-error.ts'
import { configFileName } from '../kernel/config/config-file.ts'
import type { CollectionOption } from '../wires/store/index.ts'
import type { SourceCollection } from './source.ts'

const NOTE_CHARACTERS = 1_000

/**
 * The configuration under which documents are imported: what it declares of a collection itself holds, and what the source declares
 * of others. Relations and search wait for the next start, which indexes
 * them at once.
 *
 * @param dryRun whether unique fields wait too: an index would be written for them
 */
export const withCollections = (
  config: Config,
  collections: readonly SourceCollection[],
  dryRun: boolean,
): Config => {
  const declared: Record<string, CollectionOption> = {}
  for (const { name, declaration } of collections) {
    const { relations: _relations, search: _search, unique, ...others } = declaration
    declared[name] = { ...others, ...(unique && !dryRun && { unique }) }
  }
  return { ...config, store: { ...config.store, collections: { ...declared, ...config.store?.collections } } }
}

/** What became of the file of declarations. */
export type Declared = { readonly file: string; readonly isNew: boolean; readonly missing: readonly string[] }

/**
 * Writes what the collections are to `collections.NAME.ts` in a folder, and a configuration file that takes it if there is none. Files
 * that are there stay as they are.
 *
 * @returns the file, and which collections the configuration does not declare yet
 */
export async function writeDeclarations(
  folder: string,
  source: string,
  collections: readonly SourceCollection[],
  config: Config,
): Promise<Declared> {
  const file = `collections.${source}.ts`
  const isNew = await writeNew(join(folder, file), declarationsText(source, collections))
  const own = config.store?.collections ?? {}
  const missing = collections.map(({ name }) => name).filter((name) => !Object.hasOwn(own, name))
  if (configFileName(folder) !== undefined) return { file, isNew, missing }
  await writeNew(join(folder, 'sixwire.config.ts'), configText(file))
  return { file, isNew, missing: [] }
}

const declarationsText = (
  source: string,
  collections: readonly SourceCollection[],
): string => `// Written by "sixwire import ${source}". It is yours: change it as you need, an import never writes it again.
import type { CollectionOption } from 'sixwire'

export const collections = {
${collections.map(entryOf).join('\n')}
} satisfies Record<string, CollectionOption>
`

const entryOf = ({ name, declaration, notes }: SourceCollection): string =>
  [
    ...notes.map((note) => `  // ${oneLine(note, NOTE_CHARACTERS)}`),
    `  ${literalOf({ [name]: declaration })
      .slice(1, -1)
      .trim()},`,
  ].join('\n')

/** A value of JSON as TypeScript. */
const literalOf = (value: object): string =>
  inspect(value, { depth: null, maxArrayLength: null, maxStringLength: null, breakLength: 100, compact: 3 })

const configText = (file: string): string => `import { defineConfig } from 'sixwire'

import { collections } from './${file}'

export default defineConfig({ store: { collections } })
`

/** @returns false if there is such a file */
async function writeNew(file: string, text: string): Promise<boolean> {
  try {
    await writeFile(file, text, { flag: 'wx' })
    return true
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') return false
    throw new StartError(`${file} cannot be written: ${message}`, { cause: error })
  }
}
