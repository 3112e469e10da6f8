import type { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'

import type { MultipartFile } from '@fastify/multipart'
import type { FastifyRequest } from 'fastify'
import type { TSchema } from 'typebox'

import { checkedStream } from '../base/checked-stream.ts'
import { ApiError, errors, invalid } from '../base/errors.ts'
import { decodeUtf8, parseStrictJson } from '../base/json.ts'
import type { MultipartBody, Upload, UploadedFile } from './bodies.ts'
import type { Validate, Validation } from './validation.ts'

// For all fields together; as much again is allowed for the headers and boundaries of parts.
const FIELDS_MAX_BYTES = 65_536

/** A multipart body of a route, and the checks of its fields: of each as it arrives, and of all at the end. */
export type FieldChecks = {
  body: MultipartBody
  /** How many parts a body may have. */
  partsMax: number
  isText(name: string): boolean
  /** Undefined if there is no such field. */
  one(name: string): Validate | undefined
  all: Validate
}

/** @param validation compiles a schema when it is first needed */
export function createFieldChecks({
  body,
  validation,
}: {
  body: MultipartBody
  validation: Validation
}): FieldChecks {
  const { properties } = body.fields as { properties?: Record<string, TSchema & { type?: string }> }
  const schemas = new Map(Object.entries(properties ?? {}))
  const checks = new Map(
    Array.from(schemas, ([name, schema]) => {
      const single = { type: 'object', properties: { [name]: schema } } as TSchema
      return [name, validation('body', single)] as const
    }),
  )
  return {
    body,
    partsMax: schemas.size + 1,
    isText: (name) => (schemas.get(name)?.type ?? 'string') === 'string',
    one: (name) => checks.get(name),
    all: validation('body', body.fields),
  }
}

/** A part as the parser emits it: also one without a name, and a field, which has no file name. */
type Part = Omit<MultipartFile, 'fieldname' | 'filename'> & {
  fieldname: string | undefined
  filename: string | undefined
}

/**
 * Reads a body of `multipart/form-data` (RFC 7578) part by part: never more than a field, or a piece of the file, is in
 * memory.
 */
export class MultipartReader implements Upload<unknown> {
  file: UploadedFile | undefined
  readonly contentLength: number | undefined
  readonly isRepeatable: boolean
  readonly #request: FastifyRequest
  readonly #body: MultipartBody
  readonly #checks: FieldChecks
  readonly #parts: AsyncIterator<unknown>
  readonly #values: Record<string, unknown> = {}
  readonly #failed = Promise.withResolvers<never>()
  #failure: ApiError | undefined
  /** The part that is read now. */
  #current: Part['file'] | undefined
  #fieldBytes = 0
  #rest: Promise<unknown> | undefined

  constructor(request: FastifyRequest, checks: FieldChecks) {
    this.#request = request
    const { 'content-length': length, 'idempotency-key': key } = request.headers
    this.contentLength = length === undefined ? undefined : Number(length)
    this.isRepeatable = key !== undefined
    this.#body = checks.body
    this.#checks = checks
    // Every part is read as a stream: the parser reads JSON in fields less strictly, and accepts bytes that are not UTF-8.
    this.#parts = request.parts({
      isPartAFile: () => true,
      throwFileSizeLimit: false,
      limits: { fileSize: Infinity, parts: checks.partsMax },
    } as Parameters<FastifyRequest['parts']>[0])
    // The failure may come while no part is waited for.
    this.#failed.promise.catch(() => undefined)
  }

  /**
   * Reads up to the file, or to the end if there is none.
   *
   * @throws VALIDATION_ERROR, PAYLOAD_TOO_LARGE
   */
  async open(): Promise<void> {
    const { file } = this.#body
    const bodyMaxBytes = file.maxBytes + 2 * FIELDS_MAX_BYTES
    if (Number(this.#request.headers['content-length'] ?? 0) > bodyMaxBytes) throw tooLarge(file.maxBytes)
    const first = this.#readFields()
    let byteCount = 0
    // Attached after the parser, which has begun to read above.
    this.#request.raw.on('data', ({ length }: Buffer) => {
      byteCount += length
      if (byteCount > bodyMaxBytes) this.fail(tooLarge(file.maxBytes))
    })
    await first
    if (this.file === undefined && file.required)
      throw invalid({ path: `/body/${file.field}`, message: 'is required' })
  }

  // A property with a function, because handlers destructure it.
  readonly fields = (): Promise<unknown> => (this.#rest ??= this.#readRest())

  /** Stops reading: calls that wait for a part, or for bytes of the file, fail with this error. */
  fail(error: ApiError): void {
    this.#failure ??= error
    this.#failed.reject(this.#failure)
    this.#current?.destroy(this.#failure)
    this.file?.stream.destroy(this.#failure)
  }

  /** Releases a file that was not read to its end. */
  close(): void {
    this.#current?.destroy()
    this.file?.stream.destroy()
  }

  async #readRest(): Promise<unknown> {
    const stream = this.file?.stream
    if (stream && !stream.readableEnded) await finished(isRead(stream) ? stream : stream.resume())
    await this.#readFields()
    const result = this.#checks.all(this.#values)
    if ('error' in result) throw result.error
    return result.value
  }

  /** Reads fields up to the next file, or to the end of the body. */
  async #readFields(): Promise<void> {
    for (;;) {
      const part = await this.#next()
      if (part === undefined) return
      const { fieldname: name, filename } = part
      if (name === this.#body.file.field) {
        this.#openFile(part)
        return
      }
      const check = name === undefined ? undefined : this.#checks.one(name)
      if (name === undefined || !check) throw invalid({ path: '/body', message: this.#unknownPart(name) })
      const path = `/body/${name}`
      if (filename !== undefined) throw invalid({ path, message: 'must be a field, not a file' })
      if (Object.hasOwn(this.#values, name)) throw invalid({ path, message: 'may be given only once' })
      this.#values[name] = this.#valueOf(name, await this.#readField(part))
      const result = check({ [name]: this.#values[name] })
      if ('error' in result) throw result.error
    }
  }

  #unknownPart(name: string | undefined): string {
    const part = name === undefined ? 'a part without a name' : `a part ${JSON.stringify(name.slice(0, 64))}`
    return `holds ${part}, which this route does not take: send the file in the part "${this.#body.file.field}"`
  }

  async #readField({ file }: Part): Promise<Buffer> {
    this.#current = file
    const chunks: Buffer[] = []
    try {
      for await (const chunk of file as AsyncIterable<Buffer>) {
        this.#fieldBytes += chunk.length
        if (this.#fieldBytes > FIELDS_MAX_BYTES)
          throw errors.payload_too_large({
            message: `The fields are larger than ${FIELDS_MAX_BYTES} bytes together.`,
          })
        chunks.push(chunk)
      }
      return Buffer.concat(chunks)
    } catch (error) {
      throw this.#refusalOf(error)
    }
  }

  #valueOf(name: string, bytes: Buffer): unknown {
    const path = `/body/${name}`
    const text = decodeUtf8(bytes, path)
    if (!this.#checks.isText(name)) return parseStrictJson(text, { at: path })
    if (text.includes('\0')) throw invalid({ path, message: 'holds a character that is not allowed' })
    return text
  }

  #openFile({ file, filename: encoded = '', mimetype }: Part): void {
    const filename = decodedName(encoded)
    const { field, maxBytes } = this.#body.file
    const path = `/body/${field}`
    if (this.file) throw invalid({ path, message: 'may be given only once' })
    if (filename === '') throw invalid({ path, message: 'must be a file with a name' })
    // What was not UTF-8 has become the replacement character.
    if (/[\0\ufffd]/.test(filename) || !filename.isWellFormed())
      throw invalid({ path, message: 'has a name with a character that is not allowed' })
    this.#current = file
    let size = 0
    const stream = checkedStream(file, {
      chunk: (bytes) => {
        size += bytes.length
        return size > maxBytes ? this.#refusalOf(tooLarge(maxBytes)) : undefined
      },
      failure: (error) => this.#refusalOf(error),
    })
    // A handler that reads without listening for errors must not end the process.
    stream.on('error', () => undefined)
    this.file = { name: filename, contentType: mimetype, stream }
  }

  async #next(): Promise<Part | undefined> {
    try {
      const next = await Promise.race([this.#parts.next(), this.#failed.promise])
      if (this.#failure) throw this.#failure
      return next.done ? undefined : (next.value as Part)
    } catch (error) {
      throw this.#refusalOf(error)
    }
  }

  #refusalOf(error: unknown): ApiError {
    this.#failure ??= error instanceof ApiError ? error : refusalOf(error as Error & { code?: string })
    return this.#failure
  }
}

/**
 * Browsers write three characters of a file name so, and take them for these characters when they read a form
 * (https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#multipart-form-data).
 */
const decodedName = (name: string): string =>
  name.replaceAll(/%(?:22|0D|0A)/g, (escape) => decodeURIComponent(escape))

/** Whether the handler reads a stream, or has begun to. */
const isRead = (stream: Readable): boolean =>
  stream.readableDidRead || stream.readableFlowing !== null || stream.listenerCount('readable') > 0

function refusalOf({ code, message }: Error & { code?: string }): ApiError {
  const fault =
    code === 'FST_PARTS_LIMIT'
      ? 'holds a part twice, or one that this route does not take'
      : `is not multipart/form-data that can be read: ${message}`
  return invalid({ path: '/body', message: fault })
}

const tooLarge = (maxBytes: number): ApiError =>
  errors.payload_too_large({ message: `The file is larger than ${maxBytes} bytes.` })
