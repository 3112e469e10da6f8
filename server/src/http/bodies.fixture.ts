// A wire with a route for each kind of body, and the bytes that tests send to it.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'

import { Type } from '../base/schema.ts'
import { defineWire } from '../kernel/wire/wire.ts'
import { startApp, type TestApp } from '../testing/app.ts'
import type { Ending, Engine } from '../testing/engines.ts'
import { form, json, multipart, raw, stream, type Upload, type UploadedFiles } from './bodies.ts'
import { route } from './route.ts'

export const FILE_MAX = 200_000
const Metadata = Type.Record(Type.String(), Type.Unknown())
const fields = Type.Object({
  metadata: Type.Optional(Metadata),
  note: Type.Optional(Type.String({ maxLength: 10 })),
  count: Type.Optional(Type.Integer()),
})

type Fields = { metadata?: Record<string, unknown>; note?: string; count?: number }

/** What a handler has done with an upload, as the test sees it. */
type Receipt = { ended: Promise<string> }

async function hashOf(stream: AsyncIterable<Buffer>): Promise<{ size: number; sha256: string }> {
  const hash = createHash('sha256')
  let size = 0
  for await (const chunk of stream) {
    size += chunk.length
    hash.update(chunk)
  }
  return { size, sha256: hash.digest('hex') }
}

/** Rejects with the reason of the signal, once it aborts. */
const abortOf = (signal: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => {
    const end = () => reject(signal.reason as Error)
    if (signal.aborted) end()
    else signal.addEventListener('abort', end)
  })

function bodiesWire() {
  const receipts: Receipt[] = []
  const kept: string[] = []
  const signals: AbortSignal[] = []
  const gate = Promise.withResolvers<void>()
  let performed = 0
  const Kept = Type.Object({
    name: Type.String(),
    contentType: Type.String(),
    size: Type.Integer(),
    sha256: Type.String(),
    fields: Metadata,
  })
  async function keep({ file, fields: rest }: Upload<Fields, true>) {
    const ended = Promise.withResolvers<string>()
    receipts.push({ ended: ended.promise })
    try {
      const hashed = await hashOf(file.stream)
      const answered = { name: file.name, contentType: file.contentType, ...hashed, fields: await rest() }
      ended.resolve('kept')
      kept.push(answered.sha256)
      return answered
    } catch (error) {
      ended.resolve((error as Error).message)
      throw error
    }
  }
  /** Reads all files but one that is named `skip`. */
  async function keepAll({ files }: UploadedFiles): Promise<string[]> {
    const ended = Promise.withResolvers<string>()
    receipts.push({ ended: ended.promise })
    const names: string[] = []
    try {
      for await (const { field, name, stream } of files) {
        names.push(`${field} ${name} ${name === 'skip' ? 'skipped' : (await hashOf(stream)).size}`)
      }
      ended.resolve('kept')
      return names
    } catch (error) {
      ended.resolve((error as Error).message)
      throw error
    }
  }
  const Album = Type.Object({ files: Type.Array(Type.String()), fields: Metadata })
  const spec = { summary: 'Take a body', access: 'public' } as const
  const upload = { ...spec, reply: { 200: Kept } }
  const wire = defineWire({
    name: 'bodies',
    setup: () => ({
      service: undefined,
      routes: [
        route(
          'POST /bodies/raw',
          {
            ...spec,
            access: 'optional',
            idempotent: true,
            query: Type.Object({ a: Type.Optional(Type.String()) }),
            body: raw({ maxBytes: 1000 }),
            reply: {
              200: Type.Object({
                hex: Type.String(),
                contentType: Type.Optional(Type.String()),
                url: Type.String(),
                signature: Type.Optional(Type.String()),
                performed: Type.Integer(),
              }),
            },
          },
          ({ body }) => {
            const { bytes, contentType, url, headers } = body
            const signature = headers['x-signature']
            return {
              hex: bytes.toString('hex'),
              ...(contentType !== undefined && { contentType }),
              url,
              ...(typeof signature === 'string' && { signature }),
              performed: ++performed,
            }
          },
        ),
        route(
          'POST /bodies/events',
          {
            ...spec,
            body: raw({ maxBytes: 1000, contentTypes: ['application/json', 'text/plain'] }),
            reply: { 200: Type.Object({ size: Type.Integer() }) },
          },
          ({ body }) => ({ size: body.bytes.length }),
        ),
        ...(['stream', 'slow-stream'] as const).map((name) =>
          route(
            `POST /bodies/${name}`,
            {
              ...spec,
              body: stream({
                maxBytes: FILE_MAX,
                contentTypes: ['a/b'],
                receiveMs: name === 'stream' ? 60_000 : 20,
              }),
              answerHeaders: { 'x-bodies': 'streamed', 'access-control-expose-headers': 'x-bodies' },
              reply: { 200: Type.Object({ size: Type.Integer(), sha256: Type.String() }) },
            },
            ({ body }) => hashOf(body?.stream ?? Readable.from([])),
          ),
        ),
        route(
          'POST /bodies/form',
          {
            ...spec,
            body: form(Type.Object({ a: Type.String() }), { maxBytes: 1000 }),
            reply: { 200: Type.Object({ a: Type.String() }) },
          },
          ({ body }) => body,
        ),
        route(
          'POST /bodies/files',
          { ...upload, body: multipart({ fields, file: { maxBytes: FILE_MAX } }) },
          ({ body }) => keep(body),
        ),
        route(
          'POST /bodies/once',
          {
            ...upload,
            access: 'optional',
            idempotent: true,
            body: multipart({ fields, file: { maxBytes: FILE_MAX } }),
          },
          async ({ body, once: perform }) => {
            const stored = await keep(body)
            return perform([stored.sha256, stored.fields], async () => {
              performed++
              return stored
            })
          },
        ),
        route(
          'POST /bodies/careless',
          { ...upload, idempotent: true, body: multipart({ file: { maxBytes: FILE_MAX } }) },
          ({ body }) => keep(body),
        ),
        route(
          'POST /bodies/unread',
          {
            ...spec,
            body: multipart({ file: { maxBytes: 50_000_000 } }),
            reply: { 200: Type.Object({ name: Type.String() }) },
          },
          ({ body }) => ({ name: body.file.name }),
        ),
        route(
          'POST /bodies/skipped',
          {
            ...spec,
            body: multipart({ fields, file: { maxBytes: FILE_MAX, required: false, field: 'picture' } }),
            reply: { 200: Type.Object({ name: Type.Optional(Type.String()), fields: Metadata }) },
          },
          async ({ body }) => ({ ...(body.file && { name: body.file.name }), fields: await body.fields() }),
        ),
        route(
          'POST /bodies/at-once',
          { ...upload, body: multipart({ fields, file: { maxBytes: FILE_MAX } }) },
          async ({ body: { file, fields: rest } }) => {
            const [hashed, checked] = await Promise.all([hashOf(file.stream), rest()])
            return { name: file.name, contentType: file.contentType, ...hashed, fields: checked }
          },
        ),
        route(
          'POST /bodies/album',
          {
            ...spec,
            body: multipart({ fields, file: { maxBytes: FILE_MAX, max: 3 } }),
            reply: { 200: Album },
          },
          async ({ body }) => {
            const files = await keepAll(body)
            return { files, fields: await body.fields() }
          },
        ),
        route(
          'POST /bodies/first',
          {
            ...spec,
            body: multipart({ fields, file: { maxBytes: FILE_MAX, max: 3 } }),
            reply: { 200: Album },
          },
          async ({ body }) => {
            const { size } = await hashOf(body.file.stream)
            return { files: [`${body.file.name} ${size}`], fields: await body.fields() }
          },
        ),
        route(
          'POST /bodies/card',
          {
            ...spec,
            access: 'optional',
            idempotent: true,
            body: json(
              Type.Object({ title: Type.String({ maxLength: 9 }), stars: Type.Integer({ default: 1 }) }),
              {
                files: { max: 2, maxBytes: FILE_MAX },
              },
            ),
            reply: {
              200: Type.Object({ fields: Metadata, files: Type.Optional(Type.Array(Type.String())) }),
            },
          },
          async ({ body, upload: sent, once: perform }) => {
            if (!sent) return { fields: body }
            const files = await keepAll(sent)
            return perform!([body, files], () => {
              performed++
              return { fields: body, files }
            })
          },
        ),
        route(
          'POST /bodies/gated',
          {
            ...spec,
            body: multipart({ file: { maxBytes: 100_000_000 } }),
            reply: { 200: Type.Object({ size: Type.Integer() }) },
          },
          async ({ body }) => {
            await gate.promise
            const { size } = await hashOf(body.file.stream)
            return { size }
          },
        ),
        route('POST /bodies/waits', { ...spec, reply: { 200: Type.Object({}) } }, ({ signal }) => {
          signals.push(signal)
          return abortOf(signal)
        }),
        route(
          'POST /bodies/hurries',
          { ...spec, timeLimitMs: 20, reply: { 200: Type.Object({}) } },
          ({ signal }) => abortOf(signal),
        ),
        route(
          'POST /bodies/answers',
          { ...spec, timeLimitMs: 3_600_000, reply: { 200: Type.Object({}) } },
          ({ signal }) => {
            signals.push(signal)
            return {}
          },
        ),
        route(
          'POST /bodies/slow-json',
          { ...spec, body: json(Type.Object({}), { receiveMs: 20 }), reply: { 200: Type.Object({}) } },
          () => ({}),
        ),
        route(
          'POST /bodies/slow-file',
          { ...upload, body: multipart({ file: { maxBytes: FILE_MAX }, receiveMs: 20 }) },
          ({ body }) => keep(body),
        ),
      ] as const,
    }),
  })
  return { wire, receipts, kept, signals, gate, performed: () => performed }
}

/** One part, with its headers as they are written. */
export const part = (headers: string | Buffer, content: string | Buffer = 'x'): Buffer =>
  Buffer.concat([
    Buffer.from('--b\r\n'),
    Buffer.from(headers),
    Buffer.from('\r\n\r\n'),
    Buffer.from(content),
    Buffer.from('\r\n'),
  ])
export const named = (name: string, rest = '') => `content-disposition: form-data; name="${name}"${rest}`
const END = Buffer.from('--b--\r\n')
export const FILE = part(
  `${named('file', '; filename="a.txt"')}\r\ncontent-type: text/plain; charset=utf-8`,
  'hello',
)
export const HELLO = createHash('sha256').update('hello').digest('hex')
export const MULTIPART = { 'content-type': 'multipart/form-data; boundary=b' }
export const whole = (...parts: Buffer[]): Uint8Array<ArrayBuffer> =>
  new Uint8Array(Buffer.concat([...parts, END]))

export const bytes = (content: Buffer | string): Uint8Array<ArrayBuffer> =>
  new Uint8Array(Buffer.from(content))

/** Reads one answer with a body of known length from a connection. */
export async function readAnswer(socket: Socket): Promise<{ status: number; head: string; body: string }> {
  let text = ''
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    text += String(chunk)
    const [head = '', body] = text.split('\r\n\r\n')
    const length = /content-length: (\d+)/.exec(head)?.[1]
    if (body !== undefined && length !== undefined && body.length >= Number(length))
      return { status: Number(head.split(' ')[1]), head, body }
  }
  throw new Error(`the connection ended after: ${text}`)
}

export async function open(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => undefined) // that the server closes it is what some tests are about
  await once(socket, 'connect')
  return socket
}

export const head = (path: string, headers: string): string =>
  `POST ${path} HTTP/1.1\r\nhost: localhost\r\n${headers}\r\n\r\n`

/** A server with these routes. */
export async function startBodies(ending: Ending, engine: Engine) {
  const wire = bodiesWire()
  const app: TestApp = await startApp(ending, engine, { config: { wires: [wire.wire()] } })
  const uncaught: unknown[] = []
  const note = (error: unknown) => void uncaught.push(error)
  process.on('uncaughtExceptionMonitor', note)
  ending.after(async () => void process.off('uncaughtExceptionMonitor', note))
  return {
    ...wire,
    app,
    send: (path: string, content: Uint8Array<ArrayBuffer>, headers: Record<string, string> = MULTIPART) =>
      app.request('POST', `/bodies/${path}`, { raw: content, headers }),
    /** No request has ended as a bug, and the server answers. */
    async isWell(): Promise<void> {
      const bugs = app
        .log()
        .split('\n')
        .filter((line) => line.includes('an unexpected error answered 500') && !line.includes('careless'))
      assert.deepEqual(bugs, [])
      assert.deepEqual(uncaught, [])
      assert.equal((await app.request('GET', '/ready')).status, 200)
    },
  }
}

export type Bodies = Awaited<ReturnType<typeof startBodies>>
