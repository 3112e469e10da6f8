import type { FastifyInstance, FastifyRequest } from 'fastify'

import { errors, invalid } from '../base/errors.ts'
import { decodeUtf8, parseStrictJson } from '../base/json.ts'
import type { RouteBody } from './bodies.ts'
import type { RawRequest } from './raw-request.ts'
import { specOf } from './spec-of.ts'
import { StreamReader } from './stream-reader.ts'

export const JSON_MEDIA_TYPE = 'application/json'
export const FORM_TYPE = 'application/x-www-form-urlencoded'
export const MULTIPART_TYPE = 'multipart/form-data'

/** What the media types of a body are, by which routes share parsers. */
export type BodyKind = RouteBody['kind'] | 'json with files'

/** A body that is left out is read as JSON. */
export const bodyKindOf = (body: RouteBody | undefined): BodyKind =>
  body?.kind === 'json' && body.files ? 'json with files' : (body?.kind ?? 'json')

/** Whether a body is sent as `multipart/form-data`. */
export const isMultipart = (headers: { 'content-type'?: string | undefined }): boolean =>
  mediaTypeOf(headers['content-type']) === MULTIPART_TYPE

const MAX_LEVELS = 64

/** Reads whole bodies of a media type; errors of `read` are answered. */
function readWhole(
  engine: FastifyInstance,
  type: string | RegExp,
  read: (bytes: Buffer, request: FastifyRequest) => unknown,
): void {
  engine.addContentTypeParser(type, { parseAs: 'buffer' }, (request, bytes, done) => {
    try {
      done(null, read(bytes as Buffer, request))
    } catch (error) {
      done(error as Error)
    }
  })
}

function refuseOthers(engine: FastifyInstance, type: string): void {
  engine.addContentTypeParser('*', (_request, _payload, done) =>
    done(errors.unsupported_media_type({ message: `Send the body as ${type}.` })),
  )
}

/** The parser of each kind of body. */
const PARSERS: { readonly [Kind in BodyKind]: (engine: FastifyInstance) => void | Promise<void> } = {
  json(engine) {
    readWhole(engine, JSON_MEDIA_TYPE, (bytes) => parseJsonBody(bytes))
    readWhole(engine, /^application\/[\w.-]+\+json\b/i, (bytes, request) => {
      const body = specOf(request)?.body
      const types = body?.kind === 'json' ? (body.contentTypes ?? []) : []
      if (types.includes(mediaTypeOf(request.headers['content-type']))) return parseJsonBody(bytes)
      const taken = [JSON_MEDIA_TYPE, ...types].join(' or ')
      throw errors.unsupported_media_type({ message: `Send the body as ${taken}.` })
    })
  },

  form(engine) {
    readWhole(engine, FORM_TYPE, (bytes) => parseForm(decodeUtf8(bytes)))
    refuseOthers(engine, FORM_TYPE)
  },

  raw(engine) {
    engine.addContentTypeParser('*', { parseAs: 'buffer' }, (request, bytes, done) => {
      const body = specOf(request)?.body
      const contentTypes = body?.kind === 'raw' ? body.contentTypes : undefined
      const mediaType = mediaTypeOf(request.headers['content-type'])
      if (!contentTypes || contentTypes.includes(mediaType)) return done(null, bytes)
      done(errors.unsupported_media_type({ message: `Send the body as ${contentTypes.join(' or ')}.` }))
    })
  },

  stream(engine) {
    engine.addContentTypeParser('*', (request, _payload, done) => {
      const body = specOf(request)?.body
      if (body?.kind !== 'stream') return done(null)
      if (body.contentTypes.includes(mediaTypeOf(request.headers['content-type'])))
        return done(null, new StreamReader(request.raw, body))
      const types = body.contentTypes.join(' or ')
      done(errors.unsupported_media_type({ message: `Send the body as ${types}.` }))
    })
  },

  async multipart(engine) {
    await takeMultipart(engine)
    refuseOthers(engine, MULTIPART_TYPE)
  },

  async 'json with files'(engine) {
    await PARSERS.json(engine)
    await takeMultipart(engine)
  },
}

/** Loaded only if a route needs it. The body itself is read by MultipartReader, when the handler is called. */
async function takeMultipart(engine: FastifyInstance): Promise<void> {
  await engine.register((await import('@fastify/multipart')).default)
}

/** A body of JSON; undefined if it is empty: the schema finds what it lacks. @throws VALIDATION_ERROR */
export function parseJsonBody(bytes: Buffer, at?: string): unknown {
  if (bytes.length === 0) return undefined
  const text = decodeUtf8(bytes, at)
  // An array that is the whole body is no level of what is in it.
  const maxDepth = /^\s*\[/.test(text) ? MAX_LEVELS + 1 : MAX_LEVELS
  // A number that is answered can be sent back, as 2^60 is written 1152921504606847000.
  return parseStrictJson(text, { takesRounded: true, maxDepth, ...(at !== undefined && { at }) })
}

/** Makes the routes of an engine accept bodies of this kind only. */
export async function addBodyParser(engine: FastifyInstance, kind: BodyKind): Promise<void> {
  engine.removeAllContentTypeParsers()
  await PARSERS[kind](engine)
}

const mediaTypeOf = (contentType = ''): string => contentType.split(';', 1)[0]!.trim().toLowerCase()

/** https://url.spec.whatwg.org/#application/x-www-form-urlencoded */
function parseForm(text: string): Record<string, string> {
  const fields = new Map<string, string>()
  for (const [name, value] of new URLSearchParams(text)) {
    if (fields.has(name)) throw invalid({ path: '/body', message: 'holds a field twice' })
    if (name.includes('\0') || value.includes('\0'))
      throw invalid({ path: '/body', message: 'holds a character that is not allowed' })
    fields.set(name, value)
  }
  return Object.fromEntries(fields)
}

/** The body of a raw route; empty if none was sent. */
export const rawRequestOf = ({
  headers,
  url,
  body,
}: {
  headers: RawRequest['headers']
  url: string
  body: unknown
}): RawRequest => ({
  headers,
  bytes: Buffer.isBuffer(body) ? body : Buffer.alloc(0),
  contentType: headers['content-type'],
  url,
})
