import { access } from 'node:fs/promises'
import { basename, join } from 'node:path'

import { ApiError } from '../../base/errors.ts'
import type { CollectionDeclaration, ImportRecord } from '../../wires/store/index.ts'
import { createCollectionNames, type CollectionNames } from '../collection-names.ts'
import { createDerivedSchema } from '../derived-schema.ts'
import { ISSUERS, lostIdentities } from '../issuers.ts'
import type { ImportSource, SourceCollection } from '../source.ts'
import { contentIn, type SourceFile } from '../store-files.ts'
import { accessOf, createAclSummary, ownerOf, type ClassPermissions } from './access.ts'
import { openExportFiles, type ExportFiles } from './export-files.ts'
import { plainOf, readObject, type ClassSchema, type ParseFile, type ParseObject } from './parse-object.ts'

const USER = '_User'
const SCHEMA = '_SCHEMA'
/** Classes of Parse itself whose objects come. */
const OWN_COMING: readonly string[] = [USER, '_Role']
/** What is of no use elsewhere: a sign-in is made again, and a phone registers again. */
const OWN_CLASS = /^_(?!Join:)/

/** An export that is being read. */
type Export = {
  readonly files: ExportFiles
  readonly names: CollectionNames
  readonly schemas: ReadonlyMap<string, ClassSchema>
  /** The classes that come. */
  readonly classes: readonly string[]
}

/** A class that has been read once. */
type ReadClass = { readonly collection: SourceCollection; readonly fileCount: number }

/** The ids that objects of a class have in a field of relations. */
type Join = { readonly field: string; readonly ids: ReadonlyMap<string, readonly string[]> }

/**
 * Opens an export of Parse Server: a folder with a file for each class, and `files/` with the files if there is one. A user becomes an
 * account, and a document of the same id with the other fields, to which pointers lead.
 *
 * @throws StartError
 */
export async function openParse(dir: string): Promise<ImportSource> {
  const files = await openExportFiles(dir)
  const classes = files.names.filter(
    (name) => !name.startsWith('_Join:') && (!OWN_CLASS.test(name) || OWN_COMING.includes(name)),
  )
  const source: Export = { files, names: createCollectionNames(), schemas: await schemasOf(files), classes }
  const read: ReadClass[] = []
  for (const name of classes) read.push(await readClass(source, name))
  const folder = join(dir, 'files')
  const hasFiles = await access(folder).then(
    () => true,
    () => false,
  )
  const fileCount = read.reduce((sum, one) => sum + one.fileCount, 0)
  const left = files.names.filter(
    (name) => OWN_CLASS.test(name) && name !== SCHEMA && !classes.includes(name),
  )
  const lost = await lostIdentitiesOf(source)
  return {
    collections: read.map(({ collection }) => collection),
    notes: [
      ...source.names.notes(),
      ...left.map((name) => `${name} does not come: it is of Parse itself`),
      ...(classes.includes(USER)
        ? ['people sign in with their email address, not with their username, which stays in their document']
        : []),
      ...lost,
      ...(fileCount > 0 && !hasFiles
        ? [`files are not in ${folder} (${fileCount}): documents keep their addresses in Parse`]
        : []),
    ],
    ...(classes.includes(USER) && {
      users: { count: read[classes.indexOf(USER)]!.collection.count, read: () => usersIn(source) },
    }),
    ...(hasFiles && { files: { count: fileCount, read: () => filesIn(source, folder) } }),
    close: () => undefined,
  }
}

async function schemasOf(files: ExportFiles): Promise<Map<string, ClassSchema>> {
  const schemas = new Map<string, ClassSchema>()
  for await (const { fields } of files.objects(SCHEMA))
    if (!(fields instanceof ApiError)) schemas.set(String(fields['_id'] ?? fields['className']), fields)
  return schemas
}

/** The objects of a class, with those that cannot be read. */
async function* objectsOf(
  { files, schemas }: Export,
  name: string,
): AsyncGenerator<{ line: number; object: ParseObject | ApiError }> {
  const schema = schemas.get(name) ?? {}
  for await (const { line, fields } of files.objects(name))
    yield { line, object: fields instanceof ApiError ? fields : readObject(fields, schema) }
}

async function readClass(source: Export, name: string): Promise<ReadClass> {
  const joins = await joinsOf(source.files, name)
  const schema = createDerivedSchema()
  const acls = createAclSummary()
  const targets = new Map<string, Set<string>>()
  const addTarget = (path: string, className: string): void => {
    targets.set(path, (targets.get(path) ?? new Set()).add(className))
  }
  let [count, fileCount] = [0, 0]
  for await (const { object } of objectsOf(source, name)) {
    count++
    if (object instanceof ApiError) continue
    acls.add(object.acl)
    for (const [field, value] of Object.entries(object.fields)) {
      const { __type: type, className } = (value ?? {}) as { __type?: unknown; className?: string }
      if (type === 'Relation' && className !== undefined) addTarget(field, className)
    }
    const file = ({ name: fileName, url = fileName }: ParseFile): string => {
      fileCount++
      return url
    }
    schema.add(documentOf(object, joins, { pointer: addTarget, file }))
  }
  for (const [field, type] of Object.entries(source.schemas.get(name) ?? {})) {
    const [, className] = /^relation<(\w+)>$/.exec(String(type)) ?? []
    if (className !== undefined) addTarget(field, className)
  }
  const access = name === USER ? { word: 'owner' as const, notes: [] } : acls.access()
  const { relations, notes } = relationsOf(source, targets)
  const permissions = permissionsOf(source.schemas.get(name))
  const collection: SourceCollection = {
    name: source.names.of(name),
    declaration: {
      ...accessOf(access.word, permissions),
      schema: schema.schema(),
      ...(Object.keys(relations).length > 0 && { relations }),
    },
    notes: [
      ...access.notes,
      ...notes,
      ...(permissions
        ? [
            `what its class permissions did not give to all users is for administrators: ${JSON.stringify(permissions)}`,
          ]
        : []),
    ],
    count,
    read: (addressOf) => recordsIn(source, name, joins, addressOf),
  }
  return { collection, fileCount }
}

/** As the database has them, or as the API answers them. */
function permissionsOf(schema: ClassSchema = {}): ClassPermissions | undefined {
  const metadata = schema['_metadata'] as { class_permissions?: ClassPermissions } | undefined
  return (schema['classLevelPermissions'] as ClassPermissions | undefined) ?? metadata?.class_permissions
}

/** Relations of the fields whose pointers lead to one class that comes. */
function relationsOf(
  { names, classes }: Export,
  targets: ReadonlyMap<string, ReadonlySet<string>>,
): { relations: NonNullable<CollectionDeclaration['relations']>; notes: string[] } {
  const relations: Record<string, { to: string }> = {}
  const notes: string[] = []
  for (const [path, classNames] of targets) {
    const [to = ''] = classNames
    if (classNames.size > 1) notes.push(`${path} points to several classes: ${[...classNames].join(', ')}`)
    else if (!classes.includes(to)) notes.push(`${path} points to ${to}, which does not come`)
    else relations[path] = { to: names.of(to) }
  }
  return { relations, notes }
}

async function joinsOf(files: ExportFiles, name: string): Promise<Join[]> {
  const joins: Join[] = []
  for (const file of files.names) {
    const [, field, className] = /^_Join:(\w+):(\w+)$/.exec(file) ?? []
    if (field === undefined || className !== name) continue
    const ids = new Map<string, string[]>()
    for await (const { fields } of files.objects(file)) {
      if (fields instanceof ApiError) continue
      const { owningId, relatedId } = fields as { owningId: string; relatedId: string }
      const related = ids.get(owningId)
      if (related) related.push(relatedId)
      else ids.set(owningId, [relatedId])
    }
    joins.push({ field, ids })
  }
  return joins
}

function documentOf(
  { id, fields }: ParseObject,
  joins: readonly Join[],
  referred: Parameters<typeof plainOf>[2],
): Record<string, unknown> {
  const document = plainOf(fields, '', referred) as Record<string, unknown>
  for (const { field, ids } of joins) document[field] = ids.get(String(id)) ?? []
  return document
}

async function* recordsIn(
  source: Export,
  name: string,
  joins: readonly Join[],
  addressOf: (from: string) => string,
): AsyncGenerator<ImportRecord> {
  const referred = {
    pointer: () => undefined,
    file: ({ name: file, url = file }: ParseFile): string => addressOf(url),
  }
  for await (const { line, object } of objectsOf(source, name)) {
    if (object instanceof ApiError) {
      yield { line, fields: object }
      continue
    }
    const { id, createdAt, updatedAt, acl } = object
    const owner = name === USER ? id : ownerOf(acl)
    yield {
      line,
      fields: {
        ...documentOf(object, joins, referred),
        _id: id,
        ...(createdAt !== undefined && { createdAt }),
        ...(updatedAt !== undefined && { updatedAt }),
        ...(owner !== undefined && { $owner: owner }),
      },
    }
  }
}

async function* usersIn(source: Export): AsyncGenerator<object> {
  for await (const { object } of objectsOf(source, USER)) {
    if (object instanceof ApiError) continue
    const { id, createdAt, fields, passwordHash, authData } = object
    const { username, email, emailVerified, name } = fields
    const identities = Object.entries(authData).flatMap(([provider, data]) => {
      const issuer = ISSUERS[provider]
      const subject = (data as { id?: string | number } | null)?.id
      return issuer === undefined || subject === undefined ? [] : [{ issuer, subject: String(subject) }]
    })
    yield {
      _id: id,
      email: email ?? (String(username).includes('@') ? username : undefined),
      emailVerified: emailVerified === true,
      ...(typeof name === 'string' && { name }),
      ...(createdAt !== undefined && { createdAt }),
      passwordHash: passwordHash ?? null,
      ...(identities.length > 0 && { identities }),
    }
  }
}

async function lostIdentitiesOf(source: Export): Promise<string[]> {
  const counts = new Map<string, number>()
  for await (const { object } of objectsOf(source, USER))
    for (const provider of object instanceof ApiError ? [] : Object.keys(object.authData))
      if (ISSUERS[provider] === undefined) counts.set(provider, (counts.get(provider) ?? 0) + 1)
  return [...counts].map(([provider, count]) => lostIdentities(provider, count))
}

/** The files that objects name, each once. */
async function* filesIn(source: Export, folder: string): AsyncGenerator<SourceFile> {
  const seen = new Set<string>()
  for (const name of source.classes)
    for await (const { object } of objectsOf(source, name)) {
      if (object instanceof ApiError) continue
      const found: ParseFile[] = []
      const file = (one: ParseFile): string => {
        found.push(one)
        return ''
      }
      plainOf(object.fields, '', { pointer: () => undefined, file })
      for (const { name: fileName, url = fileName } of found) {
        if (seen.has(url)) continue
        seen.add(url)
        yield {
          from: url,
          // It begins with what makes it unique.
          name: fileName.replace(/^[0-9a-f]{32}_|^[0-9a-f-]{36}_/, ''),
          owner: name === USER ? String(object.id) : ownerOf(object.acl),
          open: () => contentIn(folder, basename(fileName)),
        }
      }
    }
}
