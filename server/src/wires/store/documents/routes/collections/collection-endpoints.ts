import { errors } from '../../../../../base/errors.ts'
import { Type } from '../../../../../base/schema.ts'
import type { Database } from '../../../../../db/database.ts'
import { countedFor } from '../../../../../http/limits.ts'
import { endpoint } from '../../../../../http/route.ts'
import type { Audit } from '../../../../../kernel/audit/audit.ts'
import type { PolicyName } from '../../../../../kernel/policy/policy.ts'
import { dropDocuments } from './drop-collection.ts'
import type { DeletionContext } from '../../writes/relations/relation-deletion.ts'
import { CollectionName } from '../../language/collection-name.ts'
import { CollectionOverview, readOverview, type DeclaredCollections } from './collection-overview.ts'

const COLLECTIONS_MAX = 100

export function collectionEndpoints({
  db,
  audit,
  deletions,
  declaredNow,
  policy,
  scanLimitMs,
}: {
  /** Refuses writes during a restore. */
  db: Database
  audit: Audit
  deletions: DeletionContext
  declaredNow: () => DeclaredCollections
  policy: PolicyName
  /** How long bytes may be added up. */
  scanLimitMs: number
}) {
  return {
    list: endpoint(
      {
        summary: 'List collections',
        description:
          'The collections that are defined or that have documents, in the order of their names: their rules, how many documents they have, and their indexes.',
        access: 'operator',
        readsOnly: true,
        query: Type.Object({
          limit: Type.Integer({ minimum: 1, maximum: COLLECTIONS_MAX, default: COLLECTIONS_MAX }),
          cursor: Type.Optional(Type.String({ description: 'The nextCursor of the previous page.' })),
          sizes: Type.Boolean({
            default: false,
            description: 'Whether the bytes of the documents are added up, which reads all of them.',
          }),
        }),
        reply: {
          200: Type.Object(
            {
              data: Type.Array(CollectionOverview),
              nextCursor: Type.Optional(Type.String({ description: 'Absent on the last page.' })),
            },
            { title: 'CollectionPage' },
          ),
        },
      },
      ({ query: { limit, cursor, sizes }, caller, ip, signal }) =>
        readOverview(
          db,
          declaredNow(),
          policy,
          { limit, after: cursor, sizes },
          {
            caller: countedFor({ caller, ip }),
            limitMs: scanLimitMs,
            signal,
          },
        ),
    ),
    drop: endpoint(
      {
        summary: 'Delete all documents of a collection',
        description:
          'Deletes all of them at once, if there are exactly as many as the call says, and no document of another collection refers to one. Hooks do not run. The indexes and the files stay.',
        access: 'operator',
        proof: 'recent',
        params: Type.Object({ collection: CollectionName }),
        query: Type.Object({
          documents: Type.Integer({
            minimum: 0,
            description: 'How many documents the collection has: 409 with the number if it is another one.',
            examples: [3],
          }),
        }),
        reply: { 200: Type.Object({ message: Type.String() }, { title: 'Confirmation' }) },
        errors: [errors.conflict],
      },
      async ({ params: { collection }, query: { documents }, actor }) => {
        await dropDocuments(db, { ...deletions, audit }, collection, documents, actor)
        return { message: `The ${documents} documents of ${collection} are deleted.` }
      },
    ),
  }
}
