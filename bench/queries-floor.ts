// The same lists written by hand in SQL, over a bare node:http server. Copies the documents of a Sixwire database into
// tables of its own, then prints its port. `documents` has the stored form of Sixwire, with indexes of expressions;
// `few` has fewer of them and no index but that of the ids, and `columns` has these in native columns.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

import type { ListName } from './query-documents.ts'

export type TableName = 'documents' | 'few' | 'columns'

export type Page = { data: string[]; total: number }

/** A list's condition, with `$1` for its first value, and its order. */
export type ByHand = { where: string; orderBy: string }

export type Lists = {
  list(table: TableName, name: ListName, values: (string | number)[]): Page | Promise<Page>
}

const [url = '', file = ''] = process.argv.slice(2)
const lists: Lists = url.startsWith('postgres')
  ? await (await import('./queries-postgres.ts')).openLists(url)
  : (await import('./queries-sqlite.ts')).openLists(url.slice('sqlite:'.length), file)

const server = createServer((request, response) => {
  void (async () => {
    const [path = '', query = ''] = request.url!.split('?')
    const [, table, name] = path.split('/') as [string, TableName, ListName]
    const values = JSON.parse(decodeURIComponent(query)) as (string | number)[]
    const { data, total } = await lists.list(table, name, values)
    const body = `{"data":[${data.join()}],"total":${total},"limit":20,"offset":0}`
    response.writeHead(200, {
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(body),
    })
    response.end(body)
  })().catch((error: unknown) => {
    console.error(error)
    response.writeHead(500).end('{}')
  })
})
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port))
