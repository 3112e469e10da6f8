import type { ErrorHandler } from '../handlers.ts'
import { isRefused, waitAfter } from './connection.ts'
import { orderOf, sortKeys, type ListSort } from './order.ts'
import { pause } from './pause.ts'
import { call } from './watches.ts'

type Document = { readonly _id: string }
type Documents = readonly Document[]

export type LiveListQuery = {
  filter?: object | undefined
  sort?: ListSort
  fields?: readonly string[] | undefined
  limit?: number | undefined
}
export type Pages = (
  query: LiveListQuery,
  options: { signal: AbortSignal },
) => AsyncIterable<{ data: Documents; total: number }>

export type Listener = (documents: Documents) => void

type Viewer = { readonly show: Listener; readonly fail: (error: Error) => void }

const PAGE_MAX = 1_000

/** The fields of a query, and those that it sorts by, unless one of the others is the same, or around or inside of it. */
export function fieldsOf({ fields = [], sort }: LiveListQuery): readonly string[] | undefined {
  if (fields.length === 0) return undefined
  const overlaps = (one: string, other: string) => `${one}.`.startsWith(`${other}.`)
  const missing = sortKeys(sort)
    .map(({ path }) => path)
    .filter((path) => !fields.some((field) => overlaps(path, field) || overlaps(field, path)))
  return [...fields, ...missing]
}

/**
 * A list that changes with its documents: it is read when its watch is ready, and again after a reset.
 *
 * What changes meanwhile is applied to what was read. If it is the older state of the two, the event of the newer one is
 * still to come.
 */
export class LiveList {
  readonly query: LiveListQuery
  readonly #viewers = new Set<Viewer>()
  readonly #ending = new AbortController()
  /** Never changed, only replaced; undefined until the list is read. */
  #documents: Documents | undefined
  readonly #limit: number
  readonly #pages: Pages
  readonly #order: (a: Document, b: Document) => number
  #reading = new AbortController()
  #byId = new Map<string, Document>()
  /** What has changed while the list is read; undefined if it is not. */
  #meanwhile: Map<string, Document | undefined> | undefined
  /** What has changed since the list was shown. */
  readonly #changed = new Set<string>()
  /** Whether there are documents beyond the limit, which are not known. */
  #hasMore = false

  constructor(query: LiveListQuery, pages: Pages) {
    this.query = { ...query, fields: fieldsOf(query) }
    this.#limit = query.limit ?? Infinity
    this.#pages = pages
    this.#order = orderOf(sortKeys(query.sort))
  }

  /** Aborts when the list has ended: with its last handlers, or by an error. */
  get end(): AbortSignal {
    return this.#ending.signal
  }

  /**
   * Calls the listeners with the list, and again whenever it has changed, until the signal ends it.
   *
   * @returns when it is read
   * @throws the error that ends it before; one that ends it later is given to the handlers
   */
  add(
    listeners: ReadonlySet<Listener>,
    handlers: ErrorHandler | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      let isShown = false
      const viewer = {
        show(documents: Documents) {
          isShown = true
          resolve()
          for (const listener of listeners) call(() => listener(documents))
        },
        fail: (error: Error) => (isShown ? handlers?.error?.(error) : reject(error)),
      }
      this.#viewers.add(viewer)
      if (this.#documents) viewer.show(this.#documents)
      signal.addEventListener('abort', () => {
        this.#viewers.delete(viewer)
        if (this.#viewers.size === 0) this.#close()
      })
    })
  }

  ready(): void {
    void this.#read()
  }

  reset(): void {
    void this.#read()
  }

  put(document: Document): void {
    this.#change(document._id, document)
  }

  gone(id: string): void {
    this.#change(id, undefined)
  }

  error(error: unknown): void {
    this.#close()
    for (const { fail } of this.#viewers) fail(error as Error)
  }

  #close(): void {
    this.#reading.abort()
    this.#ending.abort()
  }

  async #read(): Promise<void> {
    this.#reading.abort()
    const { signal } = (this.#reading = new AbortController())
    const meanwhile = (this.#meanwhile = new Map<string, Document | undefined>())
    for (let failures = 0; !signal.aborted; failures++)
      try {
        const [byId, total] = await this.#list(signal)
        if (signal.aborted) return
        this.#byId = byId
        this.#hasMore = byId.size >= this.#limit && total > byId.size
        for (const [id, document] of meanwhile) this.#apply(id, document)
        this.#meanwhile = undefined
        this.#documents ??= []
        return this.#show()
      } catch (error) {
        if (signal.aborted) return
        if (isRefused(error)) return this.error(error)
        await pause(waitAfter(failures), signal)
      }
  }

  async #list(signal: AbortSignal): Promise<[Map<string, Document>, total: number]> {
    const byId = new Map<string, Document>()
    let total = 0
    const query = { ...this.query, limit: Math.min(this.#limit, PAGE_MAX) }
    for await (const page of this.#pages(query, { signal })) {
      total = page.total
      for (const document of page.data) byId.set(document._id, document)
      if (byId.size >= this.#limit) break
    }
    return [byId, total]
  }

  #change(id: string, document: Document | undefined): void {
    this.#meanwhile?.set(id, document)
    // Changes that come together are shown together.
    if (this.#changed.size === 0) queueMicrotask(() => this.#show())
    this.#apply(id, document)
  }

  #apply(id: string, document: Document | undefined): void {
    this.#changed.add(id)
    if (document) this.#byId.set(id, document)
    else this.#byId.delete(id)
  }

  #show(): void {
    const changed = new Set(this.#changed)
    this.#changed.clear()
    if (!this.#documents) return
    const all = [...this.#byId.values()].toSorted(this.#order)
    const beyond = all.splice(this.#limit)
    for (const { _id } of beyond) this.#byId.delete(_id)
    this.#documents = all
    for (const { show } of this.#viewers) show(all)
    // A document that left, or is now the last one, may have left its place to one that is not known.
    const isOpen = all.length < this.#limit || (beyond.length === 0 && changed.has(all.at(-1)?._id ?? ''))
    if (this.#hasMore && isOpen && !this.#meanwhile) void this.#read()
    this.#hasMore ||= beyond.length > 0
  }
}
