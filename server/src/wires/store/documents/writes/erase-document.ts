import type { Database } from '../../../../db/database.ts'
import { sql } from '../../../../db/sql.ts'
import type { CollectionDefinition } from '../definition/collection.ts'
import type { IncomingRelation } from '../definition/incoming-relations.ts'
import { systemViewer } from '../definition/viewer.ts'
import { deletionOf, replacementOf, type DocumentToChange } from '../storage/documents.ts'
import { selectReferrersSql } from '../storage/sql/referrers.ts'
import { relationIndex, unset } from './relations/relation-deletion.ts'
import { tooManyUpdates, UPDATE_TRIES, type WriteContext } from './write-context.ts'

/** Documents that are looked up together; so many of them are deleted at once, which engines commit together. */
const PART = 128
const AT_ONCE = 16

/**
 * Deletes the documents of an account whose person has a right to it. No hook and no relation holds one back: documents of others lose
 * their reference where a deletion would be refused, one by one, however many they are. Hooks after a deletion run.
 */
export async function eraseDocuments(
  context: WriteContext,
  db: Database,
  owner: string,
  stopping: AbortSignal,
): Promise<void> {
  // What others change at the same moment stays, and is looked up again.
  for (let first = '', tries = 0; tries < UPDATE_TRIES;) {
    const rows = await db.all(sql<{ collection: string; id: string }>`
      select collection, id from store_documents where owner = ${owner} order by collection, id limit ${PART}`)
    if (rows.length === 0) return
    for (let at = 0; at < rows.length; at += AT_ONCE) {
      stopping.throwIfAborted()
      const part = rows.slice(at, at + AT_ONCE)
      await Promise.all(
        part.map(({ collection, id }) => eraseDocument(context, db, collection, id, new Set())),
      )
    }
    const key = `${rows[0]!.collection}/${rows[0]!.id}`
    tries = key === first ? tries + 1 : 0
    first = key
  }
  throw tooManyUpdates(owner)
}

/** @param visited the documents whose deletion led to this one */
async function eraseDocument(
  context: WriteContext,
  db: Database,
  collection: string,
  id: string,
  visited: ReadonlySet<string>,
): Promise<void> {
  const key = `${collection}/${id}`
  if (visited.has(key)) return
  const definition = context.collections.get(collection)
  for (const relation of context.deletions.incoming.get(collection) ?? [])
    await releaseReferrers(context, db, relation, id, new Set([...visited, key]))
  const old = await context.documents.find(collection, id)
  if (!old) return
  const after = afterSteps(context, definition, { action: 'delete', id, before: old.body })
  await context.documents.writeAll([deletionOf({ collection, id, old })], { last: after })
}

/** Deletes what goes with a document, and takes the reference out of all else that refers to it. */
async function releaseReferrers(
  context: WriteContext,
  db: Database,
  relation: IncomingRelation,
  target: string,
  visited: ReadonlySet<string>,
): Promise<void> {
  const index = await relationIndex(context.deletions, relation)
  const { from, onDelete } = relation
  for (;;) {
    const found = await db.all(selectReferrersSql(index, [target], PART))
    const ids = found.map((row) => row.id).filter((id) => !visited.has(`${from.name}/${id}`))
    if (ids.length === 0) return
    for (const id of ids) {
      if (onDelete === 'cascade') await eraseDocument(context, db, from.name, id, visited)
      else await removeReference(context, relation, target, id)
    }
  }
}

async function removeReference(
  context: WriteContext,
  relation: IncomingRelation,
  target: string,
  id: string,
): Promise<void> {
  const { from } = relation
  const old = await context.documents.find(from.name, id)
  if (!old) return
  const document: DocumentToChange = { collection: from.name, id, old }
  const body = unset(old.body, relation, [target], context.deletions.now())
  const after = afterSteps(context, from, { action: 'update', id, before: old.body, after: body })
  await context.documents.writeAll([replacementOf(document, body)], { last: after })
}

const afterSteps = (
  { hooks }: WriteContext,
  of: CollectionDefinition,
  event: Parameters<WriteContext['hooks']['afterSteps']>[2][number],
) => hooks.afterSteps(of, systemViewer(), [event])
