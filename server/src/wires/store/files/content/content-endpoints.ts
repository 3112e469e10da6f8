import type { Static } from 'typebox'

import { errors } from '../../../../base/errors.ts'
import { Type } from '../../../../base/schema.ts'
import { allRows } from '../../../../base/row-filter.ts'
import { json } from '../../../../http/bodies.ts'
import { countedFor } from '../../../../http/limits.ts'
import { Bytes, NoBody, endpoint, type Answer, type Call } from '../../../../http/route.ts'
import { storeErrors } from '../../errors.ts'
import type { Objects } from '../../objects/objects.ts'
import { answerContent, type Content } from './file-content.ts'
import { requireReady } from '../file-status.ts'
import type { FileRow, Files } from '../files.ts'
import type { Links } from '../addresses/links.ts'
import { PUBLIC_NAME } from '../addresses/file-address.ts'
import type { PublicFiles } from './public-files.ts'
import { createRecentBytes } from './recent-bytes.ts'
import { OneFile } from '../route-parameters.ts'
import type { ImageCaller } from './images/resize.ts'
import { SIDE_PARAMETERS, SIZE_PARAMETERS, wantedVariant } from './images/variant-query.ts'
import type { Variants } from './images/variants.ts'

// The bytes behind a public address never change, and it is not used again for others.
const FOR_A_YEAR = 'public, max-age=31536000, immutable'

const PUBLIC_HEADERS = {
  // For fonts, and for images that a page reads.
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'accept-ranges, content-disposition, content-length, content-range, etag',
  // Of what is not public now, but may be a moment later.
  'cache-control': 'no-store',
}

const LONGEST_LINK_SECONDS = 7 * 24 * 3600

const optionalText = (description: string) => Type.Optional(Type.String({ description }))
const PublicQuery = Type.Object({
  download: optionalText('With any value, also none: an attachment, whatever the type.'),
  ...SIZE_PARAMETERS,
})
const ContentQuery = Type.Object({
  token: Type.Optional(Type.String({ maxLength: 100, description: 'The token of a link.' })),
  ...PublicQuery.properties,
  ...SIDE_PARAMETERS,
})

export const ContentHeaders = Type.Object({
  range: optionalText('Parts of the bytes, such as bytes=0-99.'),
  'if-range': optionalText('The ETag or date of the copy to which the range belongs.'),
  'if-match': optionalText('ETags; 412 if none is current.'),
  'if-none-match': optionalText('ETags; 304 if one is current.'),
  'if-modified-since': optionalText('A date; 304 if the file is not younger.'),
  'if-unmodified-since': optionalText('A date; 412 if the file is younger.'),
})

const ImageHeaders = Type.Object({
  ...ContentHeaders.properties,
  accept: optionalText('Formats of images that the client shows, such as image/avif.'),
})

const CONTENT_ERRORS = [
  errors.not_found,
  errors.precondition_failed,
  storeErrors.range_not_satisfiable,
  storeErrors.image_too_large,
  storeErrors.image_unreadable,
]

const Link = Type.Object(
  {
    url: Type.String({ format: 'uri', description: 'Opens the file without a token of a caller.' }),
    expiresAt: Type.String({ format: 'date-time' }),
  },
  { title: 'FileLink' },
)

/** The endpoints of a file's bytes. */
export function contentEndpoints({
  files,
  publicFiles,
  links,
  objects,
  variants,
  sizes,
}: {
  files: Files
  publicFiles: PublicFiles
  links: Links
  objects: Objects
  variants: Variants
  /** Those of images that everybody may ask for. */
  sizes: readonly string[]
}) {
  const recent = createRecentBytes()
  const contentOf = (file: FileRow): Content => ({
    what: `file ${file.id}`,
    name: file.original_name,
    contentType: file.content_type,
    size: file.size,
    etag: `"${file.sha256}"`,
    modifiedAt: file.created_at,
    open: (range) => objects.read('uploads', file.object, range),
  })

  /** Answers the bytes of a file, or the resized image that the address asks for. */
  async function answerFile(
    call: ContentCall,
    file: FileRow,
    caching: Pick<Content, 'cacheControl' | 'recent'> = {},
  ): Promise<Answer<Blob>> {
    const wanted = wantedVariant(call.query, { accept: call.headers.accept, sizes })
    const variant = wanted && (await variants.get(file, wanted, imageCallerOf(call)))
    return answerContent(
      { ...contentOf(file), ...caching, ...variant },
      {
        headers: call.headers,
        isHead: call.isHead,
        isDownload: call.query.download !== undefined,
        log: () => call.log,
      },
    )
  }

  return {
    download: endpoint(
      {
        summary: 'Get the bytes of a file',
        description:
          'Needs a token of a caller who may read the file, or a document that has it, or that of a link. None if everybody may read the document. Supports ranges and conditional requests.',
        access: 'optional',
        // A page can show hundreds of files, and a player asks for many ranges.
        limit: { rate: '60000/min', countedIn: 'process' },
        params: OneFile,
        query: ContentQuery,
        headers: ImageHeaders,
        reply: { 200: Bytes, 206: Bytes, 304: NoBody },
        errors: [...CONTENT_ERRORS, storeErrors.file_pending, storeErrors.file_refused],
      },
      async (call) => {
        const { id } = call.params
        const { token } = call.query
        if (token !== undefined) links.verify(id, token)
        const file = await (token === undefined ? files.read(id, call.caller) : files.get(id, allRows))
        return answerFile(call, requireReady(file))
      },
    ),
    public: endpoint(
      {
        summary: 'Get the bytes of a public file',
        description:
          'The address is the `url` of the record. It needs no token, and answers as long as the file is public; caches may keep the answer for a year.',
        access: 'public',
        limit: { rate: '60000/min', countedIn: 'process' },
        params: Type.Object({
          name: Type.String({
            pattern: PUBLIC_NAME,
            description: 'The last part of the `url` of its record.',
            examples: ['3f2b8c5d9e014a67b0c1d2e3f4a5b6c7.jpg'],
          }),
        }),
        query: PublicQuery,
        headers: ImageHeaders,
        answerHeaders: PUBLIC_HEADERS,
        reply: { 200: Bytes, 206: Bytes, 304: NoBody },
        errors: CONTENT_ERRORS,
      },
      async (call) =>
        answerFile(call, await publicFiles.get(call.params.name), { cacheControl: FOR_A_YEAR, recent }),
    ),
    createLink: endpoint(
      {
        summary: 'Create a link to a file',
        description:
          'The link gives access to the bytes of this file and to its resized images, without a token, until it expires.',
        access: 'user',
        params: OneFile,
        body: json(
          Type.Object(
            {
              expiresIn: Type.Integer({
                minimum: 1,
                maximum: LONGEST_LINK_SECONDS,
                default: 3600,
                description: 'Seconds, up to 7 days.',
              }),
            },
            { title: 'CreateFileLinkRequest' },
          ),
        ),
        reply: { 200: Link },
        errors: [errors.not_found],
      },
      async ({ params: { id }, body, caller }) => {
        await files.read(id, caller)
        return links.sign(id, body.expiresIn)
      },
    ),
  }
}

/** What an answer depends on beside its file. */
type ContentCall = Pick<Call, 'caller' | 'ip' | 'signal' | 'isHead' | 'log'> & {
  query: Omit<Static<typeof ContentQuery>, 'token'>
  headers: Static<typeof ImageHeaders>
}

/** For whom an image is resized. */
const imageCallerOf = (call: ContentCall): ImageCaller => ({
  name: countedFor(call),
  signal: call.signal,
})
