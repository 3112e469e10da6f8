import { etagOf, etags } from './collection.ts'
import type { Raw } from './changes/connection.ts'
import type {
  ChangeOptions,
  DocumentToCreate,
  Patch,
  Stored,
  UpdateOperators,
  UpsertTarget,
} from './collection.ts'
import type { CallOptions, CollectionOf, DocumentOf } from './route-types.ts'

/** A write of a batch, which is done when the batch is sent. */
export type BatchWrite<Result> = {
  readonly operation: { readonly op: string; readonly collection: string; readonly id?: string }
  readonly ifMatch?: object | string | undefined
  /** What it comes to. */
  readonly result?: Result
}

/** What each write of a batch came to: the document, or undefined of one that was deleted. */
export type BatchResults<P extends readonly BatchWrite<unknown>[]> = {
  -readonly [K in keyof P]: P[K] extends BatchWrite<infer Result> ? Result : never
}

type Matching<T> = Pick<ChangeOptions<T>, 'ifMatch'>

/** Plans writes in a collection, as those of `six.collection`. */
export type BatchCollection<T extends object> = {
  create(document: DocumentToCreate<T>): BatchWrite<Stored<T>>
  update(id: string, changes: Partial<T>, options?: Matching<T>): BatchWrite<Stored<T>>
  upsert(target: UpsertTarget<T>, document: T | UpdateOperators<T>): BatchWrite<Stored<T>>
  patch(id: string, patch: Patch<T> | UpdateOperators<T>, options?: Matching<T>): BatchWrite<Stored<T>>
  remove(id: string, options?: Matching<T>): BatchWrite<undefined>
}

/** Plans the writes of a batch. */
export type Batch<Api> = {
  collection<Name extends CollectionOf<Api>>(name: Name): BatchCollection<DocumentOf<Api, Name>>
  collection<T extends object>(name: string): BatchCollection<T>
}

/** Plans writes without their types. */
export type PlanBatch = (batch: { collection: typeof planIn }) => readonly BatchWrite<unknown>[]

type Answer = { results: { etag?: string; document?: object }[] }

function planIn(collection: string): BatchCollection<object> {
  const plan = (op: string, parts: object, ifMatch?: object | string): BatchWrite<never> => ({
    operation: { op, collection, ...parts },
    ifMatch,
  })
  return {
    create: (document) => plan('create', { document }),
    update: (id, document, { ifMatch } = {}) => plan('update', { id, document }, ifMatch),
    upsert: (target, document) =>
      plan('upsert', {
        ...(typeof target === 'string' ? { id: target } : { by: [target.by].flat().join() }),
        document,
      }),
    patch: (id, document, { ifMatch } = {}) => plan('patch', { id, document }, ifMatch),
    remove: (id, { ifMatch } = {}) => plan('delete', { id }, ifMatch),
  }
}

/** Sends the writes of a plan. */
export async function sendBatch(
  raw: Raw,
  plan: PlanBatch,
  options: CallOptions & { idempotencyKey?: string | undefined } = {},
): Promise<unknown[]> {
  const { idempotencyKey: _, ...others } = options
  const operations = await Promise.all(
    plan({ collection: planIn }).map(async ({ operation, ifMatch }) =>
      ifMatch === undefined
        ? operation
        : {
            ...operation,
            ifMatch: await etagOf(raw, operation as { collection: string; id: string }, ifMatch, others),
          },
    ),
  )
  const response = await raw('POST /store/batch', { ...options, body: { operations } })
  const { results } = (await response.json()) as Answer
  return results.map(({ etag, document }) => {
    if (document && etag !== undefined) etags.set(document, etag)
    return document
  })
}
