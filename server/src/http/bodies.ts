import type { Readable } from 'node:stream'

import type { Static, TSchema } from 'typebox'

import { Type } from '../base/schema.ts'
import type { RawRequest } from './raw-request.ts'

/** Limits of a body that is read into memory before the handler is called. */
export type BodyLimits = {
  /** The largest body in bytes. Default: the wire's `bodyLimit`, else 64 KiB without a token and 1 MiB with one. */
  maxBytes?: number
  /** The time for the body to arrive, in milliseconds from the end of the headers. Default 60,000. */
  receiveMs?: number
}

export type JsonBody<S extends TSchema = TSchema> = BodyLimits & {
  kind: 'json'
  schema: S
  /** Media types beside `application/json` that are taken, without parameters. */
  contentTypes?: readonly string[]
  /** Whether the body may come with files, as `multipart/form-data`. */
  files?: BodyFiles
}

/** Files beside a JSON body in `multipart/form-data`: the first part is `_json`, and each other part is a file. */
export type BodyFiles = {
  /** The largest sum of the files in bytes. */
  maxBytes: number
  /** How many there may be. */
  max: number
  /** The time for a body with files to arrive, in milliseconds from the end of the headers. Default 60,000. */
  receiveMs?: number
}

/** The part that is the JSON of a body with files. */
export const JSON_PART = '_json'

export type FormBody<S extends TSchema = TSchema> = BodyLimits & { kind: 'form'; schema: S }

export type RawBody = BodyLimits & {
  kind: 'raw'
  maxBytes: number
  /** Media types without parameters, like `application/json`; any other is answered 415. Default: any. */
  contentTypes?: readonly string[]
}

export type StreamBody = {
  kind: 'stream'
  /** The largest body in bytes. */
  maxBytes: number
  /** Media types without parameters; any other is answered 415. */
  contentTypes: readonly string[]
  /** The time for the whole body to arrive, in milliseconds from the end of the headers. Default 60,000. */
  receiveMs?: number
}

export type MultipartBody<S extends TSchema = TSchema, Required extends boolean = boolean> = {
  kind: 'multipart'
  /** The parts beside the file. */
  fields: S
  file: {
    /** The name of the file's part. */
    field: string
    /** The largest file in bytes; of several, their sum. */
    maxBytes: number
    /** How many files a body may have, each in a part of this name. */
    max: number
    /** Whether a body without a file is answered 400. */
    required: Required
  }
  /** The time for the whole body to arrive, in milliseconds from the end of the headers. Default 60,000. */
  receiveMs?: number
}

/** What the body of a route is. */
export type RouteBody = JsonBody | FormBody | RawBody | StreamBody | MultipartBody

/**
 * A body that is read as JSON, strictly, and checked by the schema. With `files` it may be `multipart/form-data` as well: the
 * handler then gets the files in `call.upload`.
 *
 * @example
 * const body = json(Photo, { files: { max: 10, maxBytes: 50_000_000 } })
 * route('POST /photos', { …, body }, async ({ body, upload }) => {
 *   if (upload) for await (const { field, stream } of upload.files) await keep(field, stream)
 * })
 */
export const json = <const S extends TSchema, const O extends Omit<JsonBody, 'kind' | 'schema'> = object>(
  schema: S,
  options?: O,
): JsonBody<S> & O => ({
  kind: 'json',
  schema,
  ...(options as O),
})

/**
 * A body of `application/x-www-form-urlencoded`, checked by the schema. Each field is text and may be sent
 * only once: of two values it would be unclear which was signed, or meant.
 */
export const form = <const S extends TSchema>(schema: S, limits: BodyLimits = {}): FormBody<S> => ({
  kind: 'form',
  schema,
  ...limits,
})

/**
 * A body that is not parsed: the handler gets its bytes, in a `RawRequest`. For webhooks, whose signatures cover the
 * bytes.
 *
 * @example
 * route('POST /hooks/shop', { …, body: raw({ maxBytes: 65_536 }) }, ({ body }) => verify(body.bytes, body.headers))
 */
export const raw = (options: Omit<RawBody, 'kind'>): RawBody => ({ kind: 'raw', ...options })

/**
 * Bytes of any length, which the handler reads as they arrive; it gets `undefined` if there are none. Not for routes that take
 * an `Idempotency-Key`.
 *
 * @example
 * const body = stream({ maxBytes: 50_000_000, contentTypes: ['application/offset+octet-stream'] })
 * route('PATCH /store/uploads/:id', { …, body }, ({ body }) => append(body?.stream))
 */
export const stream = (options: Omit<StreamBody, 'kind'>): StreamBody => ({ kind: 'stream', ...options })

const NO_FIELDS = Type.Object({})

/**
 * A body of `multipart/form-data` with one file or several, which are streamed one after the other, and text fields. A
 * field whose schema is not a string holds JSON. Any other part, a field twice, and a file without a name are answered 400;
 * files over `maxBytes` are answered 413 while they are read.
 *
 * @param options.file `field` is the name of its part, default `file`; `required` is true by default, `max` is 1
 * @example
 * const body = multipart({
 *   file: { maxBytes: 50_000_000 },
 *   fields: Type.Object({ metadata: Type.Optional(Type.Record(Type.String(), Type.Unknown())) }),
 * })
 * route('POST /store/upload', { …, body }, async ({ body: { file, fields } }) => {
 *   await pipeline(file.stream, createWriteStream(path))
 *   const { metadata } = await fields() // throws if any part of the body is wrong: delete the file then
 * })
 */
export function multipart<const O extends MultipartOptions>(
  options: O,
): MultipartBody<FieldsOf<O>, RequiredOf<O>> {
  const { fields = NO_FIELDS, file, receiveMs } = options
  return {
    kind: 'multipart',
    fields: fields as FieldsOf<O>,
    file: {
      field: file.field ?? 'file',
      maxBytes: file.maxBytes,
      max: file.max ?? 1,
      required: (file.required ?? true) as RequiredOf<O>,
    },
    ...(receiveMs !== undefined && { receiveMs }),
  }
}

type MultipartOptions = {
  fields?: TSchema
  file: { field?: string; maxBytes: number; max?: number; required?: boolean }
  receiveMs?: number
}
type FieldsOf<O> = O extends { fields: infer S extends TSchema } ? S : typeof NO_FIELDS
type RequiredOf<O> = O extends { file: { required: infer Required extends boolean } } ? Required : true

/** A file as it arrives. */
export type UploadedFile = {
  /** The name of its part. */
  field: string
  /** As the client sent it, without folders. Never a path of this machine. */
  name: string
  /** The media type that the client declared, without parameters. */
  contentType: string
  /** Fails with the error to answer if the rest does not arrive or is too large. */
  stream: Readable
}

/** The files of a body as its handler gets them. */
export type UploadedFiles = {
  /**
   * All files in their order, once: each must be read to its end before the next, or is skipped. After the last one the
   * body has ended.
   *
   * @throws VALIDATION_ERROR, PAYLOAD_TOO_LARGE: delete the whole upload then
   */
  files: AsyncIterable<UploadedFile>
  /** Of the whole body; undefined if it is sent in chunks. */
  contentLength: number | undefined
  /** Whether it has an `Idempotency-Key`, so it may be a repetition. */
  isRepeatable: boolean
}

/** A multipart body as its handler gets it. */
export type Upload<Fields, Required extends boolean = boolean> = UploadedFiles & {
  /** The first file. */
  file: Required extends true ? UploadedFile : UploadedFile | undefined
  /**
   * Waits for the end of the body, and checks the fields before and after the files. A file that the handler does not
   * read is skipped; one that it reads must be read to its end.
   *
   * @throws VALIDATION_ERROR, PAYLOAD_TOO_LARGE: delete the whole upload then
   */
  fields: () => Promise<Fields>
}

/** A body of `stream({ … })` as its handler gets it. */
export type StreamedBody = {
  /** Undefined if it is sent in chunks. */
  readonly contentLength: number | undefined
  /** Fails with the error to answer if the rest is late or too large, and with that of the connection if the client is gone. */
  readonly stream: Readable
}

/** A body of each kind as its handler gets it. */
export type ReceivedBody<B extends RouteBody> = B extends JsonBody<infer S> | FormBody<infer S>
  ? Static<S>
  : B extends RawBody
    ? RawRequest
    : B extends StreamBody
      ? StreamedBody | undefined
      : B extends MultipartBody<infer S, infer Required>
        ? Upload<Static<S>, Required>
        : never

/** The schema that a body is checked by; undefined if it is not checked. */
export const schemaOfBody = (body: RouteBody | undefined): TSchema | undefined =>
  body === undefined || body.kind === 'raw' || body.kind === 'stream'
    ? undefined
    : body.kind === 'multipart'
      ? body.fields
      : body.schema

/** The largest body in bytes by the route itself; of a multipart body, of its files. */
export const maxBytesOf = (body: RouteBody | undefined): number | undefined =>
  body?.kind === 'multipart' ? body.file.maxBytes : body?.maxBytes
