import { ApiError, invalid, type Issue } from '../../../../base/errors.ts'
import { createPause } from '../../../../base/pause.ts'
import type { Step } from '../../../../db/database.ts'
import type { Dialect } from '../../../../db/sql.ts'
import type { Caller } from '../../../../http/access.ts'
import { isExceeded, type Quota } from '../../quota.ts'
import type { CollectionDefinition } from '../definition/collection.ts'
import type { Viewer } from '../definition/viewer.ts'
import type { DocumentKey } from '../storage/sql/document-rows.ts'
import { StagedDocuments } from '../storage/staged/staged-documents.ts'
import { isReferred } from './relations/relation-deletion.ts'
import { tooManyUpdates, UPDATE_TRIES, type WriteContext } from './write-context.ts'

/** One operation of a batch. */
export type BatchedWrite<R> = {
  readonly collection: string
  /** The document that it is known to write. */
  readonly id: string | undefined
  /** Where it is in the request. */
  readonly path: string
  /** Does it: by the functions of single writes, which get documents as the operations before have left them. */
  run(context: WriteContext, collection: CollectionDefinition, viewer: Viewer): Promise<R>
  /** Whether all is decided again after an error that another caller's write may be the reason of. */
  isRetried(error: unknown): boolean
}

/**
 * Does several operations in one transaction, all or none, each as a single write does: rules, schema, unique fields, relations,
 * and hooks. All are decided first, with no transaction open; if what was decided on has changed meanwhile, again.
 *
 * @param lastSteps makes steps behind all writes from what the operations answer
 * @throws what the first operation throws that is refused, with its index in the message and in `details.operation`
 */
export async function writeBatch<R>(
  context: WriteContext,
  caller: Caller | undefined,
  operations: readonly BatchedWrite<R>[],
  dialect: Dialect,
  lastSteps: (results: readonly R[]) => readonly Step[],
): Promise<R[]> {
  const keys = keysOf(operations)
  return oneAtATime(context, operations, async () => {
    for (let attempt = 0; attempt < UPDATE_TRIES; attempt++) {
      const staged = new StagedDocuments(context.documents, dialect)
      await staged.readAhead(keys)
      const results = await decide(context, staged, caller, operations)
      if (await commit(context, staged, caller, operations, lastSteps(results))) return results
    }
    throw tooManyUpdates(keys[0]?.id ?? '')
  })
}

/** Concurrent batches of the same documents would make each other start again. */
function oneAtATime<T>(
  { mutex, collections }: WriteContext,
  operations: readonly BatchedWrite<unknown>[],
  work: () => Promise<T>,
): Promise<T> {
  // A hook may change a document itself, and would wait for its own end.
  const hasHooks = operations.some(
    ({ collection }) => Object.keys(collections.get(collection).hooks).length > 0,
  )
  if (hasHooks) return work()
  const names = keysOf(operations).map(({ collection, id }) => `${collection}/${id}`)
  // In one order, so that two batches never wait for each other in a circle.
  return [...new Set(names)]
    .toSorted()
    .reduceRight<() => Promise<T>>((next, name) => () => mutex.run(name, next), work)()
}

/** The documents that operations are known to write. */
const keysOf = (operations: readonly BatchedWrite<unknown>[]): DocumentKey[] =>
  operations.flatMap(({ collection, id }) => (id === undefined ? [] : [{ collection, id }]))

async function decide<R>(
  context: WriteContext,
  staged: StagedDocuments,
  caller: Caller | undefined,
  operations: readonly BatchedWrite<R>[],
): Promise<R[]> {
  const { collections } = context
  const own: WriteContext = {
    ...context,
    documents: staged.documents,
    deletions: { ...context.deletions, documents: staged.documents },
    quota: { ...context.quota, run: withoutQuota },
    mutex: { run: (_, task) => task() },
  }
  const results: R[] = []
  let viewer = collections.viewer(caller)
  const pause = createPause()
  for (const [i, one] of operations.entries()) {
    // Of documents that are known nothing is waited for.
    await pause()
    staged.begin(i)
    try {
      results.push(await one.run(own, collections.get(one.collection), viewer))
    } catch (error) {
      throw atOperation(error, i, one)
    }
    if ([...staged.collections()].some((name) => collections.isSource(name)))
      viewer = collections.viewerWith(caller, (...of) => staged.matching(...of))
  }
  return results
}

// It is asked for all operations together.
const withoutQuota: Quota['run'] = (_caller, _growth, write) => write([])

/** @returns false if something has changed since it was decided on */
async function commit<R>(
  { quota }: WriteContext,
  staged: StagedDocuments,
  caller: Caller | undefined,
  operations: readonly BatchedWrite<R>[],
  last: readonly Step[],
): Promise<boolean> {
  try {
    return await quota.run(caller, staged.growth, (first) => staged.commit({ first, last }))
  } catch (error) {
    if (isReferred(error)) return false
    const at = isExceeded(error) ? exceedingIn(staged, caller, error) : staged.operationOf(error)
    if (at === undefined) throw error
    if (operations[at]!.isRetried(error)) return false
    throw atOperation(error, at, operations[at]!)
  }
}

/** The operation for which there is no room beside those before it. */
function exceedingIn({ growth }: StagedDocuments, caller: Caller | undefined, error: ApiError): number {
  const left = Number(error.details?.['left'] ?? 0)
  const counted = growth.filter(({ owner }) => caller?.kind !== 'user' || owner === caller.id)
  let bytes = 0
  return (counted.find((one) => (bytes += one.bytes) > left) ?? growth.at(-1)!).operation
}

/** The error of a single write, as one of an operation. */
function atOperation(error: unknown, operation: number, { path }: BatchedWrite<unknown>): unknown {
  if (!(error instanceof ApiError)) return error
  const { code, status, retryAfter, headers, cause } = error
  const sent = error.details?.['issues'] as readonly Issue[] | undefined
  const issues = sent?.map((one) => ({
    ...one,
    path: one.path.replace(/^\/body/, `${path}/document`).replace(/^\/query/, path),
  }))
  const message = issues ? invalid(...issues).message : error.message
  return new ApiError(code, status, '', {
    message: `Operation ${operation}: ${message}`,
    details: { ...error.details, ...(issues && { issues }), operation },
    ...(retryAfter !== undefined && { retryAfter }),
    ...(headers && { headers }),
    cause,
  })
}
