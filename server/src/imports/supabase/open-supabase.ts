import { StartError } from '../../base/start-error.ts'
import { identifier } from '../../db/catalogue.ts'
import type { Snapshot } from '../../db/database.ts'
import { sql } from '../../db/sql.ts'
import { createCollectionNames } from '../collection-names.ts'
import type { ImportSource, SourceCollection } from '../source.ts'
import { openAccounts } from './accounts.ts'
import { openSnapshot } from './open-snapshot.ts'
import { readTables, readViews } from './postgres-tables.ts'
import { documentsOf } from './rows.ts'
import { addressIn, countFiles, filesIn } from './storage.ts'
import { translateTable, type TranslatedTable } from './table-collection.ts'

/** https://www.postgresql.org/docs/current/errcodes-appendix.html */
const NOT_ALLOWED = '42501'

export type SupabaseOptions = {
  readonly schema: string
  /** Columns that may name the owner of a row, beside the keys that lead to accounts. */
  readonly ownerFields: readonly string[]
  /** Where the bytes of files are. */
  readonly storage: string | undefined
}

/**
 * Opens the database of a project of Supabase, as it is at one moment: each table of a schema becomes a collection.
 *
 * @throws StartError
 */
export async function openSupabase(url: string, options: SupabaseOptions): Promise<ImportSource> {
  const { snapshot, close } = await openSnapshot(url)
  try {
    return { ...(await readProject(snapshot, options)), close }
  } catch (error) {
    await close()
    const { code, message } = error as { code?: string; message: string }
    throw code === NOT_ALLOWED
      ? new StartError(`${message}: use the address of the role postgres, which may read all rows`, {
          cause: error,
        })
      : error
  }
}

async function readProject(
  snapshot: Snapshot,
  { schema, ownerFields, storage }: SupabaseOptions,
): Promise<Omit<ImportSource, 'close'>> {
  const tables = await readTables(snapshot, schema)
  const accounts = await openAccounts(snapshot)
  if (tables.length === 0 && !accounts)
    throw new StartError(`the database has neither tables in the schema ${schema} nor auth.users`)
  const names = createCollectionNames()
  const byName = new Map(tables.map((one) => [`${schema}.${one.name}`, one]))
  const translated = tables.map((one) => translateTable(one, byName, { names, ownerFields }))
  const views = await readViews(snapshot, schema)
  const files = await countFiles(snapshot)
  const collections: SourceCollection[] = []
  for (const one of translated) collections.push(await collectionOf(snapshot, schema, one))
  return {
    collections,
    notes: [
      ...names.notes(),
      ...(views.length > 0 ? [`views do not come, ask for what they are made of: ${views.join(', ')}`] : []),
      ...(accounts?.notes ?? ['there is no auth.users: no accounts come']),
      ...(files > 0 && storage === undefined
        ? [`${files} files do not come: download the buckets, and name their folder with --storage`]
        : []),
    ],
    ...(accounts && { users: { count: accounts.count, read: () => accounts.read() } }),
    ...(files > 0 &&
      storage !== undefined && { files: { count: files, read: () => filesIn(snapshot, storage) } }),
  }
}

async function collectionOf(
  snapshot: Snapshot,
  schema: string,
  table: TranslatedTable,
): Promise<SourceCollection> {
  const { name, declaration, notes } = table
  const from = sql.literal(`${identifier(schema)}.${identifier(table.of.name)}`)
  const counted = await snapshot.get<{ n: number }>(sql`select count(*) as n from ${from}`)
  return {
    name,
    declaration,
    notes,
    count: counted!.n,
    read: (addressOf) => documentsOf(snapshot, schema, table, (text) => addressIn(text, addressOf)),
  }
}
