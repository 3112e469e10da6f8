import { ApiError, errors } from '../../../../../base/errors.ts'
import { requireRow, type Step } from '../../../../../db/database.ts'
import { sql } from '../../../../../db/sql.ts'
import type { CollectionDefinition } from '../../definition/collection.ts'
import { readDocument, writeDocument, type Fields } from '../../language/document-json.ts'
import {
  deletionOf,
  replacementOf,
  type DocumentToChange,
  type Documents,
  type PlannedChange,
} from '../../storage/documents.ts'
import type { Index, IndexSet } from '../../storage/entries/index-definition.ts'
import { hasNoReferrers, referenceKey } from '../../storage/sql/referrers.ts'
import {
  referenceIndexIn,
  type IncomingRelation,
  type IncomingRelations,
} from '../../definition/incoming-relations.ts'
import { withoutReferences } from '../../definition/relation.ts'

/** The most documents that one deletion changes, and what they may have together: all of them are read. */
const CHANGED_MAX = 1000
const BYTES_MAX = 16_777_216

/** What deletions are planned with. */
export type DeletionContext = {
  readonly documents: Pick<Documents, 'findWithin' | 'idsWithKeys'>
  readonly indexesOf: (collection: string) => IndexSet | Promise<IndexSet>
  readonly incoming: IncomingRelations
  readonly now: () => string
}

/** A document that a deletion changes or deletes besides. */
export type SideEffect = DocumentToChange & {
  readonly of: CollectionDefinition
  /** Its new body; undefined: it is deleted. */
  readonly body: string | undefined
}

/** A deletion with all that follows from it. */
export type Deletion = {
  readonly writes: readonly PlannedChange[]
  /** Fail if a document refers to one that is deleted, behind the writes. */
  readonly checks: readonly Step[]
  readonly sideEffects: readonly SideEffect[]
}

const REFERRED = 'Another document has come to refer to one that is deleted.'

/** Whether it is thrown by the checks: another document refers to one that is deleted since the plan was made. */
export const isReferred = (error: unknown): boolean => error instanceof ApiError && error.message === REFERRED

/** What a deletion is answered that a relation refuses. */
export const referredConflict = ({ from, path }: IncomingRelation, of = 'it'): ApiError =>
  errors.conflict({
    message: `Other documents refer to ${of}: delete or change those of ${from.name} first.`,
    details: { collection: from.name, field: path.join('.') },
  })

/**
 * Plans the deletion of a document: what refers to it keeps it there (restrict), loses its field (unset), or is deleted as
 * well (cascade). This is done as the system, also to documents that the caller does not see.
 *
 * @throws CONFLICT if the document has to stay, or if more than 1000 documents, or 16 MiB of them, would change
 */
export async function planDeletion(context: DeletionContext, first: DocumentToChange): Promise<Deletion> {
  const { incoming } = context
  const deleted = new Map([[keyOf(first), first]])
  const sideEffects = new Map<string, SideEffect>()
  const restricting: { relation: IncomingRelation; ids: readonly string[] }[] = []
  const checks: Step[] = []
  let bytes = 0
  let level: readonly DocumentToChange[] = [first]
  while (level.length > 0) {
    const next: DocumentToChange[] = []
    for (const [collection, ids] of Map.groupBy(level, (one) => one.collection)) {
      const targets = ids.map(({ id }) => id)
      for (const relation of incoming.get(collection) ?? []) {
        const index = await relationIndex(context, relation)
        checks.push(
          requireRow(sql`select 1 as free where ${hasNoReferrers(index, targets)}`, () =>
            errors.conflict({ message: REFERRED }),
          ),
        )
        const ids = await referrersOf(context, relation, index, targets)
        if (relation.onDelete === 'restrict') {
          restricting.push({ relation, ids })
          continue
        }
        const referrers = await readAll(context, relation, ids)
        for (const { old } of referrers) bytes += Buffer.byteLength(old.body)
        if (bytes > BYTES_MAX) throw tooLarge(relation)
        for (const referrer of referrers) {
          const key = keyOf(referrer)
          if (deleted.has(key)) continue
          const isDeleted = relation.onDelete === 'cascade'
          const body = isDeleted
            ? undefined
            : unset(sideEffects.get(key)?.body ?? referrer.old.body, relation, targets, context.now())
          sideEffects.set(key, { ...referrer, of: relation.from, body })
          if (!isDeleted) continue
          deleted.set(key, referrer)
          next.push(referrer)
        }
        if (sideEffects.size > CHANGED_MAX) throw tooMany(relation)
      }
    }
    level = next
  }
  // What is deleted as well holds nothing back.
  for (const { relation, ids } of restricting)
    if (ids.some((id) => !deleted.has(keyOf({ collection: relation.from.name, id }))))
      throw referredConflict(relation)
  const effects = [...sideEffects.values()]
  return { writes: writesOf(first, effects), checks, sideEffects: effects }
}

/** In one order, because deletions of the same documents would wait for each other in a circle. */
const writesOf = (first: DocumentToChange, effects: readonly SideEffect[]): Deletion['writes'] =>
  [{ ...first, body: undefined }, ...effects]
    .toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1))
    .map((one) => (one.body === undefined ? deletionOf(one) : replacementOf(one, one.body)))

const keyOf = ({ collection, id }: Pick<DocumentToChange, 'collection' | 'id'>): string =>
  `${collection}/${id}`

/**
 * The index of a relation.
 *
 * @throws UNAVAILABLE if it was dropped
 */
export async function relationIndex(
  { indexesOf }: Pick<DeletionContext, 'indexesOf'>,
  { from, path }: IncomingRelation,
): Promise<Index> {
  const index = referenceIndexIn(await indexesOf(from.name), path)
  if (index) return index
  throw errors.unavailable({
    message: `The index of ${path.join('.')} in ${from.name} is not there: a server with another configuration has dropped it.`,
  })
}

async function referrersOf(
  { documents }: DeletionContext,
  relation: IncomingRelation,
  index: Index,
  targets: readonly string[],
): Promise<string[]> {
  const ids = await documents.idsWithKeys(index, targets.map(referenceKey), CHANGED_MAX + 1)
  if (ids.length > CHANGED_MAX)
    throw relation.onDelete === 'restrict' ? referredConflict(relation) : tooMany(relation)
  return ids
}

async function readAll(
  { documents }: DeletionContext,
  relation: IncomingRelation,
  ids: readonly string[],
): Promise<DocumentToChange[]> {
  if (ids.length === 0) return []
  const collection = relation.from.name
  const rows = await documents.findWithin(
    ids.map((id) => ({ collection, id })),
    { together: BYTES_MAX },
  )
  if (!rows) throw tooLarge(relation)
  return rows.map(({ id, ...old }) => ({ collection, id, old }))
}

const tooMany = ({ from }: IncomingRelation): ApiError =>
  errors.conflict({
    message: `More than ${CHANGED_MAX} documents of ${from.name} refer to it: delete or change them first, in parts.`,
    details: { collection: from.name },
  })

const tooLarge = ({ from }: IncomingRelation): ApiError =>
  errors.conflict({
    message: `The documents that refer to it, such as those of ${from.name}, have more than 16 MiB: delete or change them first, in parts.`,
    details: { collection: from.name },
  })

/** The body of a document without its references to some. */
export function unset(
  body: string,
  { path }: IncomingRelation,
  targets: readonly string[],
  updatedAt: string,
): string {
  const { service, fields } = readDocument(body)
  const left = withoutReferences(fields, path, new Set(targets)) as Fields
  return writeDocument({ ...service, updatedAt }, left)
}
