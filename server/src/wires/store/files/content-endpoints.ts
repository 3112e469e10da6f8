import { errors } from '../../../base/errors.ts'
import { Type } from '../../../base/schema.ts'
import { allRows } from '../../../base/row-filter.ts'
import type { Caller } from '../../../http/access.ts'
import { json } from '../../../http/bodies.ts'
import { countedFor } from '../../../http/limits.ts'
import { Bytes, NoBody, endpoint } from '../../../http/route.ts'
import { storeErrors } from '../errors.ts'
import type { Objects } from '../objects/objects.ts'
import { answerContent, type Content } from './file-content.ts'
import type { FileRow, Files } from './files.ts'
import type { Links } from './links.ts'
import { OneFile } from './one-file.ts'
import type { ImageCaller } from './resize.ts'
import { SIDE_PARAMETERS, SIZE_PARAMETERS, wantedVariant } from './variant-query.ts'
import type { Variants } from './variants.ts'

const LONGEST_LINK_SECONDS = 7 * 24 * 3600

const optionalText = (description: string) => Type.Optional(Type.String({ description }))
const ContentQuery = Type.Object({
  token: Type.Optional(Type.String({ maxLength: 100, description: 'The token of a link.' })),
  download: optionalText('With any value, also none: an attachment, whatever the type.'),
  ...SIZE_PARAMETERS,
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
  links,
  objects,
  variants,
  sizes,
}: {
  files: Files
  links: Links
  objects: Objects
  variants: Variants
  /** Those of images that everybody may ask for. */
  sizes: readonly string[]
}) {
  const contentOf = (file: FileRow): Content => ({
    what: `file ${file.id}`,
    name: file.original_name,
    contentType: file.content_type,
    size: file.size,
    etag: `"${file.sha256}"`,
    modifiedAt: file.created_at,
    open: (range) => objects.read('uploads', file.object, range),
  })

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
        errors: [
          errors.not_found,
          errors.precondition_failed,
          storeErrors.range_not_satisfiable,
          storeErrors.image_too_large,
          storeErrors.image_unreadable,
        ],
      },
      async (call) => {
        const { id } = call.params
        const { token, download } = call.query
        if (token !== undefined) links.verify(id, token)
        const file = await (token === undefined ? files.read(id, call.caller) : files.get(id, allRows))
        const wanted = wantedVariant(call.query, { accept: call.headers.accept, sizes })
        const content = contentOf(file)
        const variant = wanted && (await variants.get(file, wanted, imageCallerOf(call)))
        return answerContent(
          { ...content, ...variant },
          {
            headers: call.headers,
            isHead: call.isHead,
            isDownload: download !== undefined,
            log: () => call.log,
          },
        )
      },
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

/** For whom an image is resized. */
const imageCallerOf = (call: {
  caller: Caller | undefined
  ip: string
  signal: AbortSignal
}): ImageCaller => ({
  name: countedFor(call),
  signal: call.signal,
})
