import { invalid } from '../../../../base/errors.ts'
import { boundedPointer } from '../../../../base/json-pointer.ts'
import type { Caller } from '../../../../http/access.ts'
import type { UploadedFile, UploadedFiles } from '../../../../http/bodies.ts'
import type { Once } from '../../../../http/route.ts'
import type { CollectionDefinition } from '../definition/collection.ts'
import type { FileField } from '../definition/file-field.ts'
import type { Fields } from '../language/document-json.ts'
import type { NewFiles } from './check-files.ts'

/** A file that comes with a document: the id that it gets, and the field that it is named by. */
type NamedFile = { readonly field: string; readonly id: string }

/**
 * Receives the files of a document that is to be created, and creates it with them: all or nothing.
 *
 * @param document.accept is called before the bytes of a file are read, and throws the error to answer
 * @param document.content what the call is compared by beside the files
 * @param create is called once, or again without steps if an earlier call has inserted these files
 */
export type ReceiveDocumentFiles = <T>(
  call: { upload: UploadedFiles; caller: Caller; once: Once; signal: AbortSignal },
  document: { accept: (file: UploadedFile) => void; content: unknown },
  create: (
    newFiles: NewFiles & { readonly named: readonly NamedFile[] },
    made: { id: string; isRepeated: boolean },
  ) => Promise<T>,
) => Promise<T>

/** Accepts the files that the fields of a collection take, each named by its field. @throws VALIDATION_ERROR */
export function acceptFiles(collection: CollectionDefinition): (file: UploadedFile) => void {
  const counts = new Map<FileField, number>()
  return ({ field: name }) => {
    const field = fieldNamed(collection, name)
    const count = (counts.get(field) ?? 0) + 1
    counts.set(field, count)
    if (count > field.max)
      throw invalid({
        path: pathOf(name),
        message: field.max === 1 ? 'may be given only once' : `must not have more than ${field.max} files`,
      })
  }
}

/** The fields of a document with the ids of files that come with it. @throws VALIDATION_ERROR */
export function withNewFiles(
  collection: CollectionDefinition,
  fields: Fields,
  named: readonly NamedFile[],
): Fields {
  const whole = structuredClone(fields)
  for (const { field: name, id } of named) {
    const { path, max } = fieldNamed(collection, name)
    const [last, holder] = [path.at(-1)!, holderIn(whole, path.slice(0, -1), name)]
    const old = Object.hasOwn(holder, last) ? (holder[last] ?? undefined) : undefined
    if (max > 1 && (old === undefined || Array.isArray(old)))
      holder[last] = [...((old as unknown[]) ?? []), id]
    else if (max === 1 && old === undefined) holder[last] = id
    else throw invalid({ path: pathOf(name), message: 'has a value in the part _json already' })
  }
  return whole
}

/** The object that has the last part of a path; objects that are missing are added. */
function holderIn(fields: Fields, path: readonly string[], name: string): Record<string, unknown> {
  let holder: Record<string, unknown> = fields
  for (const part of path) {
    const inner = Object.hasOwn(holder, part) ? holder[part] : (holder[part] = {})
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner))
      throw invalid({
        path: pathOf(name),
        message: `${part} is no object: upload the file first, and write its _id there`,
      })
    holder = inner as Record<string, unknown>
  }
  return holder
}

function fieldNamed({ name: collection, fileFields }: CollectionDefinition, name: string): FileField {
  const field = fileFields.find((one) => one.name === `${collection}.${name}`)
  if (field) return field
  const names = fileFields.map((one) => one.name.slice(collection.length + 1))
  throw invalid({
    path: pathOf(name),
    message:
      names.length === 0
        ? `is a file, and ${collection} has no fields of files: declare them in the option files`
        : `is no field of files of ${collection}: it has ${names.join(', ')}`,
  })
}

const pathOf = (name: string): string => boundedPointer('/body', [name])
