// What mongodump writes of a collection beside its documents: its indexes and options.
import { readFile } from 'node:fs/promises'

import { StartError } from '../../base/start-error.ts'
import type { CollectionDeclaration } from '../../wires/store/index.ts'

/** An index, as `listIndexes` has it; numbers may be those of Extended JSON. */
type Index = {
  readonly name?: string
  readonly key: Readonly<Record<string, unknown>>
  readonly unique?: boolean
  readonly partialFilterExpression?: unknown
  readonly collation?: { readonly strength?: unknown }
  readonly expireAfterSeconds?: unknown
  readonly weights?: Readonly<Record<string, unknown>>
}
type Metadata = { readonly indexes?: readonly Index[]; readonly options?: { readonly validator?: unknown } }

/** What of a collection is declared by its metadata; nothing if there is no such file. */
export async function declaredBy(
  file: string,
): Promise<Pick<CollectionDeclaration, 'unique' | 'search'> & { notes: string[] }> {
  const { indexes = [], options } = await readMetadata(file)
  const unique: NonNullable<CollectionDeclaration['unique']> = []
  const notes: string[] = []
  let search: string[] | undefined
  for (const index of indexes) {
    const { name = '', key, unique: isUnique, partialFilterExpression, weights } = index
    const fields = Object.keys(key)
    if (index.expireAfterSeconds !== undefined)
      notes.push(`the index ${name} made documents expire: delete them by a schedule`)
    if (weights) search = Object.keys(weights)
    if (search?.includes('$**')) {
      search = undefined
      notes.push(`the index ${name} is of all texts: declare in "search" which fields are searched`)
    }
    if (!isUnique || fields.join() === '_id') continue
    if (partialFilterExpression !== undefined)
      notes.push(`the unique index ${name} is of some documents only, and is not translated`)
    else if (Number(numberOf(index.collation?.strength)) < 3) unique.push({ fields, ignoreCase: true })
    else unique.push(fields.length === 1 ? fields[0]! : fields)
  }
  if (options?.validator) notes.push('the validator is not translated: the schema is that of the documents')
  return { ...(unique.length > 0 && { unique }), ...(search && { search }), notes }
}

const numberOf = (value: unknown): unknown =>
  typeof value === 'object' && value !== null ? Object.values(value)[0] : value

async function readMetadata(file: string): Promise<Metadata> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Metadata
  } catch (cause) {
    if ((cause as { code?: string }).code === 'ENOENT') return {}
    throw new StartError(`${file} cannot be read: ${(cause as Error).message}`, { cause })
  }
}
