import { errors, type ApiError } from '../../../../../base/errors.ts'
import { requireRow, type Database, type Transaction } from '../../../../../db/database.ts'
import { sql, type Sql } from '../../../../../db/sql.ts'
import { lockTable } from '../../../../../db/tables.ts'
import { COMMAND_LINE, type Actor } from '../../../../../http/actor.ts'
import type { Audit } from '../../../../../kernel/audit/audit.ts'
import { CHANGES } from '../../storage/changes-channel.ts'
import type { Index } from '../../storage/entries/index-definition.ts'
import { selectSetSql, setOf } from '../../storage/sql/index-rows.ts'
import {
  referredConflict,
  relationIndex,
  type DeletionContext,
} from '../../writes/relations/relation-deletion.ts'
import type { IncomingRelation } from '../../definition/incoming-relations.ts'
import { deleteCollectionSql, documentsSql } from '../../storage/sql/document-rows.ts'
import { deleteOrphansSql } from '../../storage/sql/entry-rows.ts'
import { deleteOrphanWordsSql } from '../../storage/sql/search-rows.ts'
import { hasNoEntries } from '../../storage/sql/referrers.ts'

export type DropContext = Pick<DeletionContext, 'incoming' | 'indexesOf'> & { audit: Audit }

const DROP_LIMIT_MS = 10 * 60_000

/**
 * Deletes all documents of a collection, with their index entries and counts, in one transaction. The indexes stay. Hooks do not
 * run, and files stay.
 *
 * @param db refuses writes during a restore
 * @param expected how many documents it has
 * @param entry of the audit log, written with it
 * @throws CONFLICT with the number of documents if it is another one, or if documents of other collections refer to some;
 *   UNAVAILABLE while an index of the collection is built
 */
export async function dropDocuments(
  db: Database,
  context: DropContext,
  collection: string,
  expected: number,
  actor: Actor = COMMAND_LINE,
): Promise<void> {
  const incoming = (context.incoming.get(collection) ?? []).filter(({ from }) => from.name !== collection)
  const relations: [IncomingRelation, Index][] = []
  for (const relation of incoming) relations.push([relation, await relationIndex(context, relation)])
  const entrySql = context.audit.entrySql(actor, {
    action: 'collection.dropped',
    target: `collection:${collection}`,
    before: { documents: expected },
  })
  await db.transaction((tx) => drop(tx, collection, { expected, relations, entrySql }), {
    // Each statement sees what others have committed before: see below.
    isolation: 'read committed',
    limitMs: DROP_LIMIT_MS,
  })
  db.notify(CHANGES)
}

async function drop(
  tx: Transaction,
  collection: string,
  {
    expected,
    relations,
    entrySql,
  }: { expected: number; relations: readonly [IncomingRelation, Index][]; entrySql: Sql },
): Promise<void> {
  // Until the end no index is added and no build is finished, which wait for writers.
  await lockTable(tx, 'store_documents', 'row exclusive')
  const { indexes, searches } = setOf(collection, await tx.all(selectSetSql(collection)))
  if ([...indexes, ...searches].some(({ state }) => state === 'building')) throw building(collection)
  const { documents } = (await tx.get(documentsSql(collection)))!
  if (documents !== expected) throw otherNumber(collection, documents)
  // What others insert from now on stays, as if it had come after the end.
  const [counted] = await tx.write(deleteCollectionSql(tx.dialect, collection))
  // SQLite has one writer, so the number of before is that of now.
  if (tx.dialect === 'postgres' && counted!.deleted !== expected)
    throw otherNumber(collection, counted!.deleted)
  // Behind the deletion: who adds a reference has locked its document until the commit, or finds it gone.
  for (const [relation, index] of relations)
    await tx.write(
      requireRow(sql`select 1 as free where ${hasNoEntries(index)}`, () =>
        referredConflict(relation, `documents of ${collection}`),
      ),
    )
  for (const index of indexes) await tx.write(deleteOrphansSql(index))
  for (const index of searches) await tx.write(deleteOrphanWordsSql(index))
  await tx.write(entrySql)
}

const otherNumber = (collection: string, documents: number): ApiError =>
  errors.conflict({
    message: `${collection} has ${documents} documents: send this number as documents to delete all of them.`,
    details: { documents },
  })

const building = (collection: string): ApiError =>
  errors.unavailable({
    message: `An index of ${collection} is being built: try again when it is ready.`,
    retryAfter: 5,
  })
