import type { Static } from 'typebox'

import { isoTime } from '../../../../base/clock.ts'
import { errors, invalid, type ApiError } from '../../../../base/errors.ts'
import { Type } from '../../../../base/schema.ts'
import type { Actor } from '../../../../http/actor.ts'
import { json } from '../../../../http/bodies.ts'
import { answer, endpoint } from '../../../../http/route.ts'
import { storeErrors } from '../../errors.ts'
import type { CollectionDeclaration } from '../definition/collection-option.ts'
import { declarationOf } from '../definition/collection.ts'
import { CollectionName } from '../language/collection-name.ts'
import { etagOf } from '../language/etag.ts'
import { IfMatch } from '../routes/request-schemas.ts'
import type { ChangeRow } from './change-rows.ts'
import { checkDocuments } from './check-documents.ts'
import { checkUnique } from './check-unique.ts'
import {
  defineCollections,
  definitionOf,
  isConfigured,
  readNext,
  readChange,
  readNow,
  takeBack,
  type Decided,
  type DefinitionChange,
  type DefinitionContext,
} from './define-collection.ts'
import { DefinitionBody, DefinitionsBody } from './definition-body.ts'
import { FieldChanges } from './field-changes.ts'
import { definitionIn, fieldChangesIn } from './stored-definitions.ts'
import { reportIn, selectVersionsSql, type VersionRow } from './version-rows.ts'

const VERSIONS_MAX = 100

const Issues = Type.Array(Type.Object({ path: Type.String(), message: Type.String() }))
const Duplicates = Type.Object(
  {
    fields: Type.Array(Type.String()),
    documents: Type.Integer({
      description: 'How many documents have values that another one has; counted up to 10,000.',
    }),
    examples: Type.Array(Type.Object({ _id: Type.String(), sameAs: Type.String() }), {
      description: 'Ten of them, each with one that has the same values.',
    }),
    reason: Type.Optional(Type.String({ description: 'Why the fields of a document cannot be compared.' })),
  },
  { title: 'DuplicateDocuments' },
)
const Report = Type.Object(
  {
    reason: Type.Optional(Type.String({ description: 'Why it was refused.' })),
    causedBy: Type.Optional(
      Type.String({ description: 'The collection at fault, if it is another one that was sent with it.' }),
    ),
    documents: Type.Optional(Type.Integer({ description: 'How many documents were looked at.' })),
    unfit: Type.Optional(Type.Integer({ description: 'How many of them do not fit the schema.' })),
    examples: Type.Optional(
      Type.Array(Type.Object({ _id: Type.String(), issues: Issues }), {
        description: 'The first ten of those, with their first faults.',
      }),
    ),
    duplicates: Type.Optional(
      Type.Array(Duplicates, { description: 'The fields that cannot become unique, and why.' }),
    ),
    changed: Type.Optional(
      Type.Array(Type.Integer(), {
        description: 'How many documents each of the changes that were sent as `documents` changes.',
      }),
    ),
  },
  { title: 'DefinitionReport' },
)

const VERSION = {
  version: Type.Integer({ description: 'From 1 on.' }),
  state: Type.Enum(['pending', 'active', 'past', 'refused'], {
    description: 'Whether it is being checked, in force, was in force, or was refused.',
  }),
  definition: Type.Unknown({
    description: 'As in store.collections of the configuration; null: the definition was removed.',
    examples: [{ read: 'public', create: 'admin' }],
  }),
  documents: Type.Optional(FieldChanges),
  report: Type.Optional(Report),
  createdBy: Type.String({ description: 'The _id of the account or service key.' }),
  createdAt: Type.String({ format: 'date-time' }),
}
const Change = Type.Object(
  {
    version: Type.Integer({ description: 'The version that comes into force with it.' }),
    state: Type.Enum(['waiting', 'changing', 'changed', 'failed', 'undoing', 'settling'], {
      description:
        'Whether documents are compared, being changed, or have been and the definition is about to come into force; whether one of them has stopped it, or it is taken back; or whether it is in force, and what was written until then is looked through.',
    }),
    documents: Type.Integer({ description: 'How many documents there were when it began.' }),
    done: Type.Integer({ description: 'How many of them it has done.' }),
    reason: Type.Optional(Type.String({ description: 'Why it has failed: the document, and its fault.' })),
  },
  { title: 'DocumentsChange' },
)
const Version = Type.Object(VERSION, { title: 'DefinitionVersion' })

const Definition = Type.Object(
  {
    name: Type.String({ examples: ['books'] }),
    source: Type.Enum(['configuration', 'stored', 'none'], {
      description:
        'Where it is defined: in the configuration, where alone it can be changed, by this route, or nowhere: then the policy decides.',
    }),
    file: Type.Optional(Type.String({ description: 'The file of the configuration that defines it.' })),
    definition: VERSION.definition,
    version: Type.Optional(Type.Integer({ description: 'The version in force, if it is stored.' })),
    newest: Type.Optional(Version),
    change: Type.Optional(Change),
    fault: Type.Optional(
      Type.String({
        description: 'Why it cannot be read, so that only administrators use the collection.',
      }),
    ),
    report: Type.Optional(Report),
  },
  { title: 'CollectionDefinition' },
)

const Definitions = Type.Object({ data: Type.Array(Definition) }, { title: 'CollectionDefinitions' })

const OneCollection = Type.Object({ name: CollectionName })

/** `/store/collections/:name` */
export function definitionEndpoints(context: DefinitionContext) {
  return {
    get: endpoint(
      {
        summary: 'Get the definition of a collection',
        access: 'operator',
        readsOnly: true,
        params: OneCollection,
        reply: { 200: Definition },
      },
      async ({ params: { name } }) => answerNow(context, name),
    ),
    put: endpoint(
      {
        summary: 'Define a collection',
        description:
          'Its rules, schema, unique fields, relations, files and search, as `store.collections` of the configuration has them, without a restart. It is in force on all servers within a second after the answer, once the documents that are there fit the schema and its indexes are built; if that takes longer than 10 seconds, 202, and GET tells how far it is. With `documents`, fields of the documents that are there are renamed, dropped or set before. A collection of the configuration cannot be changed here.',
        access: 'operator',
        // It may open every document to everybody.
        proof: 'recent',
        params: OneCollection,
        query: Type.Object({
          dryRun: Type.Boolean({
            default: false,
            description: 'Whether only the report of what would happen is answered.',
          }),
        }),
        headers: IfMatch,
        body: json(DefinitionBody),
        reply: { 200: Definition, 202: Definition },
        errors: [errors.conflict, errors.precondition_failed, storeErrors.definition_refused],
      },
      ({ params: { name }, query, headers, body: { documents, ...body }, actor, signal }) => {
        const wanted = {
          name,
          definition: body as CollectionDeclaration,
          documents,
          ifMatch: headers['if-match'],
          at: '/body',
        }
        return query.dryRun ? dryRun(context, wanted, signal) : change(context, wanted, actor)
      },
    ),
    putAll: endpoint(
      {
        summary: 'Define several collections',
        description:
          'Together or not at all, in any order: their relations may lead to each other. Otherwise as the definition of one collection, but without changes of documents.',
        access: 'operator',
        proof: 'recent',
        body: json(DefinitionsBody),
        reply: { 200: Definitions, 202: Definitions },
        errors: [errors.conflict, errors.precondition_failed, storeErrors.definition_refused],
      },
      ({ body: { definitions }, actor }) => changeAll(context, definitions, actor),
    ),
    remove: endpoint(
      {
        summary: 'Remove the definition of a collection',
        description:
          'Its documents stay; the policy alone decides who may use them. While a version is not in force yet, that one is taken back, with what it has changed in documents; send `If-Match` with the ETag of GET, so that one that has come into force meanwhile stays.',
        access: 'operator',
        proof: 'recent',
        params: OneCollection,
        headers: IfMatch,
        reply: { 200: Definition, 202: Definition },
        errors: [
          errors.not_found,
          errors.conflict,
          errors.precondition_failed,
          storeErrors.definition_refused,
        ],
      },
      async ({ params: { name }, headers, actor }) => {
        const { active, newest } = await readNow(context, name)
        if (newest?.state === 'pending') {
          const { row, underWay } = await takeBack(context, newest, { actor, ifMatch: headers['if-match'] })
          if (underWay?.state === 'failed') throw stopped(underWay)
          await context.stored.refresh()
          return answerNow(context, name, row.state === 'pending' ? 202 : 200)
        }
        if (!isConfigured(context, name) && !definitionOf(active))
          throw errors.not_found({ message: `The collection ${name} has no stored definition.` })
        return change(context, { name, definition: null, ifMatch: headers['if-match'], at: '/body' }, actor)
      },
    ),
    versions: endpoint(
      {
        summary: 'List the versions of a definition',
        description: 'The newest first. To go back to one, define the collection by it again.',
        access: 'operator',
        readsOnly: true,
        params: OneCollection,
        query: Type.Object({
          limit: Type.Integer({ minimum: 1, maximum: VERSIONS_MAX, default: 20 }),
          before: Type.Optional(Type.Integer({ description: 'A version: those before it are listed.' })),
        }),
        reply: { 200: Type.Object({ data: Type.Array(Version) }, { title: 'DefinitionVersions' }) },
      },
      async ({ params: { name }, query: { limit, before = Number.MAX_SAFE_INTEGER } }) => ({
        data: (await context.db.all(selectVersionsSql(name, before, limit))).map(shownVersion),
      }),
    ),
  }
}

function shownVersion(row: VersionRow) {
  const report = reportIn(row)
  return {
    version: row.version,
    state: row.state,
    definition: definitionIn(row),
    ...(row.documents !== null && { documents: [...fieldChangesIn(row)] }),
    ...(report && { report }),
    createdBy: row.created_by,
    createdAt: isoTime(row.created_at),
  }
}

const shownChange = ({ version, state, documents, done, reason }: ChangeRow) => ({
  version,
  state,
  documents,
  done,
  ...(reason !== null && { reason }),
})

/** A document does not let itself be changed. */
const stopped = ({ reason, documents, done }: ChangeRow) =>
  storeErrors.definition_refused({
    message: `The documents could not all be changed: ${(reason ?? '').replace(/\.$/, '')}. Correct this one and send the same again, or DELETE to take the change back.`,
    details: { reason, documents, done },
  })

async function answerNow(context: DefinitionContext, name: string, status: 200 | 202 = 200) {
  const definition = await shownNow(context, name)
  const { version } = definition
  return answer(definition, {
    status,
    ...(version !== undefined && { headers: { etag: etagOf(version) } }),
  })
}

/** The definition of a collection as it is in force, and what waits. */
async function shownNow(context: DefinitionContext, name: string): Promise<Static<typeof Definition>> {
  const { configured, configFile } = context
  const underWay = await readChange(context, name)
  const change = underWay && { change: shownChange(underWay) }
  const option = isConfigured(context, name) ? configured.options.collections[name] : undefined
  if (option !== undefined) {
    const { hooks: _, ...definition } = declarationOf(option, name)
    return { name, source: 'configuration', file: configFile, definition, ...change }
  }
  const { active, newest } = await readNow(context, name)
  const definition = definitionOf(active)
  const fault = context.stored.faultOf(name)
  return {
    name,
    source: definition ? 'stored' : 'none',
    definition,
    ...(active && { version: active.version }),
    ...(newest && newest.state !== 'active' && { newest: shownVersion(newest) }),
    ...change,
    ...(fault !== undefined && { fault }),
  }
}

/** What would become of the documents that are there. */
async function dryRun(context: DefinitionContext, wanted: DefinitionChange, signal: AbortSignal) {
  const next = await readNext(context, [wanted])
  const { db, collections } = context
  const { name, documents } = wanted
  const report = await checkDocuments(db, next.declared.get(name)!, () => signal.throwIfAborted(), documents)
  const duplicates = await checkUnique(db, name, { now: collections.set, next }, signal)
  const { active } = await readNow(context, name)
  return answer(
    {
      name,
      source: definitionOf(active) ? ('stored' as const) : ('none' as const),
      definition: definitionOf(active),
      ...(active && { version: active.version }),
      report: { ...report, ...(duplicates.length > 0 && { duplicates }) },
    },
    { status: 200 },
  )
}

async function change(context: DefinitionContext, wanted: DefinitionChange, actor: Actor) {
  const [{ row, underWay }] = (await defineCollections(context, [wanted], actor)) as [Decided]
  if (underWay?.state === 'failed') throw stopped(underWay)
  if (row.state === 'refused') throw refusalOf([row])
  return answerNow(context, wanted.name, row.state === 'pending' || underWay ? 202 : 200)
}

async function changeAll(
  context: DefinitionContext,
  definitions: Static<typeof DefinitionsBody>['definitions'],
  actor: Actor,
) {
  const changes = definitions.map(({ name, definition, version }, i) => ({
    name,
    definition: definition as CollectionDeclaration,
    ifMatch: version === undefined ? undefined : etagOf(version),
    at: `/body/definitions/${i}/definition`,
  }))
  const again = changes.findIndex(({ name }, i) => changes.findIndex((one) => one.name === name) < i)
  if (again !== -1)
    throw invalid({ path: `/body/definitions/${again}/name`, message: 'is in the list already' })
  const rows = (await defineCollections(context, changes, actor)).map(({ row }) => row)
  if (rows.some(({ state }) => state === 'refused')) throw refusalOf(rows)
  const data = []
  for (const { name } of changes) data.push(await shownNow(context, name))
  return answer({ data }, { status: rows.some(({ state }) => state === 'pending') ? 202 : 200 })
}

/** The refusal of versions, by the one that is at fault. */
function refusalOf(rows: readonly VersionRow[]): ApiError {
  const refused = rows.map((row) => ({ ...reportIn(row), collection: row.collection }))
  const { collection, ...report } = refused.find(({ causedBy }) => causedBy === undefined) ?? refused[0]!
  const [of, details] = rows.length > 1 ? [` of ${collection}`, { collection }] : ['', {}]
  return storeErrors.definition_refused({
    message: `The definition${of} is refused: ${report.reason}.`,
    details: { ...details, ...report },
  })
}
