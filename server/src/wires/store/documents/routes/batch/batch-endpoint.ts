import type { Static } from 'typebox'

import { errors } from '../../../../../base/errors.ts'
import { idsWithin } from '../../../../../base/ids.ts'
import type { Database, Step } from '../../../../../db/database.ts'
import { json } from '../../../../../http/bodies.ts'
import { answer, endpoint, jsonText, type MakeRoom } from '../../../../../http/route.ts'
import type { WireContext } from '../../../../../kernel/wire/wire.ts'
import { storeErrors } from '../../../errors.ts'
import type { CollectionDefinition } from '../../definition/collection.ts'
import type { Collections } from '../../definition/collections.ts'
import type { Viewer } from '../../definition/viewer.ts'
import { documentIdOf } from '../../language/document-id.ts'
import { idIn, joinObjects, writtenAgain } from '../../language/document-json.ts'
import { versionsOf } from '../../language/etag.ts'
import { isOperatorPatch } from '../../language/operators/operators.ts'
import type { OwnedDocument } from '../../storage/sql/document-rows.ts'
import { writeBatch, type BatchedWrite } from '../../writes/batch.ts'
import { changeDocument } from '../../writes/change-document.ts'
import { createDocument } from '../../writes/create-document.ts'
import { removeDocument } from '../../writes/remove-document.ts'
import { patchBy, replaceBy, updateBy } from '../../writes/request-body.ts'
import { shownAfterWrite, shownAgain } from '../../writes/shown-documents.ts'
import { isTakenBy, maySendIds, upsertDocument } from '../../writes/upsert-document.ts'
import type { WriteContext } from '../../writes/write-context.ts'
import { runPatches } from '../costly-patches.ts'
import { BatchBody, BatchResults, checkOperations, type BatchOperation } from './batch-request.ts'

const CHANGES = { update: updateBy, replace: replaceBy, patch: patchBy }

/** Several writes in one transaction. */
export const batchEndpoint = ({
  db,
  idempotency,
  collections,
  writing,
}: Pick<WireContext, 'idempotency'> & {
  db: Database
  collections: Collections
  writing: WriteContext
}) =>
  endpoint(
    {
      summary: 'Create, change and delete several documents',
      description:
        'Up to 100 operations on any collections, in one transaction: all are done, or nothing. Each is done as by its single call, with rules, schema, unique fields, relations and hooks, and finds what those before it have done. If one is refused, the answer is its error, with the index of the operation in error.details.operation.',
      access: 'user',
      idempotent: true,
      replayed: (body, { caller }) => replayed({ collections, writing }, body, collections.viewer(caller)),
      body: json(BatchBody),
      reply: { 200: BatchResults },
      errors: [
        errors.not_found,
        errors.conflict,
        errors.precondition_failed,
        errors.payload_too_large,
        storeErrors.quota_exceeded,
        errors.unavailable,
      ],
    },
    async (call) => {
      const { body, caller, recordId, claimedKey, makeRoom } = call
      checkOperations(body.operations)
      const recordIds = idsWithin(recordId, body.operations.length)
      const operations = body.operations.map((one, i) =>
        operationOf(one, recordIds[i]!, `/body/operations/${i}`, makeRoom),
      )
      const textOf = (results: readonly string[]): string => `{"results":[${results.join(',')}]}`
      const lastSteps = (all: readonly string[]): Step[] =>
        claimedKey ? [idempotency.finishSql(claimedKey, { status: 200, headers: {}, body: textOf(all) })] : []
      const bodies = body.operations.map(({ document = {} }) => document)
      const results = await runPatches(writing, call, bodies, () =>
        writeBatch(writing, caller, operations, db.dialect, lastSteps),
      )
      return answer<Static<typeof BatchResults>>(jsonText(textOf(results)), {})
    },
  )

/** An operation that answers its result as JSON. */
function operationOf(
  sent: BatchOperation,
  recordId: string,
  path: string,
  makeRoom: MakeRoom,
): BatchedWrite<string> {
  const { op, collection: name, id, by, document: fields = {} } = sent
  const expected = versionsOf(sent.ifMatch)
  const target = by === undefined ? { id: id! } : { by }
  const written = async (
    collection: CollectionDefinition,
    viewer: Viewer,
    document: OwnedDocument,
    status = 200,
  ): Promise<string> => {
    const shown = shownAfterWrite(collection, await viewer.subjectFor(collection), document)
    return resultOf({ status, collection: name, _id: idIn(document.body), etag: shown.etag }, shown.body)
  }
  return {
    collection: name,
    id: id ?? (op === 'create' ? recordId : undefined),
    path,
    isRetried: (error) => op === 'upsert' && isTakenBy(target, error),
    async run(context, collection, viewer) {
      switch (op) {
        case 'create': {
          const isKept = maySendIds(collection, viewer.caller) && fields['_id'] !== undefined
          const newId = { recordId, sent: isKept ? documentIdOf(fields['_id'], '/body/_id') : undefined }
          const document = await createDocument(context, collection, viewer, newId, fields)
          return written(collection, viewer, document, 201)
        }
        case 'upsert': {
          const apply = (isOperatorPatch(fields) ? patchBy : updateBy)(fields)
          const upsert = { apply, recordId, creates: true, makeRoom }
          const { document, isNew } = await upsertDocument(context, collection, viewer, target, upsert)
          return written(collection, viewer, document, isNew ? 201 : 200)
        }
        case 'delete':
          await removeDocument(context, collection, viewer, id!, expected)
          return resultOf({ status: 200, collection: name, _id: id! })
        case 'update':
        case 'replace':
        case 'patch': {
          const change = { apply: CHANGES[op](fields), expected, makeRoom }
          return written(collection, viewer, await changeDocument(context, collection, viewer, id!, change))
        }
      }
    },
  }
}

type Result = Static<typeof BatchResults>['results'][number]

/** A result as JSON. */
const resultOf = (result: Omit<Result, 'document'>, document?: string): string =>
  document === undefined
    ? JSON.stringify(result)
    : joinObjects(JSON.stringify(result), `{"document":${document}}`)

/** The answer to a batch as somebody may see it now. */
async function replayed(
  { collections, writing }: { collections: Collections; writing: WriteContext },
  text: string,
  viewer: Viewer,
): Promise<string> {
  const { results } = JSON.parse(text) as Static<typeof BatchResults>
  const shown = results.map(async ({ document, ...result }) => {
    if (!document) return resultOf(result)
    const collection = collections.get(result.collection)
    const now = await writing.documents.find(result.collection, result._id)
    // Of a document that is gone the owner is known only if it was created.
    const owner = result.status === 201 ? viewer.owner : ''
    const answered = { body: writtenAgain(document), owner }
    return resultOf(result, shownAgain(collection, await viewer.subjectFor(collection), answered, now))
  })
  return `{"results":[${(await Promise.all(shown)).join(',')}]}`
}
