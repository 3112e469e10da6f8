import { isoTime } from '../../../../base/clock.ts'
import { errors } from '../../../../base/errors.ts'
import { Type } from '../../../../base/schema.ts'
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
import {
  defineCollection,
  definitionOf,
  isConfigured,
  readNext,
  readNow,
  readChange,
  takeBack,
  type DefinitionChange,
  type DefinitionContext,
} from './define-collection.ts'
import { DefinitionBody } from './definition-body.ts'
import { FieldChanges } from './field-changes.ts'
import { definitionIn, fieldChangesIn } from './stored-definitions.ts'
import { reportIn, selectVersionsSql, type VersionRow } from './version-rows.ts'

const VERSIONS_MAX = 100

const Issues = Type.Array(Type.Object({ path: Type.String(), message: Type.String() }))
const Report = Type.Object(
  {
    reason: Type.Optional(Type.String({ description: 'Why it was refused.' })),
    documents: Type.Optional(Type.Integer({ description: 'How many documents were looked at.' })),
    unfit: Type.Optional(Type.Integer({ description: 'How many of them do not fit the schema.' })),
    examples: Type.Optional(
      Type.Array(Type.Object({ _id: Type.String(), issues: Issues }), {
        description: 'The first ten of those, with their first faults.',
      }),
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
        const wanted = { name, definition: body as CollectionDeclaration, documents }
        return query.dryRun
          ? dryRun(context, wanted, signal)
          : change(context, { ...wanted, ifMatch: headers['if-match'], actor })
      },
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
          const { row, underWay } = await takeBack(context, newest, actor)
          if (underWay?.state === 'failed') throw stopped(underWay)
          await context.stored.refresh()
          return answerNow(context, name, row.state === 'pending' ? 202 : 200)
        }
        if (!isConfigured(context, name) && !definitionOf(active))
          throw errors.not_found({ message: `The collection ${name} has no stored definition.` })
        return change(context, { name, definition: null, ifMatch: headers['if-match'], actor })
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
    message: `The documents could not all be changed: ${reason}. Correct this one and send the same again, or DELETE to take the change back.`,
    details: { reason, documents, done },
  })

async function answerNow(context: DefinitionContext, name: string, status: 200 | 202 = 200) {
  const { configured, configFile } = context
  const option = isConfigured(context, name) ? configured.options.collections[name] : undefined
  if (option !== undefined) {
    const { hooks: _, ...definition } = declarationOf(option, name)
    return answer({ name, source: 'configuration' as const, file: configFile, definition }, { status })
  }
  const underWay = await readChange(context, name)
  const { active, newest } = await readNow(context, name)
  const definition = definitionOf(active)
  const fault = context.stored.faultOf(name)
  return answer(
    {
      name,
      source: definition ? ('stored' as const) : ('none' as const),
      definition,
      ...(active && { version: active.version }),
      ...(newest && newest.state !== 'active' && { newest: shownVersion(newest) }),
      ...(underWay && { change: shownChange(underWay) }),
      ...(fault !== undefined && { fault }),
    },
    { status, ...(active && { headers: { etag: etagOf(active.version) } }) },
  )
}

/** What would become of the documents that are there. */
async function dryRun(
  context: DefinitionContext,
  { name, definition, documents = [] }: Pick<DefinitionChange, 'name' | 'definition' | 'documents'>,
  signal: AbortSignal,
) {
  const next = await readNext(context, name, definition, documents)
  const report = await checkDocuments(
    context.db,
    next.declared.get(name)!,
    () => signal.throwIfAborted(),
    documents,
  )
  const { active } = await readNow(context, name)
  return answer(
    {
      name,
      source: definitionOf(active) ? ('stored' as const) : ('none' as const),
      definition: definitionOf(active),
      ...(active && { version: active.version }),
      report,
    },
    { status: 200 },
  )
}

async function change(context: DefinitionContext, change: DefinitionChange) {
  const { row, underWay } = await defineCollection(context, change)
  if (underWay?.state === 'failed') throw stopped(underWay)
  if (row.state === 'pending' || underWay) return answerNow(context, change.name, 202)
  if (row.state !== 'refused') return answerNow(context, change.name)
  const report = reportIn(row) ?? {}
  throw storeErrors.definition_refused({
    message: `The definition is refused: ${report.reason}.`,
    details: { ...report },
  })
}
