import type { SampleValue, SampleFields, SampleCall } from './call.ts'
import { exampleValue, shortened, type ExampleSchema } from './example.ts'

/** A collection, as its calls need it. */
export type SampleCollection = {
  readonly name: string
  readonly schema?: ExampleSchema | undefined
  /** The media types that each field of files takes. */
  readonly files: Readonly<Record<string, readonly string[]>>
  /** Fields that only operators write. */
  readonly guarded: readonly string[]
  /** The ids of documents to which its relations may lead, by their paths; undefined if there is none. */
  readonly related: Readonly<Record<string, string | undefined>>
  /** The newest document, for a collection without a schema. */
  readonly document?: SampleFields | undefined
}

export type CollectionAction = { readonly name: string; readonly title: string; readonly call: SampleCall }

const ONE = '/store/:collection/:id'
const ALL = '/store/:collection'
const OF_SERVER = new Set(['_id', 'createdAt', 'updatedAt'])

const FILES: readonly (readonly [type: string, name: string])[] = [
  ['image/jpeg', 'photo.jpg'],
  ['image/png', 'photo.png'],
  ['application/pdf', 'document.pdf'],
  ['text/plain', 'notes.txt'],
]

/** A file that a field takes. */
function fileFor(types: readonly string[]): readonly [type: string, name: string] {
  const [first = 'image/*'] = types
  const pattern = new RegExp(`^${first.replaceAll(/[.+]/g, String.raw`\$&`).replaceAll('*', '.*')}$`)
  return FILES.find(([type]) => pattern.test(type)) ?? [first.replace('*', 'octet-stream'), 'file']
}

/** The fields of a new document: those of the schema, or as the newest document has them. */
export function exampleDocument({
  schema,
  files,
  guarded,
  related,
  document,
}: SampleCollection): SampleFields {
  const isRequired = (path: string) => (schema?.['required'] as string[] | undefined)?.includes(path) ?? false
  const left = [...Object.keys(files), ...guarded.filter((path) => !isRequired(path))]
  const values: Record<string, SampleValue | undefined> = {
    ...related,
    ...Object.fromEntries(left.map((path) => [path, undefined])),
  }
  const made = schema && exampleValue(schema, values)
  if (typeof made === 'object' && made !== null && Object.keys(made).length > 0) return made as SampleFields
  if (schema) return {}
  const fields = Object.entries(document ?? {}).filter(
    ([name]) => !OF_SERVER.has(name) && !name.startsWith('$') && !left.includes(name),
  )
  return fields.length > 0 ? (shortened(Object.fromEntries(fields)) as SampleFields) : { title: 'A title' }
}

/** A filter that finds a document with these fields, by a choice if there is one. */
function exampleFilter(fields: SampleFields, schema: ExampleSchema | undefined): SampleFields | undefined {
  const properties = (schema?.['properties'] ?? {}) as Readonly<Record<string, ExampleSchema | boolean>>
  const isChoice = ([name, value]: readonly [string, SampleValue]): boolean =>
    typeof value === 'boolean' || Object.hasOwn(Object(properties[name]) as object, 'enum')
  const entries = Object.entries(fields).filter(
    ([name, value]) => ['string', 'number', 'boolean'].includes(typeof value) && !/[.$]/.test(name),
  )
  const [name, value] = entries.find(isChoice) ?? entries[0] ?? []
  if (name === undefined || value === undefined) return undefined
  return { [name]: typeof value === 'number' ? { $gte: value } : value }
}

/**
 * What programs do with the documents of a collection, with its own fields.
 *
 * @param id of the document that is read, changed and deleted
 */
export function collectionCalls(
  baseUrl: string,
  collection: SampleCollection,
  id: string,
): readonly CollectionAction[] {
  const { name, schema, files } = collection
  const document = exampleDocument(collection)
  const of = { baseUrl, query: {}, hasToken: true, answer: 'json' as const }
  const all = { ...of, path: ALL, params: { collection: name } }
  const one = { ...of, path: ONE, params: { collection: name, id } }
  const filter = exampleFilter(document, schema)
  const [field, types] = Object.entries(files)[0] ?? []
  const [type = '', fileName = ''] = types ? fileFor(types) : []
  const withFile: SampleCall | undefined =
    field === undefined
      ? undefined
      : {
          ...all,
          method: 'POST',
          file: { field, name: fileName, type, fields: { _json: document } },
        }
  const needsFile =
    field !== undefined && ((schema?.['required'] as string[] | undefined)?.includes(field) ?? false)
  return [
    {
      name: 'list',
      title: 'List',
      call: { ...all, method: 'GET', query: { ...(filter && { filter }), sort: '-createdAt', limit: 20 } },
    },
    { name: 'get', title: 'Get', call: { ...one, method: 'GET' } },
    {
      name: 'create',
      title: 'Create',
      call: needsFile ? withFile! : { ...all, method: 'POST', body: document },
    },
    { name: 'change', title: 'Change', call: { ...one, method: 'PUT', body: changeOf(document) } },
    { name: 'delete', title: 'Delete', call: { ...one, method: 'DELETE' } },
    {
      name: 'follow',
      title: 'Follow',
      call: {
        ...of,
        method: 'GET',
        path: '/store/changes',
        params: {},
        query: { collection: name },
        answer: 'events',
      },
    },
    ...(withFile ? [{ name: 'upload', title: 'Upload', call: withFile }] : []),
  ]
}

/** One field of a document, that a change sets. */
const changeOf = (document: SampleFields): SampleFields =>
  Object.fromEntries(Object.entries(document).slice(0, 1))
