// A server that speaks the protocol of changes, and breaks as a test tells it to.
import type { ServerResponse } from 'node:http'

import type { Ending } from '../../../server/src/testing/engines.ts'
import { json, startScriptedServer, type ScriptedRequest } from '../../../server/src/testing/scripted-http.ts'

export type Book = { _id: string; title?: string; price?: number; version: number }

type Watch = { collection: string; filter?: Partial<Book>; fields?: string }
type Entry = { collection: string; _id: string; was: Book | undefined }
type Stream = { response: ServerResponse; watches: Watch[]; at: number }

/** What a request is answered in place of what it asks for; `go on`: also that. */
export type Answer = (response: ServerResponse, asked: ScriptedRequest) => unknown

const matches = (filter: Partial<Book> | undefined, book: Book | undefined): boolean =>
  book !== undefined &&
  Object.entries(filter ?? {}).every(([name, value]) => book[name as keyof Book] === value)

export class FeedServer {
  url = ''
  /** Connections that were asked for, and their cursors. */
  readonly asked: { watches: Watch[]; cursor: string | undefined; token: string | undefined }[] = []
  readonly streams = new Set<Stream>()
  readonly books = new Map<string, Book>()
  /** Answers of the next requests for changes, if they are not the usual ones. */
  readonly answers: Answer[] = []
  /** Called when a list was read and is not yet sent. */
  onList: (() => void | Promise<void>) | undefined
  /** Whether it answers a list otherwise. */
  failList: ((response: ServerResponse) => boolean) | undefined
  lists = 0
  /** Sends every byte by itself. */
  isSplit = false
  readonly #log: Entry[] = []

  static async start(ending: Ending): Promise<FeedServer> {
    const server = new FeedServer()
    const { port } = await startScriptedServer(
      ending,
      (asked, response) => void server.#answer(asked, response),
    )
    server.url = `http://127.0.0.1:${port}`
    return server
  }

  put(_id: string, fields: Partial<Book> = {}): void {
    const was = this.books.get(_id)
    this.books.set(_id, { ...was, ...fields, _id, version: (was?.version ?? 0) + 1 })
    this.#change(_id, was)
  }

  remove(_id: string): void {
    const was = this.books.get(_id)
    this.books.delete(_id)
    this.#change(_id, was)
  }

  /** Sends an event, or any text, to all streams. */
  send(text: string): void {
    for (const { response } of this.streams) response.write(text)
  }

  event(event: string, data: object): void {
    this.send(`event: ${event}\nid: ${this.#log.length}\ndata: ${JSON.stringify(data)}\n\n`)
  }

  /** Ends all streams in the middle of an event. */
  cut(): void {
    for (const stream of this.streams) {
      this.streams.delete(stream)
      stream.response.write('event: put\nid: 99')
      stream.response.destroy()
    }
  }

  #change(_id: string, was: Book | undefined): void {
    this.#log.push({ collection: 'books', _id, was })
    for (const stream of this.streams) this.#catchUp(stream)
  }

  async #answer(asked: ScriptedRequest, response: ServerResponse): Promise<void> {
    // Pages of another origin may ask.
    response.setHeader('access-control-allow-origin', '*')
    response.setHeader('access-control-allow-headers', '*, authorization')
    if (asked.method === 'OPTIONS') return void response.end()
    if (asked.path !== '/store/changes') return this.#list(asked, response)
    const cursor = asked.headers['last-event-id'] as string | undefined
    const watches = JSON.parse(asked.query.get('watch')!) as Watch[]
    this.asked.push({ watches, cursor, token: asked.headers.authorization })
    const answer = this.answers.shift()
    if (answer && answer(response, asked) !== 'go on') return
    if (asked.headers.accept === 'application/json') return this.#poll(watches, cursor, response)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('retry: 5\n\n')
    response.socket!.setNoDelay(true)
    const stream = { response, watches, at: Number(cursor ?? this.#log.length) }
    this.streams.add(stream)
    response.on('close', () => this.streams.delete(stream))
    this.#write(stream, 'ready', {})
    this.#catchUp(stream)
  }

  async #list({ query, path }: ScriptedRequest, response: ServerResponse): Promise<void> {
    this.lists++
    if (this.failList?.(response)) return
    const filter = JSON.parse(query.get('filter') ?? '{}') as Partial<Book>
    const found = [...this.books.values()].filter((book) => matches(filter, book))
    const data = path === '/store/books' ? found.slice(0, Number(query.get('limit') ?? 20)) : []
    const text = JSON.stringify({ data, total: found.length, limit: data.length, offset: 0 })
    await this.onList?.()
    response.writeHead(200, { 'content-type': 'application/json' }).end(text)
  }

  #poll(watches: Watch[], cursor: string | undefined, response: ServerResponse): void {
    const at = Number(cursor ?? this.#log.length)
    const finish = () => {
      if (response.closed) return
      const found = this.#changesOf(watches, at)
      if (cursor === undefined || found.length > 0)
        json(response, 200, {
          changes: found.map(([event, data]) => ({ event, ...data })),
          cursor: String(this.#log.length),
        })
      else setTimeout(finish, 5)
    }
    finish()
  }

  #changesOf(watches: Watch[], from: number): [string, object][] {
    return this.#log.slice(from).flatMap(({ collection, _id, was }) =>
      watches.flatMap(({ collection: of, filter }, watch): [string, object][] => {
        if (of !== collection) return []
        const document = this.books.get(_id)
        const at = { watch, collection, _id }
        if (matches(filter, document)) return [['put', { ...at, etag: `"${document!.version}"`, document }]]
        return matches(filter, was) ? [['gone', at]] : []
      }),
    )
  }

  #catchUp(stream: Stream): void {
    const changes = this.#changesOf(stream.watches, stream.at)
    stream.at = this.#log.length
    for (const [event, data] of changes) this.#write(stream, event, data)
  }

  #write({ response, at }: Stream, event: string, data: object): void {
    const text = `event: ${event}\nid: ${at}\ndata: ${JSON.stringify(data)}\n\n`
    if (this.isSplit) for (const byte of Buffer.from(text)) response.write(Buffer.of(byte))
    else response.write(text)
  }
}
