import { ApiError, invalid } from '../../base/errors.ts'
import type { ImportRecord } from '../../wires/store/index.ts'
import type { CollectionNames } from '../collection-names.ts'
import { createDerivedSchema } from '../derived-schema.ts'
import { foreignIdOf } from '../foreign-id.ts'
import type { SourceCollection } from '../source.ts'
import type { ExportedDocument, ReadDocuments, UnreadableDocument } from './firestore-files.ts'
import { plainValueOf, restValueOf, type ValueContext } from './firestore-values.ts'

/** What documents of Firestore need of their surroundings. */
export type FirestoreContext = {
  readonly documentsIn: ReadDocuments
  readonly names: CollectionNames
  /** The ids of accounts. */
  readonly accounts: ReadonlySet<string>
  readonly ownerFields: readonly string[]
  readonly shown: (text: string, addressOf: (from: string) => string) => string
}

/** What is learnt of a collection by reading it. */
type Seen = {
  count: number
  readonly files: Set<string>
  readonly schema: ReturnType<typeof createDerivedSchema>
  /** The collection above it. */
  readonly above: string | undefined
  /** The collections that each field refers to. */
  readonly references: Map<string, Set<string>>
}

const PARENT = 'parent'
const TIMES = ['createdAt', 'updatedAt']
const SERVICE_FIELDS = ['_id', '$owner', ...TIMES]
const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/

/** `books/1/chapters/2` is of `books_chapters`. */
const collectionOf = (path: readonly string[]): string => path.filter((_, at) => at % 2 === 0).join('_')
/** An id below another document has that one's before it: it is unique below that one only. */
const idOf = (path: readonly string[]): string => foreignIdOf(path.filter((_, at) => at % 2 === 1))

/** The collections in files, each of which is read once for that. */
export async function readCollections(
  files: readonly string[],
  context: FirestoreContext,
): Promise<SourceCollection[]> {
  const seen = new Map<string, Seen>()
  for (const file of files) for await (const one of context.documentsIn(file)) see(seen, file, one, context)
  return [...seen].map(([original, of]) => sourceCollection(original, of, seen, context))
}

function see(
  all: Map<string, Seen>,
  file: string,
  one: ExportedDocument | UnreadableDocument,
  context: FirestoreContext,
): void {
  const name = 'fault' in one ? one.collection : collectionOf(one.path)
  const above = 'fault' in one || one.path.length < 4 ? undefined : collectionOf(one.path.slice(0, -2))
  const seen: Seen = all.get(name) ?? {
    count: 0,
    files: new Set(),
    schema: createDerivedSchema(),
    above,
    references: new Map(),
  }
  all.set(name, seen)
  seen.count++
  seen.files.add(file)
  if ('fault' in one) return
  const fields = fieldsOrFault(one, context, {
    shown: (text) => text,
    refersTo: (field, collection) =>
      seen.references.set(field, (seen.references.get(field) ?? new Set()).add(collection)),
  })
  if (fields instanceof ApiError) return
  const { _id: _i, createdAt: _c, updatedAt: _u, $owner: _o, ...shown } = fields
  seen.schema.add(shown)
}

function sourceCollection(
  original: string,
  { count, files, schema, above, references }: Seen,
  all: ReadonlyMap<string, Seen>,
  context: FirestoreContext,
): SourceCollection {
  const { names } = context
  const relations = [...references].flatMap(([field, [to, ...others]]) =>
    to !== undefined && others.length === 0 && all.has(to)
      ? [[field, { to: names.of(to), onDelete: 'unset' as 'unset' | 'cascade' }] as const]
      : [],
  )
  if (above !== undefined && all.has(above))
    relations.push([PARENT, { to: names.of(above), onDelete: 'cascade' }])
  return {
    name: names.of(original),
    count,
    // Security rules are programs, so nobody else may do anything.
    declaration: {
      read: 'admin',
      create: 'admin',
      update: 'admin',
      delete: 'admin',
      schema: schema.schema(),
      ...(relations.length > 0 && { relations: Object.fromEntries(relations) }),
    },
    notes:
      above === undefined
        ? []
        : [
            `was below the documents of ${above}: "${PARENT}" has the _id of that one, and each _id begins with it`,
          ],
    async *read(addressOf) {
      let line = 0
      for (const file of files)
        for await (const one of context.documentsIn(file)) {
          if (('fault' in one ? one.collection : collectionOf(one.path)) !== original) continue
          line++
          const shown = (text: string): string => context.shown(text, addressOf)
          yield {
            line,
            fields: 'fault' in one ? one.fault : fieldsOrFault(one, context, { shown }),
          } satisfies ImportRecord
        }
    },
  }
}

type Reading = {
  readonly shown: (text: string) => string
  readonly refersTo?: (field: string, collection: string) => void
}

function fieldsOrFault(
  { path, fields, isRest, createdAt, updatedAt }: ExportedDocument,
  { accounts, ownerFields }: FirestoreContext,
  { shown, refersTo = () => undefined }: Reading,
): Record<string, unknown> | ApiError {
  try {
    if (path.length % 2 !== 0)
      throw invalid({ path: '', message: `${path.join('/')} is no path of a document` })
    const valueOf = ([name, value]: [string, unknown]): [string, unknown] => {
      const others: string[] = []
      const context: ValueContext = {
        shown,
        idOf(other) {
          others.push(collectionOf(other))
          return idOf(other)
        },
      }
      const plain = (isRest ? restValueOf : plainValueOf)(value as Record<string, unknown>, context)
      // References inside of objects are no relation.
      const areAll =
        [plain].flat().every((one) => typeof one === 'string') && others.length === [plain].flat().length
      if (areAll) for (const other of others) refersTo(name, other)
      return [name, plain]
    }
    const document = Object.fromEntries(Object.entries(fields).map(valueOf))
    const _id = idOf(path)
    const ids = path.filter((_, at) => at % 2 === 1)
    const owner = [...ids, ...ownerFields.map((name) => document[name])].find((one) =>
      accounts.has(String(one)),
    )
    return {
      ...(createdAt !== undefined && { createdAt }),
      ...(updatedAt !== undefined && { updatedAt }),
      ...renamed(document, path.length > 2 ? [...SERVICE_FIELDS, PARENT] : SERVICE_FIELDS),
      ...(path.length > 2 && { [PARENT]: idOf(path.slice(0, -2)) }),
      ...(ids.join('_') !== _id && { firestoreId: path.at(-1) }),
      _id,
      ...(owner !== undefined && { $owner: owner }),
    }
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
}

/** Fields whose names are those of the server stay under other names, unless they are the times that the server has, too. */
function renamed(document: Record<string, unknown>, taken: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(document).map(([name, value]) =>
      taken.includes(name) && !(TIMES.includes(name) && ISO_TIME.test(String(value)))
        ? [`firestore${name.replace(/^[_$]/, '').replace(/^./, (letter) => letter.toUpperCase())}`, value]
        : [name, value],
    ),
  )
}
