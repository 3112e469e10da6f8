import type { Raw } from './changes/connection.ts'
import type { Pages } from './changes/index.ts'
import type { CallOptions } from './route-types.ts'
import type { ChangeHandlers, ErrorHandler } from './handlers.ts'
import type { documentForm } from './upload.ts'
import { begin, live, type Live, type LoadChanges, type ClientWatch } from './watch.ts'

type ServiceFields = { _id: string; createdAt: string; updatedAt: string }

/** A document as it is answered. */
export type Stored<T> = T & ServiceFields

type Element<V> = V extends readonly (infer E)[] ? E : never

/** What a field is compared with. A condition on an array may be met by one of its elements. */
type Operand<V> = V | Element<V> | null
type Operators<V> = {
  $eq?: Operand<V>
  $ne?: Operand<V>
  $gt?: Operand<V>
  $gte?: Operand<V>
  $lt?: Operand<V>
  $lte?: Operand<V>
  $in?: readonly Operand<V>[]
  $nin?: readonly Operand<V>[]
  $exists?: boolean
  $type?: string | number | readonly (string | number)[]
  $regex?: string
  $options?: string
  $all?: readonly unknown[]
  $elemMatch?: object
  $size?: number
  $mod?: readonly [divisor: number, remainder: number]
  $bitsAllSet?: Bits
  $bitsAllClear?: Bits
  $bitsAnySet?: Bits
  $bitsAnyClear?: Bits
  $not?: Operators<V> | { $regex: string; $options?: string }
}

/** A mask, or the positions of bits: the lowest is 0. */
type Bits = number | readonly number[]

type Comparison = '$eq' | '$ne' | '$gt' | '$gte' | '$lt' | '$lte'
/** A comparison of a field, such as `'$spent'`, with another one or with a value. */
type Expression = { [O in Comparison]?: readonly [left: unknown, right: unknown] }

/** A MongoDB query filter. A dotted path may compare with anything. */
export type Filter<T> = { [K in keyof Stored<T>]?: Operand<Stored<T>[K]> | Operators<Stored<T>[K]> } & {
  [path: `${string}.${string}`]: unknown
} & {
  $and?: readonly Filter<T>[]
  $or?: readonly Filter<T>[]
  $nor?: readonly Filter<T>[]
  $expr?: Expression
}

type Path<T> = (keyof Stored<T> & string) | `${string}.${string}`
type SortField<T> = Path<T> | `-${Path<T>}`

export type DocumentListQuery<T> = {
  filter?: Filter<T> | undefined
  /** Words, `"phrases"`, `-word`, `word*`, in the fields that the collection searches. Without `sort` the best are first. */
  search?: string | undefined
  /** A field or several, each with an optional minus for descending order; or as in MongoDB: `{ year: -1, title: 1 }`. */
  sort?: SortField<T> | readonly SortField<T>[] | { readonly [K in Path<T>]?: 1 | -1 } | undefined
  /** Fields to answer. `_id` is always answered. */
  fields?: readonly Path<T>[] | undefined
  /** Documents of a page: at most 1000; default 20. */
  limit?: number | undefined
  offset?: number | undefined
  cursor?: string | undefined
}

/** What to watch; `fields` as a list takes it. */
export type WatchQuery<T> = Pick<DocumentListQuery<T>, 'filter' | 'fields'>

/** Without a limit a live list has all documents that the filter finds. */
export type LiveQuery<T> = Pick<DocumentListQuery<T>, 'filter' | 'fields' | 'sort' | 'limit'>

/** A document of which `fields` chose a part: only `_id` is certain. */
export type Chosen<T> = { _id: string } & Partial<Stored<T>>

type AllFields<Q> = Omit<Q, 'fields'> & { fields?: undefined }
type Walk<T> = Omit<DocumentListQuery<T>, 'cursor'>

export type DocumentPage<T> = { data: T[]; total: number; limit: number; offset: number; nextCursor?: string }

type Slot = 'hour' | 'day' | 'week' | 'month'
type Grouping<T> = Path<T> | `${Path<T>}:${Slot}`

export type AggregateQuery<T> = Pick<DocumentListQuery<T>, 'filter' | 'search'> & {
  /** Up to three fields whose values make the groups; times by `:hour`, `:day`, `:week` or `:month`. Without them: one group. */
  by?: readonly Grouping<T>[] | undefined
  /** An IANA name; default UTC. */
  timeZone?: string | undefined
  sum?: readonly Path<T>[] | undefined
  average?: readonly Path<T>[] | undefined
  min?: readonly Path<T>[] | undefined
  max?: readonly Path<T>[] | undefined
  /** The numbers of different values. */
  distinct?: readonly Path<T>[] | undefined
  /** Default: by the values of the groups. */
  sort?: 'by' | '-by' | 'count' | '-count' | undefined
  /** Groups: at most 1000; default 100. */
  limit?: number | undefined
}

type ValueAt<T, P> = P extends keyof Stored<T> ? NonNullable<Stored<T>[P]> | null : unknown
type ByOf<T, G extends string> = {
  [F in G as F extends `${infer P}:${Slot}` ? P : F]: F extends `${string}:${Slot}`
    ? string | null
    : ValueAt<T, F>
}
type Computed<Q, A, V> = { [N in A & keyof Q]: { [P in Element<Q[N]> & string]: V } }
type Extremes<T, Q> = { [N in ('min' | 'max') & keyof Q]: { [P in Element<Q[N]> & string]: ValueAt<T, P> } }

/** A group of documents: the values that they have in common, the beginning of a slot for times, and what was computed. */
export type DocumentGroup<T, Q extends AggregateQuery<T>> = {
  by: ByOf<T, Element<Q['by']> & string>
  count: number
} & Computed<Q, 'sum' | 'distinct', number> &
  Computed<Q, 'average', number | null> &
  Extremes<T, Q>

type PatchOf<V> = V extends readonly unknown[] ? V : V extends object ? Patch<V> : V

/** A JSON Merge Patch (RFC 7396): null removes a field, at any depth. */
export type Patch<T> = { [K in keyof T]?: PatchOf<T[K]> | null }

/** Operands by fields. A dotted path takes any. */
type Operands<T, V = unknown> = { [K in keyof T]?: V } & { [path: `${string}.${string}`]: unknown }
type ValuesOf<T> = Partial<T> & { [path: `${string}.${string}`]: unknown }
type OfType<T, V> = { [K in keyof T as NonNullable<T[K]> extends V ? K : never]: NonNullable<T[K]> }
type Numbers<T> = Operands<OfType<T, number>, number>
type Arrays<T> = OfType<T, readonly unknown[]>
type Added<T, Modifiers> = {
  [K in keyof Arrays<T>]?: Element<Arrays<T>[K]> | ({ $each: readonly Element<Arrays<T>[K]>[] } & Modifiers)
} & { [path: `${string}.${string}`]: unknown }
type Direction = 1 | -1

/** MongoDB's update operators: https://www.mongodb.com/docs/manual/reference/operator/update/ */
export type UpdateOperators<T> = {
  $set?: ValuesOf<T>
  /** Sets only in a document that the update creates. */
  $setOnInsert?: ValuesOf<T>
  $unset?: Operands<T>
  $inc?: Numbers<T>
  $mul?: Numbers<T>
  $min?: ValuesOf<T>
  $max?: ValuesOf<T>
  /** Sets the time, as text in ISO 8601. */
  $currentDate?: Operands<T, true | { $type: 'date' }>
  $push?: Added<T, { $position?: number; $slice?: number; $sort?: Direction | { [path: string]: Direction } }>
  $addToSet?: Added<T, unknown>
  /** Removes the last element, or with -1 the first. */
  $pop?: Operands<Arrays<T>, Direction>
  /** Removes elements that are equal to a value, or match a filter. */
  $pull?: Operands<Arrays<T>>
  $pullAll?: Operands<Arrays<T>, readonly unknown[]>
  /** New names by old ones. */
  $rename?: Operands<T, string>
}

/** An `_id`, or the fields that are unique in the collection, alone or together. */
export type UpsertTarget<T> = string | { by: Path<T> | readonly Path<T>[] }

/** What a change takes beside it. */
export type ChangeOptions<T> = CallOptions & {
  /**
   * Fails with 412 `PRECONDITION_FAILED` if the document has changed since it was read: a document that the client returned,
   * or an ETag. One of a list, and a copy, is read again and compared: leave it as it was.
   */
  ifMatch?: Stored<T> | string | undefined
}

/** The documents of a collection, each of the type `T`, with files in these fields. The server does not check that they are. */
export type Collection<T extends object, FileField extends string = string> = {
  /** Reads one page; with `fields` any other field than `_id` may be absent. */
  list(query?: AllFields<DocumentListQuery<T>>, options?: CallOptions): Promise<DocumentPage<Stored<T>>>
  list(query: DocumentListQuery<T>, options?: CallOptions): Promise<DocumentPage<Chosen<T>>>
  /**
   * Reads page after page, by cursors, until there is none.
   *
   * @example for await (const { data } of books.pages({ sort: 'year' })) show(data)
   */
  pages(query?: AllFields<Walk<T>>, options?: CallOptions): AsyncGenerator<DocumentPage<Stored<T>>, void>
  pages(query: Walk<T>, options?: CallOptions): AsyncGenerator<DocumentPage<Chosen<T>>, void>
  /**
   * Reads all documents that the filter finds, in pages of `limit`, default 100.
   *
   * @example for await (const book of books.all({ filter: { year: { $lt: 1980 } } })) show(book)
   */
  all(query?: AllFields<Walk<T>>, options?: CallOptions): AsyncGenerator<Stored<T>, void>
  all(query: Walk<T>, options?: CallOptions): AsyncGenerator<Chosen<T>, void>
  /**
   * Groups the documents that the filter finds, counts each group, and computes with their values.
   *
   * @example
   * const { data } = await orders.aggregate({ by: ['createdAt:month'], sum: ['price'], timeZone: 'Europe/Berlin' })
   */
  aggregate<const Q extends AggregateQuery<T>>(
    query: Q,
    options?: CallOptions,
  ): Promise<{ data: DocumentGroup<T, Q>[]; more: boolean }>
  get(id: string, options?: CallOptions): Promise<Stored<T>>
  /**
   * Creates a document with up to 100 files by one call, all or nothing. The fields that name files get their `_id`s.
   *
   * @example await products.create({ name: 'Lamp' }, { files: { photo: file, manuals: input.files } })
   */
  create<F extends FileField>(
    document: Omit<DocumentToCreate<T>, F>,
    options: CreateOptions & { files: DocumentFiles<F> },
  ): Promise<Stored<T>>
  /** An `_id` is kept from service keys, and in collections with `ids: 'client'`; a taken one is 409 `CONFLICT`. */
  create(document: DocumentToCreate<T>, options?: CreateOptions): Promise<Stored<T>>
  /** Creates up to 1000 documents, all or none. */
  create(documents: readonly DocumentToCreate<T>[], options?: CreateOptions): Promise<Stored<T>[]>
  /** Sets the given top-level fields and keeps the others. */
  update(id: string, changes: Partial<T>, options?: ChangeOptions<T>): Promise<Stored<T>>
  /**
   * Likewise, or creates the document if there is none with this id, for those who may send an `_id`; or with the values that it has
   * in fields that are unique. Operators are applied, as by `patch`; to no fields if the document is created.
   *
   * @example await customers.upsert({ by: 'email' }, { email: 'ann@example.com', name: 'Ann' })
   * @example await customers.upsert({ by: 'email' }, { $setOnInsert: { email: 'ann@example.com' }, $inc: { visits: 1 } })
   */
  upsert(target: UpsertTarget<T>, document: T | UpdateOperators<T>, options?: CallOptions): Promise<Stored<T>>
  /** Merges what is given, at any depth, or applies update operators: each is atomic. */
  patch(id: string, patch: Patch<T> | UpdateOperators<T>, options?: ChangeOptions<T>): Promise<Stored<T>>
  remove(id: string, options?: ChangeOptions<T>): Promise<void>
  /**
   * Calls the handlers with each change, after any loss of the connection too, until it is closed.
   *
   * @example
   * const watch = books.watch({ filter: { year: 1973 } }, { put: show, gone: hide, reset: list, ready: list })
   */
  watch(query: AllFields<WatchQuery<T>>, handlers: ChangeHandlers<Stored<T>>): ClientWatch
  watch(query: WatchQuery<T>, handlers: ChangeHandlers<Chosen<T>>): ClientWatch
  /**
   * Keeps a list as it changes, until it is closed.
   *
   * @example
   * const newest = books.live({ sort: '-year', limit: 10 })
   * newest.subscribe((documents) => show(documents))
   */
  live(query?: AllFields<LiveQuery<T>>, handlers?: ErrorHandler): Live<Stored<T>>
  live(query: LiveQuery<T>, handlers?: ErrorHandler): Live<Chosen<T>>
}

/** A document to be created. `object` may have any field. */
export type DocumentToCreate<T> = object extends T ? T : T & { _id?: string }
type CreateOptions = CallOptions & { idempotencyKey?: string | undefined }
/** Files by the names of their fields: one, or several, such as a `FileList`. */
type DocumentFiles<F extends string = string> = { readonly [K in F]: Blob | Iterable<Blob> | undefined }
type LoadUpload = () => Promise<{ documentForm: typeof documentForm }>

const ONE = '/store/:collection/:id'
const ALL = '/store/:collection'
const PAGE_OF_ALL = 100

// Neither is in the document. Only the documents themselves keep their ETags in memory.
export const etags = new WeakMap<object, string>()
const FIRST_VERSION = '"1"'
// An ETag that no document has, so that the server refuses the change.
const NO_VERSION = '"0"'

async function readDocument<T>(response: Response): Promise<Stored<T>> {
  const document = (await response.json()) as Stored<T>
  etags.set(document, response.headers.get('etag') ?? NO_VERSION)
  return document
}

/** The ETag under which a document was read. */
export async function etagOf(
  raw: Raw,
  params: { collection: string; id: string },
  document: object | string,
  options: CallOptions,
): Promise<string> {
  if (typeof document === 'string') return document
  const known = etags.get(document)
  if (known !== undefined) return known
  const current = await readDocument<object>(await raw(`GET ${ONE}`, { ...options, params }))
  return JSON.stringify(current) === JSON.stringify(document) ? etags.get(current)! : NO_VERSION
}

export function createCollection<T extends object>(
  raw: Raw,
  loadChanges: LoadChanges,
  loadUpload: LoadUpload,
  collection: string,
): Collection<T> {
  const params = { collection }
  const one = (id: string) => ({ collection, id })

  async function list(
    { sort, fields, ...query }: DocumentListQuery<T> = {},
    options?: CallOptions,
  ): Promise<DocumentPage<Stored<T>>> {
    const joined = Array.isArray(sort) ? (sort as string[]).join() : sort
    const response = await raw(`GET ${ALL}`, {
      ...options,
      params,
      // None is the same as no list.
      query: { ...query, sort: joined || undefined, fields: fields?.join() || undefined },
    })
    return (await response.json()) as DocumentPage<Stored<T>>
  }

  async function* pages({ offset, ...query }: Walk<T> = {}, options?: CallOptions) {
    let page = await list({ ...query, offset }, options)
    yield page
    while (page.nextCursor !== undefined) {
      page = await list({ ...query, cursor: page.nextCursor }, options)
      yield page
    }
  }

  async function* all(query?: Walk<T>, options?: CallOptions) {
    for await (const { data } of pages({ limit: PAGE_OF_ALL, ...query }, options)) yield* data
  }

  async function create(
    sent: T | readonly T[],
    { files, ...options }: CreateOptions & { files?: DocumentFiles } = {},
  ): Promise<Stored<T> | Stored<T>[]> {
    const body = files ? (await loadUpload()).documentForm(sent, files) : sent
    const response = await raw(`POST ${ALL}`, { ...options, params, body })
    if (!Array.isArray(sent)) return readDocument<T>(response)
    const { data } = (await response.json()) as { data: Stored<T>[] }
    for (const document of data) etags.set(document, FIRST_VERSION)
    return data
  }

  async function aggregate(asked: object, options?: CallOptions) {
    const query: Record<string, unknown> = { ...asked }
    for (const name in query)
      if (Array.isArray(query[name])) query[name] = (query[name] as string[]).join() || undefined
    return (await raw(`GET ${ALL}/aggregate`, { ...options, params, query })).json()
  }

  const get = async (id: string, options?: CallOptions): Promise<Stored<T>> =>
    readDocument(await raw(`GET ${ONE}`, { ...options, params: one(id) }))

  async function change(
    method: string,
    id: string,
    body: unknown,
    options: ChangeOptions<T> & { query?: { upsert: true } } = {},
  ) {
    const { ifMatch, ...others } = options
    const headers = ifMatch && { 'if-match': await etagOf(raw, one(id), ifMatch, others) }
    return raw(`${method} ${ONE}`, {
      ...others,
      headers: { ...headers, ...others.headers },
      params: one(id),
      body,
    })
  }

  return {
    list,
    pages,
    all,
    aggregate: aggregate as Collection<T>['aggregate'],
    get,
    create: create as Collection<T>['create'],
    update: async (id, changes, options) => readDocument(await change('PUT', id, changes, options)),
    async upsert(target, body, options) {
      const method = Object.keys(body).some((name) => name.startsWith('$')) ? 'PATCH' : 'PUT'
      return readDocument(
        typeof target === 'string'
          ? await change(method, target, body, { ...options, query: { upsert: true } })
          : await raw(`${method} ${ALL}`, {
              ...options,
              params,
              query: { upsert: true, by: [target.by].flat().join() },
              body,
            }),
      )
    },
    patch: async (id, patch, options) => readDocument(await change('PATCH', id, patch, options)),
    async remove(id, options) {
      // A browser takes an answer that nobody reads for one that was cut off.
      await (await change('DELETE', id, undefined, options)).text()
    },
    watch: (query: WatchQuery<T>, handlers: ChangeHandlers<Stored<T>>) =>
      begin(loadChanges, (changes, signal) => changes.watch(collection, query, handlers, signal), handlers),
    live: (query?: LiveQuery<T>, handlers?: ErrorHandler) =>
      live<Stored<T>>(loadChanges, collection, pages as Pages, query, handlers),
  }
}
