import type { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'

import type { MultipartFile } from '@fastify/multipart'
import type { FastifyRequest } from 'fastify'
import type { TSchema } from 'typebox'

import { checkedStream } from '../base/checked-stream.ts'
import { ApiError, errors, invalid, type Issue } from '../base/errors.ts'
import { boundedPointer } from '../base/json-pointer.ts'
import { decodeUtf8, parseStrictJson } from '../base/json.ts'
import { JSON_PART, type JsonBody, type MultipartBody, type Upload, type UploadedFile } from './bodies.ts'
import { parseJsonBody } from './body-parsers.ts'
import type { Validate, Validation } from './validation.ts'

// For all fields together; as much again is allowed for the headers and boundaries of parts.
const FIELDS_MAX_BYTES = 65_536
// Parsed it takes several times its text.
const JSON_MAX_BYTES = 262_144
// For the headers and the boundary of each further file.
const HEADERS_MAX_BYTES = 1024

/** What is read of a multipart body: its files, and the checks of its fields, of each as it arrives, and of all at the end. */
export type FieldChecks = {
  file: Omit<MultipartBody['file'], 'field'> & {
    /** Undefined if every part that is no field is a file. */
    field: string | undefined
  }
  /** Of the part `_json`, which must come first, if the body has one. */
  json: Validate | undefined
  fieldsMaxBytes: number
  /** How many parts are read of a body: one more than it may have, for an error that says which is too many. */
  partsMax: number
  isText(name: string): boolean
  /** Undefined if there is no such field. */
  one(name: string): Validate | undefined
  all: Validate
}

/** The checks of a body of JSON that comes with files. */
export const jsonChecksOf = (
  { max, maxBytes }: NonNullable<JsonBody['files']>,
  json: Validate,
): FieldChecks => ({
  file: { field: undefined, max, maxBytes, required: false },
  json,
  fieldsMaxBytes: JSON_MAX_BYTES,
  partsMax: max + 2,
  isText: () => false,
  one: () => undefined,
  all: (value) => ({ value }),
})

/** @param validation compiles a schema when it is first needed */
export function createFieldChecks({
  body,
  validation,
}: {
  body: MultipartBody
  validation: Validation
}): FieldChecks {
  const { file } = body
  const { properties } = body.fields as { properties?: Record<string, TSchema & { type?: string }> }
  const schemas = new Map(Object.entries(properties ?? {}))
  const checks = new Map(
    Array.from(schemas, ([name, schema]) => {
      const single = { type: 'object', properties: { [name]: schema } } as TSchema
      return [name, validation('body', single)] as const
    }),
  )
  return {
    file,
    json: undefined,
    fieldsMaxBytes: FIELDS_MAX_BYTES,
    partsMax: schemas.size + file.max + 1,
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
 * Reads a body of `multipart/form-data` (RFC 7578) part by part: never more than a field, or a piece of a file, is in
 * memory.
 */
export class MultipartReader implements Upload<unknown> {
  file: UploadedFile | undefined
  readonly files: AsyncIterable<UploadedFile>
  readonly contentLength: number | undefined
  readonly isRepeatable: boolean
  /** The part `_json`, once the body is open. */
  json: unknown
  readonly #request: FastifyRequest
  readonly #checks: FieldChecks
  readonly #parts: AsyncIterator<unknown>
  readonly #values: Record<string, unknown> = {}
  readonly #failed = Promise.withResolvers<never>()
  #failure: ApiError | undefined
  /** The part that is read now. */
  #current: Part['file'] | undefined
  /** The last file. */
  #opened: UploadedFile | undefined
  #fieldBytes = 0
  #fileBytes = 0
  #fileCount = 0
  #rest: Promise<unknown> | undefined

  constructor(request: FastifyRequest, checks: FieldChecks) {
    this.#request = request
    const { 'content-length': length, 'idempotency-key': key } = request.headers
    this.contentLength = length === undefined ? undefined : Number(length)
    this.isRepeatable = key !== undefined
    this.#checks = checks
    this.files = this.#inOrder()
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
   * Reads up to the first file, or to the end if there is none.
   *
   * @throws VALIDATION_ERROR, PAYLOAD_TOO_LARGE
   */
  async open(): Promise<void> {
    const { file, json, fieldsMaxBytes } = this.#checks
    const bodyMaxBytes = file.maxBytes + 2 * fieldsMaxBytes + (file.max - 1) * HEADERS_MAX_BYTES
    if (Number(this.#request.headers['content-length'] ?? 0) > bodyMaxBytes) throw tooLarge(file)
    const first = this.#readFields()
    let byteCount = 0
    // Attached after the parser, which has begun to read above.
    this.#request.raw.on('data', ({ length }: Buffer) => {
      byteCount += length
      if (byteCount > bodyMaxBytes) this.fail(tooLarge(file))
    })
    this.file = await first
    if (json && this.json === undefined) throw invalid({ path: `/body/${JSON_PART}`, message: 'is required' })
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
    this.#opened?.stream.destroy(this.#failure)
  }

  /** Releases a file that was not read to its end. */
  close(): void {
    this.#current?.destroy()
    this.#opened?.stream.destroy()
  }

  async *#inOrder(): AsyncGenerator<UploadedFile> {
    for (let { file } = this; file; file = await this.#nextFile()) yield file
  }

  async #nextFile(): Promise<UploadedFile | undefined> {
    const stream = this.#opened?.stream
    if (stream && !stream.readableEnded) await finished(isRead(stream) ? stream : stream.resume())
    return this.#readFields()
  }

  async #readRest(): Promise<unknown> {
    while (await this.#nextFile());
    const result = this.#checks.all(this.#values)
    if ('error' in result) throw result.error
    return result.value
  }

  /** Reads fields up to the next file, or to the end of the body. */
  async #readFields(): Promise<UploadedFile | undefined> {
    for (;;) {
      const part = await this.#next()
      if (part === undefined) return undefined
      const { fieldname: name, filename } = part
      if (name !== undefined && this.#checks.json) {
        if (name !== JSON_PART) return this.#openFile(part, name)
        await this.#readJson(part)
        continue
      }
      if (name !== undefined && name === this.#checks.file.field) return this.#openFile(part, name)
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

  async #readJson(part: Part): Promise<void> {
    const path = `/body/${JSON_PART}`
    if (this.json !== undefined) throw invalid({ path, message: 'may be given only once' })
    if (this.#opened) throw invalid({ path, message: 'must come before the files' })
    const result = this.#checks.json!(parseJsonBody(await this.#readField(part), path) ?? null)
    if ('error' in result) throw result.error
    this.json = result.value
  }

  #unknownPart(name: string | undefined): string {
    const part = name === undefined ? 'a part without a name' : `a part ${JSON.stringify(name.slice(0, 64))}`
    const { field } = this.#checks.file
    const hint = field === undefined ? '' : `: send the file in the part "${field}"`
    return `holds ${part}, which this route does not take${hint}`
  }

  async #readField({ file }: Part): Promise<Buffer> {
    this.#current = file
    const { fieldsMaxBytes } = this.#checks
    const chunks: Buffer[] = []
    try {
      for await (const chunk of file as AsyncIterable<Buffer>) {
        this.#fieldBytes += chunk.length
        if (this.#fieldBytes > fieldsMaxBytes)
          throw errors.payload_too_large({
            message: `The fields are larger than ${fieldsMaxBytes} bytes together.`,
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

  #openFile({ file, filename: encoded = '', mimetype }: Part, field: string): UploadedFile {
    const filename = decodedName(encoded)
    const limits = this.#checks.file
    const path = boundedPointer('/body', [field])
    if (this.#checks.json && this.json === undefined)
      throw invalid({ path: `/body/${JSON_PART}`, message: 'must come before the files' })
    if (++this.#fileCount > limits.max) throw invalid(tooMany(path, limits.max))
    if (filename === '') throw invalid({ path, message: this.#noFileName() })
    // What was not UTF-8 has become the replacement character.
    if (/[\0\ufffd]/.test(filename) || !filename.isWellFormed())
      throw invalid({ path, message: 'has a name with a character that is not allowed' })
    this.#current = file
    const stream = checkedStream(file, {
      chunk: (bytes) => {
        this.#fileBytes += bytes.length
        return this.#fileBytes > limits.maxBytes ? this.#refusalOf(tooLarge(limits)) : undefined
      },
      failure: (error) => this.#refusalOf(error),
    })
    // A handler that reads without listening for errors must not end the process.
    stream.on('error', () => undefined)
    this.#opened = { field, name: filename, contentType: mimetype, stream }
    return this.#opened
  }

  #noFileName(): string {
    const hint = this.#checks.json ? `: write fields that are no files into the part ${JSON_PART}` : ''
    return `must be a file with a name${hint}`
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

const tooMany = (path: string, max: number): Issue =>
  max === 1
    ? { path, message: 'may be given only once' }
    : { path: '/body', message: `holds more than ${max} files` }

const tooLarge = ({ max, maxBytes }: FieldChecks['file']): ApiError =>
  errors.payload_too_large({
    message:
      max === 1
        ? `The file is larger than ${maxBytes} bytes.`
        : `The files are larger than ${maxBytes} bytes together.`,
  })
