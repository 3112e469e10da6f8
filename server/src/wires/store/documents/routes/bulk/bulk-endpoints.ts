import { errors } from '../../../../../base/errors.ts'
import { Type } from '../../../../../base/schema.ts'
import { json } from '../../../../../http/bodies.ts'
import { countedFor } from '../../../../../http/limits.ts'
import { endpoint } from '../../../../../http/route.ts'
import { requireProof } from '../../../../../kernel/policy/policy.ts'
import type { Collections } from '../../definition/collections.ts'
import { FieldSample, sampleFields } from './field-sample.ts'
import { InCollection } from '../request-schemas.ts'
import { changeMany, type BulkContext } from './bulk.ts'
import { BulkBody, BulkReport } from './bulk-request.ts'

const SAMPLE_MAX = 1000

/** What administrators do with the documents of a whole collection. */
export function bulkEndpoints(context: BulkContext & { collections: Collections; listLimitMs: number }) {
  const { collections, writing, list, listLimitMs } = context
  return {
    fields: endpoint(
      {
        summary: 'List the fields of a collection',
        description:
          'Reads the newest documents, for 2 seconds at most, and lists their fields with their types, down to four levels.',
        access: 'operator',
        readsOnly: true,
        params: InCollection,
        query: Type.Object({
          sample: Type.Integer({
            minimum: 1,
            maximum: SAMPLE_MAX,
            default: 200,
            description: 'How many documents are read at most.',
          }),
        }),
        timeLimitMs: listLimitMs,
        reply: {
          200: Type.Object(
            {
              documents: Type.Integer({ description: 'How many documents the collection has.' }),
              sample: Type.Integer({ description: 'How many were read.' }),
              fields: Type.Array(FieldSample),
            },
            { title: 'CollectionFields' },
          ),
        },
      },
      async ({ params: { collection }, query: { sample }, caller, ip, signal, makeRoom }) => ({
        documents: await writing.documents.count(collection),
        ...(await sampleFields(list, collection, sample, {
          options: { caller: countedFor({ caller, ip }), signal },
          makeRoom,
        })),
      }),
    ),
    bulk: endpoint(
      {
        summary: 'Change or delete many documents',
        description:
          'Of a filter or of ids. Call with dryRun first, then with the number that it answers as expected. Each document is written as by a single call: schema, unique fields, relations and hooks apply, and one that is refused stays. A call works for about 10 seconds, or on 10,000 documents; if some remain, call again with nextCursor as cursor and remaining as expected. To delete, a user must have proven within 10 minutes who it is.',
        access: 'operator',
        idempotent: true,
        params: InCollection,
        body: json(BulkBody),
        reply: { 200: BulkReport },
        errors: [errors.conflict, errors.recent_sign_in_required],
      },
      async ({ params: { collection }, body, caller, actor, ip, signal }) => {
        const isDeletion = body.action === 'delete' && body.dryRun !== true
        if (isDeletion && caller.kind === 'user') requireProof(caller)
        const options = { caller: countedFor({ caller, ip }), signal }
        return changeMany(
          context,
          collections.get(collection),
          collections.viewer(caller),
          body,
          actor,
          options,
        )
      },
    ),
  }
}
