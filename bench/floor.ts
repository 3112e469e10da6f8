// The floor: the least that a Node process can do for the requests that the bench sends.
// It trusts every byte: no accounts, no validation, no other routes, JSON put together by hand.
import { createServer, type ServerResponse } from 'node:http'

import { newId } from '../src/base/ids.ts'

/** What both engines of the floor offer. Bodies are JSON text, in and out. */
export type Documents = {
  create(id: string, body: string): Promise<unknown>
  get(id: string): string | undefined | Promise<string | undefined>
  /** @param below only documents whose `n` is less */
  list(limit: number, offset: number, below: number | undefined): Page | Promise<Page>
}

export type Page = { bodies: string[]; total: number }

const { PORT = '3000', DATABASE_URL = '' } = process.env
const documents: Documents = DATABASE_URL.startsWith('postgres')
  ? await (await import('./floor-postgres.ts')).openDocuments(DATABASE_URL)
  : (await import('./floor-sqlite.ts')).openDocuments(DATABASE_URL.slice('sqlite:'.length))

function send(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
  })
  response.end(body)
}

async function create(raw: string): Promise<string> {
  const id = newId()
  const at = new Date().toISOString()
  const body = `{"_id":"${id}","createdAt":"${at}","updatedAt":"${at}",${raw.slice(1)}`
  await documents.create(id, body)
  return body
}

async function list(query: URLSearchParams): Promise<string> {
  const limit = Number(query.get('limit') ?? 20)
  const offset = Number(query.get('offset') ?? 0)
  const filter = query.get('filter')
  const below = filter === null ? undefined : (JSON.parse(filter) as { n: { $lt: number } }).n.$lt
  const { bodies, total } = await documents.list(limit, offset, below)
  return `{"data":[${bodies.join()}],"total":${total},"limit":${limit},"offset":${offset}}`
}

const collection = '/store/items'

async function read(url: string): Promise<string | undefined> {
  if (url.startsWith(`${collection}/`)) return documents.get(url.slice(collection.length + 1))
  if (url.startsWith(`${collection}?`)) return list(new URLSearchParams(url.slice(collection.length + 1)))
  return url === '/health' || url === '/ready' ? '{"ready":true}' : undefined
}

const server = createServer((request, response) => {
  const fail = (error: unknown) => send(response, 500, JSON.stringify(String(error)))
  if (request.method === 'POST') {
    let raw = ''
    request.setEncoding('utf8')
    request.on('data', (chunk: string) => (raw += chunk))
    request.on('end', () => void create(raw).then((body) => send(response, 201, body), fail))
  } else {
    void read(request.url!).then(
      (body) => (body === undefined ? send(response, 404, '{}') : send(response, 200, body)),
      fail,
    )
  }
})

process.on('SIGTERM', () => process.exit(0))
server.listen(Number(PORT), '127.0.0.1')
