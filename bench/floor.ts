// The floor: the least that a Node process can do for the requests that the bench sends.
// It trusts every byte: no accounts, no validation, no other routes, JSON and files as they came.
import { createReadStream, createWriteStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { text } from 'node:stream/consumers'

import { newId } from '../server/src/base/ids.ts'

/** All documents, newest first; by `n`; those with `n` in a range, by `n`; those that are active below a price. */
export type ListKind = 'all' | 'sorted' | 'range' | 'scan'

/** A document as JSON text. */
export type StoredDocument = { id: string; body: string }
export type Page = { bodies: string[]; total: number }

/** What both engines of the floor offer. */
export type Documents = {
  create(documents: StoredDocument[]): Promise<unknown>
  get(id: string): string | undefined | Promise<string | undefined>
  list(kind: ListKind, values: number[], limit: number): Page | Promise<Page>
}

/** What of the floor's documents can be filtered: nothing, by JSONB beside the text, or by an index of `n` as well. */
export type Fields = 'none' | 'jsonb' | 'indexed'

const { PORT = '3000', DATABASE_URL = '', DATA_DIR = '.', FLOOR_FIELDS = 'none' } = process.env
const fields = FLOOR_FIELDS as Fields
const documents: Documents = DATABASE_URL.startsWith('postgres')
  ? await (await import('./floor-postgres.ts')).openDocuments(DATABASE_URL, fields)
  : (await import('./floor-sqlite.ts')).openDocuments(DATABASE_URL.slice('sqlite:'.length), fields)
let files = 0
const followers = new Set<ServerResponse>()

function send(response: ServerResponse, status: number, body: string): void {
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
  }
  response.writeHead(status, headers).end(body)
}

async function create(raw: string): Promise<string> {
  const isArray = raw.startsWith('[')
  const bodies = isArray ? (JSON.parse(raw) as object[]).map((one) => JSON.stringify(one)) : [raw]
  const at = new Date().toISOString()
  const created = bodies.map((body): StoredDocument => {
    const id = newId()
    return { id, body: `{"_id":"${id}","createdAt":"${at}","updatedAt":"${at}",${body.slice(1)}` }
  })
  await documents.create(created)
  for (const { body } of followers.size > 0 ? created : []) tell(body)
  return isArray ? `{"data":[${created.map(({ body }) => body).join()}]}` : created[0]!.body
}

/** Server-sent events: every document that is created, to all who follow. */
function follow(response: ServerResponse): void {
  followers.add(response)
  response.on('close', () => followers.delete(response))
  response.writeHead(200, { 'content-type': 'text/event-stream', connection: 'close' })
  response.write('event: ready\ndata: {}\nid: 0\n\n')
}

function tell(body: string): void {
  const event = `event: put\ndata: ${body}\nid: 0\n\n`
  for (const response of followers) response.write(event)
}

type Filter = { n?: { $gte: number; $lt: number }; price?: { $lt: number } }

async function list(query: URLSearchParams): Promise<string> {
  const limit = Number(query.get('limit') ?? 20)
  const { n, price } = JSON.parse(query.get('filter') ?? '{}') as Filter
  const kind = n ? 'range' : price ? 'scan' : query.has('sort') ? 'sorted' : 'all'
  const values = [n?.$gte, n?.$lt, price?.$lt].filter((value) => value !== undefined)
  const { bodies, total } = await documents.list(kind, values, limit)
  return `{"data":[${bodies.join()}],"total":${total},"limit":${limit},"offset":0}`
}

async function get(url: string, response: ServerResponse): Promise<void> {
  const [path = '', query] = url.split('?')
  const [, , collection, id = ''] = path.split('/')
  if (collection === 'changes') return follow(response)
  if (collection === 'files') return download(id, response)
  if (collection !== 'items') return send(response, 200, '{"ready":true}')
  const body = query === undefined ? await documents.get(id) : await list(new URLSearchParams(query))
  send(response, body === undefined ? 404 : 200, body ?? '{}')
}

async function post(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.url === '/store/upload') return upload(request, response)
  send(response, 201, await create(await text(request)))
}

async function upload(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const id = String(++files)
  await pipeline(request, createWriteStream(join(DATA_DIR, id), { flush: true }))
  send(response, 201, `{"_id":"${id}"}`)
}

async function download(id: string, response: ServerResponse): Promise<void> {
  const file = join(DATA_DIR, id)
  const { size } = await stat(file)
  response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': size })
  await pipeline(createReadStream(file), response)
}

const server = createServer((request, response) => {
  const work = request.method === 'POST' ? post(request, response) : get(request.url!, response)
  work.catch((error: unknown) => {
    console.error(error)
    response.destroy() // a failed request of the load
  })
})
server.requestTimeout = 0 // a long upload is no fault
process.on('SIGTERM', () => process.exit(0))
server.listen(Number(PORT), '127.0.0.1')
