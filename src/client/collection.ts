import type { ClientCall, CallOptions } from './call.ts'

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
  $not?: Operators<V> | { $regex: string; $options?: string }
}

/** A MongoDB query filter. A dotted path may compare with anything. */
export type Filter<T> = { [K in keyof Stored<T>]?: Operand<Stored<T>[K]> | Operators<Stored<T>[K]> } & {
  [path: `${string}.${string}`]: unknown
} & { $and?: readonly Filter<T>[]; $or?: readonly Filter<T>[]; $nor?: readonly Filter<T>[] }

type Path<T> = (keyof Stored<T> & string) | `${string}.${string}`

export type DocumentListQuery<T> = {
  filter?: Filter<T>
  /** Fields, each with an optional minus for descending order; or as in MongoDB: `{ year: -1, title: 1 }`. */
  sort?: readonly (Path<T> | `-${Path<T>}`)[] | { readonly [K in Path<T>]?: 1 | -1 }
  /** Fields to answer. `_id` is always answered. */
  fields?: readonly Path<T>[]
  /** At most 1000; default 20. */
  limit?: number
  offset?: number
  cursor?: string
}

/** A document of which `fields` chose a part: only `_id` is certain. */
export type Chosen<T> = { _id: string } & Partial<Stored<T>>

type AllFields<Q> = Omit<Q, 'fields'> & { fields?: undefined }

export type DocumentPage<T> = { data: T[]; total: number; limit: number; offset: number; nextCursor?: string }

type PatchOf<V> = V extends readonly unknown[] ? V : V extends object ? Patch<V> : V

/** A JSON Merge Patch (RFC 7396): null removes a field, at any depth. */
export type Patch<T> = { [K in keyof T]?: PatchOf<T[K]> | null }

/** The documents of a collection, each of the type `T`. The server does not check that they are. */
export type Collection<T extends object> = {
  /** Reads one page; with `fields` any other field than `_id` may be absent. */
  list(query?: AllFields<DocumentListQuery<T>>, options?: CallOptions): Promise<DocumentPage<Stored<T>>>
  list(query: DocumentListQuery<T>, options?: CallOptions): Promise<DocumentPage<Chosen<T>>>
  /**
   * Reads page after page, by cursors, until there is none.
   *
   * @example for await (const { data } of books.pages({ sort: ['year'] })) for (const book of data) show(book)
   */
  pages(
    query?: AllFields<Omit<DocumentListQuery<T>, 'cursor'>>,
    options?: CallOptions,
  ): AsyncGenerator<DocumentPage<Stored<T>>, void>
  pages(
    query: Omit<DocumentListQuery<T>, 'cursor'>,
    options?: CallOptions,
  ): AsyncGenerator<DocumentPage<Chosen<T>>, void>
  get(id: string, options?: CallOptions): Promise<Stored<T>>
  create(document: T, options?: CallOptions): Promise<Stored<T>>
  /** Creates up to 1000 documents, all or none. */
  create(documents: readonly T[], options?: CallOptions): Promise<Stored<T>[]>
  /** Sets the given top-level fields and keeps the others. */
  update(id: string, changes: Partial<T>, options?: CallOptions): Promise<Stored<T>>
  patch(id: string, patch: Patch<T>, options?: CallOptions): Promise<Stored<T>>
  remove(id: string, options?: CallOptions): Promise<void>
}

const isFields = (sort: unknown): sort is readonly string[] => Array.isArray(sort)

export function createCollection<T extends object>(call: ClientCall, collection: string): Collection<T> {
  const all = 'GET /store/:collection'
  const params = { collection }
  const one = (id: string) => ({ params: { collection, id } })

  const list = ({ sort, fields, ...query }: DocumentListQuery<T> = {}, options?: CallOptions) =>
    call(all, {
      ...options,
      params,
      // None is the same as no list.
      query: {
        ...query,
        sort: (isFields(sort) ? sort.join() : sort) || undefined,
        fields: fields?.join() || undefined,
      },
    }) as Promise<DocumentPage<Stored<T>>>

  async function create(sent: T | readonly T[], options?: CallOptions): Promise<Stored<T> | Stored<T>[]> {
    const made = await call('POST /store/:collection', { ...options, params, body: sent })
    return Array.isArray(sent) ? (made as { data: Stored<T>[] }).data : (made as Stored<T>)
  }

  async function* pages(query?: Omit<DocumentListQuery<T>, 'cursor'>, options?: CallOptions) {
    let page = await list(query, options)
    yield page
    while (page.nextCursor !== undefined) {
      const { offset: _, ...others } = query ?? {}
      page = await list({ ...others, cursor: page.nextCursor }, options)
      yield page
    }
  }

  return {
    list,
    pages,
    get: (id, options) =>
      call('GET /store/:collection/:id', { ...options, ...one(id) }) as Promise<Stored<T>>,
    create: create as Collection<T>['create'],
    update: (id, body, options) =>
      call('PUT /store/:collection/:id', { ...options, ...one(id), body }) as Promise<Stored<T>>,
    patch: (id, body, options) =>
      call('PATCH /store/:collection/:id', { ...options, ...one(id), body }) as Promise<Stored<T>>,
    async remove(id, options) {
      await call('DELETE /store/:collection/:id', { ...options, ...one(id) })
    },
  }
}
