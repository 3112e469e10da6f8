// A real S3 server of another author, and a proxy before it that fails as a test tells it to.
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  createServer,
  request as requestOf,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'

import { temporaryFolder, type Ending } from './engines.ts'

/** A server with an empty bucket. */
export type S3Server = { url: string; bucket: string; accessKeyId: string; secretAccessKey: string }

type S3rver = new (options: object) => {
  run(): Promise<AddressInfo>
  close(): Promise<void>
  httpServer: Server
}
/** It has no types. */
const S3RVER: string = 's3rver'

/**
 * Starts s3rver on a free port, with an empty bucket `shop`. It lacks AbortMultipartUpload and ListMultipartUploads (405,
 * 501), ignores If-Match, and answers what cannot be read to a range of an object without bytes.
 */
export async function startS3(ending: Ending): Promise<S3Server> {
  const { default: Server } = (await import(S3RVER)) as { default: S3rver }
  const folder = await temporaryFolder(ending)
  const server = new Server({
    address: '127.0.0.1',
    port: 0,
    silent: true,
    directory: folder,
    configureBuckets: [{ name: 'shop' }],
  })
  const { port } = await server.run()
  ending.after(async () => {
    server.httpServer.closeAllConnections()
    await server.close()
  })
  return {
    url: `http://127.0.0.1:${port}`,
    bucket: 'shop',
    accessKeyId: 'S3RVER',
    secretAccessKey: 'S3RVER',
  }
}

/** The server that `SIXWIRE_TEST_S3` names: `http://KEY:SECRET@127.0.0.1:9000/shop`, with an empty bucket. */
export function s3OfEnvironment(): S3Server | undefined {
  const text = process.env['SIXWIRE_TEST_S3']
  if (text === undefined) return undefined
  const { origin, pathname, username, password } = new URL(text)
  return {
    url: origin,
    bucket: pathname.slice(1),
    accessKeyId: decodeURIComponent(username),
    secretAccessKey: decodeURIComponent(password),
  }
}

/** A call as the proxy sees it: `UploadPart 2 of shop/uploads/abc`. */
export type S3Call = { name: string; key: string; uploadId: string; part: number; after: number }

/** What happens to calls. */
export type S3Fault = {
  /** Calls of this name. */
  name: string
  /** Of UploadPart only that of this part; of other calls only the one after so many of its name. */
  at?: number
  /** For how many calls, then no more. Default: all. */
  times?: number
  /** Closes the connection: within the request, or within the answer after the server has carried the call out. */
  drop?: 'request' | 'answer'
  /** Never answers; the server gets nothing. */
  hang?: boolean
  /** The server gets the request only after this, also if its client has gone. */
  hold?: Promise<void>
  /** Answers this instead of the server: a status and the code of an error, or any body. */
  answer?: { status: number; code?: string; body?: string; headers?: Record<string, string> }
  /** Changes a byte of the request's body, or of the answer's. */
  damage?: 'request' | 'answer'
}

export type S3Proxy = {
  url: string
  /** The names of the calls so far. */
  calls: string[]
  fault(fault: S3Fault): void
  /** Removes all faults, and forgets the calls. */
  heal(): void
}

/**
 * Starts a proxy before an S3 server, and ends it with the suite. As S3 does, and s3rver does not, it refuses a body that
 * does not have the SHA-256 of its header, and a part of an upload that was completed; lists parts; and lets pages of all origins in.
 *
 * @param options.isComplete whether the server does all that itself
 */
export async function startS3Proxy(
  ending: Ending,
  target: string,
  { isComplete = false }: { isComplete?: boolean } = {},
): Promise<S3Proxy> {
  const faults = new Set<{ fault: S3Fault; left: number; skip: number }>()
  const calls: string[] = []
  const lists = new PartLists()

  function faultOf({ name, part }: S3Call): S3Fault {
    for (const active of faults) {
      const { at } = active.fault
      if (active.fault.name !== name || active.left === 0) continue
      if (name === 'UploadPart' && at !== undefined && at !== part) continue
      if (name !== 'UploadPart' && active.skip-- > 0) continue
      active.left--
      return active.fault
    }
    return { name }
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === 'OPTIONS') return void response.writeHead(200, CORS).end()
    const call = callOf(request)
    calls.push(call.part > 0 ? `${call.name} ${call.part}` : call.name)
    const fault = faultOf(call)
    if (fault.drop === 'request') return void request.socket.destroy()
    const body = await bytesOf(request)
    if (fault.hang) return
    await fault.hold
    if (fault.answer) {
      const { status, code, body = code && `<Error><Code>${code}</Code></Error>`, headers } = fault.answer
      return void response.writeHead(status, { 'content-type': 'application/xml', ...headers }).end(body)
    }
    if (fault.damage === 'request') damage(body)
    if (!hasItsSha256(request, body)) {
      const error = '<Error><Code>XAmzContentSHA256Mismatch</Code></Error>'
      return void response.writeHead(400, { 'content-type': 'application/xml' }).end(error)
    }
    const isEnded = call.name === 'UploadPart' && !lists.has(call)
    if (!isComplete && (call.name === 'ListParts' || isEnded)) {
      const { status, body: list } = lists.answer(call)
      return void response.writeHead(status, { 'content-type': 'application/xml' }).end(list)
    }
    const { method, url, headers } = request
    const passed = requestOf(new URL(url!, target), { method: method!, headers }).end(body)
    // A server that refuses a call may not read its body.
    passed.on('error', () => undefined)
    const [answer] = (await once(passed, 'response')) as [IncomingMessage]
    const answered = await bytesOf(answer)
    if (!isComplete && answer.statusCode === 200) lists.note(call, body, answered, answer.headers.etag ?? '')
    if (fault.damage === 'answer') damage(answered)
    const half = fault.drop === 'answer' ? Math.floor(answered.length / 2) : answered.length
    if (fault.drop === 'answer' && half === 0) return void request.socket.destroy()
    response.writeHead(answer.statusCode!, { ...answer.headers, ...CORS })
    response.write(answered.subarray(0, half), () => {
      if (fault.drop === 'answer') request.socket.destroy()
      else response.end()
    })
  }

  const server = createServer((request, response) => {
    // A server that is gone closes the connection, too.
    serve(request, response).catch(() => response.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  ending.after(async () => {
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    fault: (fault) =>
      void faults.add({
        fault,
        left: fault.times ?? Infinity,
        skip: fault.name === 'UploadPart' ? 0 : (fault.at ?? 0),
      }),
    heal() {
      faults.clear()
      calls.length = 0
    },
  }
}

const CORS = { 'access-control-allow-origin': '*', 'access-control-allow-methods': 'PUT' }

/** ListParts (https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListParts.html) of the uploads that pass, two parts at a time. */
class PartLists {
  readonly #uploads = new Map<string, Map<number, { size: number; etag: string }>>()

  /** Notes a call that the server has carried out. */
  note({ name, uploadId, part }: S3Call, sent: Buffer, answered: Buffer, etag: string): void {
    if (name === 'CreateMultipartUpload')
      this.#uploads.set(/<UploadId>(.+)<\/UploadId>/.exec(String(answered))![1]!, new Map())
    if (name === 'UploadPart') this.#uploads.get(uploadId)!.set(part, { size: sent.length, etag })
    if (name === 'CompleteMultipartUpload') this.#uploads.delete(uploadId)
  }

  has({ uploadId }: S3Call): boolean {
    return this.#uploads.has(uploadId)
  }

  answer({ uploadId, after }: S3Call): { status: number; body: string } {
    const upload = this.#uploads.get(uploadId)
    if (!upload) return { status: 404, body: '<Error><Code>NoSuchUpload</Code></Error>' }
    const rest = [...upload].filter(([part]) => part > after).toSorted(([a], [b]) => a - b)
    const page = rest.slice(0, 2)
    const parts = page.map(
      ([part, { size, etag }]) =>
        `<Part><PartNumber>${part}</PartNumber><Size>${size}</Size><ETag>${etag}</ETag></Part>`,
    )
    const next = `<NextPartNumberMarker>${page.at(-1)?.[0] ?? 0}</NextPartNumberMarker>`
    const isTruncated = `<IsTruncated>${rest.length > 2}</IsTruncated>`
    return { status: 200, body: `<ListPartsResult>${parts.join('')}${next}${isTruncated}</ListPartsResult>` }
  }
}

/** The calls that Sixwire makes, by method and query. */
function callOf({ method = '', url = '' }: IncomingMessage): S3Call {
  const { pathname, searchParams: query } = new URL(url, 'http://localhost')
  const key = decodeURIComponent(pathname.split('/').slice(2).join('/'))
  const isUpload = query.has('uploadId')
  const names: Record<string, string> = {
    GET: isUpload
      ? 'ListParts'
      : query.has('uploads')
        ? 'ListMultipartUploads'
        : query.has('list-type')
          ? 'ListObjectsV2'
          : 'GetObject',
    HEAD: key === '' ? 'HeadBucket' : 'HeadObject',
    PUT: isUpload ? 'UploadPart' : 'PutObject',
    POST: isUpload ? 'CompleteMultipartUpload' : 'CreateMultipartUpload',
    DELETE: isUpload ? 'AbortMultipartUpload' : 'DeleteObject',
  }
  return {
    name: names[method] ?? method,
    key,
    uploadId: query.get('uploadId') ?? '',
    part: Number(query.get('partNumber') ?? 0),
    after: Number(query.get('part-number-marker') ?? 0),
  }
}

const bytesOf = async (message: IncomingMessage): Promise<Buffer> => Buffer.concat(await message.toArray())

function hasItsSha256({ headers }: IncomingMessage, body: Buffer): boolean {
  const announced = String(headers['x-amz-content-sha256'])
  return !/^[\da-f]{64}$/.test(announced) || createHash('sha256').update(body).digest('hex') === announced
}

/** Changes one byte in its middle. */
function damage(bytes: Buffer): void {
  const at = Math.floor(bytes.length / 2)
  bytes[at]! ^= 1
}
