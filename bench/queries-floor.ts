// The same lists written by hand in SQL, over a bare node:http server. Copies the documents of a Sixwire database into
// tables of its own, then prints its port.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

import { answerOf, makeTables, openLists } from './lists-by-hand.ts'

const [url = '', file = ''] = process.argv.slice(2)
await makeTables(url, file)
const lists = await openLists(url, file)

const server = createServer((request, response) => {
  void (async () => {
    const [path = '', query = ''] = request.url!.slice(1).split('?')
    const body = await answerOf(lists, path, query)
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
