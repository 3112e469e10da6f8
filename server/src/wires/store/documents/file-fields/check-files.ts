import { invalid, type Issue } from '../../../../base/errors.ts'
import { boundedPointer } from '../../../../base/json-pointer.ts'
import { isOfMediaRanges } from '../../../../base/media-range.ts'
import { isOneOf } from '../../../../db/is-one-of.ts'
import type { Database, Step } from '../../../../db/database.ts'
import { sql } from '../../../../db/sql.ts'
import type { CollectionDefinition } from '../definition/collection.ts'
import type { FileField } from '../definition/file-field.ts'
import { addedReferences, referencesIn } from '../definition/relation.ts'
import type { Viewer } from '../definition/viewer.ts'
import { valuesAt } from '../language/fields/field-path.ts'
import { attachSteps, attachKnownSteps } from './attach-files.ts'
import { includesFile, isWithinFiles, type OwnedFile } from './file-access.ts'
import type { ReadableFiles } from './readable-files.ts'

const ADDED_MAX = 1000

/** What is asked of a file that a document is to have. */
export type FileToAttach = OwnedFile & {
  readonly content_type: string
  readonly size: number
  readonly status: string
}

/** Files that a write brings with it, and the steps that insert their records, in its batch in front of it. */
export type NewFiles = { readonly files: readonly FileToAttach[]; readonly steps: readonly Step[] }

/** The fields of a document that is to be written. */
export type WrittenFields = {
  readonly fields: unknown
  /** What they are until then; undefined if the document is new. */
  readonly before?: unknown
  /** Where they are in the request. */
  readonly at: string
}

/**
 * Checks the files that a write gives to a document, and answers the steps in front of the write that keep them there.
 *
 * @throws VALIDATION_ERROR at the path of a value
 */
export type CheckFiles = (
  collection: Pick<CollectionDefinition, 'fileFields'>,
  viewer: Viewer,
  written: WrittenFields,
  newFiles?: NewFiles,
) => Promise<Step[]>

/**
 * Checks the files that a write adds: each is there, its writer may change it, and the field takes its
 * type and size. Those that the document has already are not asked again.
 */
export const createFileChecks =
  ({ db, readable }: { db: Database; readable: ReadableFiles }): CheckFiles =>
  async ({ fileFields }, viewer, written, newFiles) => {
    if (fileFields.length === 0) return []
    const added = fileFields.flatMap((field) => addedFiles(field, written))
    if (added.length === 0) return []
    if (added.length > ADDED_MAX)
      throw invalid({
        path: written.at,
        message: `it has more than ${ADDED_MAX} new files: write fewer at once`,
      })
    const own = new Map(newFiles?.files.map((file) => [file.id, file]))
    const stored = await storedFiles(
      db,
      added.map(({ id }) => id).filter((id) => !own.has(id)),
    )
    const giveable = readable.giveable(viewer)
    const faults: Issue[] = []
    for (const { field, id, at } of added) {
      const known = stored.get(id)
      const file = own.get(id) ?? (known && includesFile(giveable, known) ? known : undefined)
      const message = file ? faultOf(field, file) : NO_FILE
      if (message !== undefined) faults.push({ path: at, message })
    }
    const [first, ...others] = faults
    if (first) throw invalid(first, ...others)
    const within = isWithinFiles(giveable)
    return attachSteps(added, within && sql`(${within} or ${isOneOf('id', [...own.keys()])})`, () =>
      invalid({ path: added[0]!.at, message: NO_FILE }),
    )
  }

/** Gives the files to documents that are there, whatever they are: those of an import, which come with their documents. */
export const attachAnyFiles: CheckFiles = async ({ fileFields }, _viewer, { fields }) =>
  attachKnownSteps(
    fileFields.flatMap((field) =>
      [...referencesIn(fields, field)].flatMap(({ value }) =>
        typeof value === 'string' ? [{ field, id: value }] : [],
      ),
    ),
  )

/** Of a file that is not there the same as of one that the caller may not change. */
const NO_FILE = 'there is no file with this _id that you may give to a document'

type AddedFile = { readonly field: FileField; readonly id: string; readonly at: string }

function addedFiles(field: FileField, { fields, before, at }: WrittenFields): AddedFile[] {
  const [old, values] = [before, fields].map((one) => valuesAt(one, field.path)) as [Values, Values]
  // A field that took more before keeps what it has.
  if (JSON.stringify(old) !== JSON.stringify(values))
    for (const { keys, value } of values) {
      const message = shapeFault(field, value)
      if (message !== undefined) throw invalid({ path: boundedPointer(at, keys), message })
    }
  return addedReferences(field, before, fields, at).map(({ keys, value }) => ({
    field,
    id: value as string,
    at: boundedPointer(at, keys),
  }))
}

type Values = ReturnType<typeof valuesAt>

function shapeFault({ max }: FileField, value: unknown): string | undefined {
  if (value === null) return undefined
  if (max === 1) return typeof value === 'string' ? undefined : 'must be the _id of a file, or null'
  if (!Array.isArray(value) || !value.every((one) => typeof one === 'string'))
    return 'must be an array of _ids of files, or null'
  return value.length > max ? `must not have more than ${max} files` : undefined
}

function faultOf({ types, maxBytes }: FileField, { content_type, size, status }: FileToAttach) {
  // Without a parameter of the stored type.
  const [type = ''] = content_type.split(';')
  if (status === 'refused') return 'this file was refused by the scan'
  if (types && !isOfMediaRanges(type, types))
    return `this file is ${type}, and the field takes ${types.join(', ')}`
  if (size > maxBytes) return `this file has ${size} bytes, and the field takes at most ${maxBytes}`
  return undefined
}

async function storedFiles(db: Database, ids: readonly string[]): Promise<Map<string, FileToAttach>> {
  if (ids.length === 0) return new Map()
  const rows = await db.all(sql<FileToAttach>`
    select id, owner, attached_by, content_type, size, status from store_files where ${isOneOf('id', ids)}`)
  return new Map(rows.map((row) => [row.id, row]))
}
