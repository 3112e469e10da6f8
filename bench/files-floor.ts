// The least that a Node process does for the same requests: pipes an upload to a file, flushed to the disk before the
// answer, and pipes it back. It stores the body as it came, reads no field of it, and checks nobody. Prints its port.
import { createReadStream, createWriteStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'

const [folder = ''] = process.argv.slice(2)
let count = 0

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method === 'POST') {
    const id = String(++count)
    await pipeline(request, createWriteStream(join(folder, id), { flush: true }))
    response.writeHead(201, { 'content-type': 'application/json' }).end(JSON.stringify({ _id: id }))
    return
  }
  const id = /^\/store\/files\/(\d+)\/content$/.exec(request.url!)![1]!
  const file = join(folder, id)
  const { size } = await stat(file)
  response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': size })
  await pipeline(createReadStream(file), response)
}

const server = createServer((request, response) => {
  answer(request, response).catch((error: unknown) => {
    console.error(error)
    response.destroy()
  })
})
// As Sixwire's: a long upload is no fault.
server.requestTimeout = 0
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port))
