import { isoTime } from '../../../base/clock.ts'
import { ApiError } from '../../../base/errors.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import { sql } from '../../../db/sql.ts'
import { fieldsOfFile } from '../documents/definition/file-field.ts'
import type { FileUses } from '../documents/file-fields/file-uses.ts'
import type { FileRow } from '../files/files.ts'

const PAGE = 500
/** How many are named. */
const FIRST = 1_000
/** A younger file may be in a form that is not sent yet. */
const RECENT_MS = 24 * 3_600_000

/** A file that no document has in a field of files. */
export type UnattachedFile = {
  id: string
  name: string
  owner: string
  size: number
  createdAt: string
  /** The fields in which a document had it, such as `products.photo`; empty if none ever had. */
  attachedBy: string[]
}

export type UnattachedFiles = {
  count: number
  bytes: number
  /** Those that a document had, which a server deletes a day after it has seen that none has. */
  released: number
  /** Those that a document had in a field which is not declared any more: they are never deleted by themselves. */
  undeclared: number
  /** The first 1,000. */
  first: UnattachedFile[]
}

/** Which documents have files in the declared fields. */
export type DeclaredUses = Pick<FileUses, 'fields' | 'fieldsOf' | 'usedOf'>

type Row = Pick<FileRow, 'id' | 'original_name' | 'owner' | 'size' | 'created_at' | 'attached_by'>

/**
 * The files that no document has, but those that are public by themselves and those of the last 24 hours.
 *
 * @returns undefined if no field of files is declared; null if an index of one is not ready, so that nothing is known
 */
export async function readUnattachedFiles(
  { db, clock }: Pick<WireContext, 'db' | 'clock'>,
  { uses }: { uses: DeclaredUses },
  counted: (files: number) => void,
): Promise<UnattachedFiles | undefined | null> {
  if (uses.fields.length === 0) return undefined
  const result: UnattachedFiles = { count: 0, bytes: 0, released: 0, undeclared: 0, first: [] }
  const until = clock.now() - RECENT_MS
  for (let after = ''; ;) {
    const page = await db.all(sql<Row>`
      select id, original_name, owner, size, created_at, attached_by from store_files
      where id > ${after} and access = 'private' and created_at <= ${until} order by id limit ${PAGE}`)
    const used = await usedOf(uses, page)
    if (!used) return null
    for (const row of page) if (!used.has(row.id)) add(result, row, uses)
    counted(page.length)
    if (page.length < PAGE) return result
    after = page.at(-1)!.id
  }
}

async function usedOf(uses: DeclaredUses, page: readonly Row[]): Promise<ReadonlySet<string> | undefined> {
  try {
    return await uses.usedOf(page.map(({ id }) => id))
  } catch (error) {
    if (error instanceof ApiError && error.status === 503) return undefined
    throw error
  }
}

function add(result: UnattachedFiles, row: Row, uses: DeclaredUses): void {
  const { id, original_name: name, owner, size, created_at, attached_by } = row
  result.count++
  result.bytes += size
  if (uses.fieldsOf(attached_by) === undefined) result.undeclared++
  else if (attached_by !== null) result.released++
  if (result.first.length < FIRST)
    result.first.push({
      id,
      name,
      owner,
      size,
      createdAt: isoTime(created_at),
      attachedBy: [...fieldsOfFile(attached_by)],
    })
}
