import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { promisify } from 'node:util'
import { constants, brotliCompress } from 'node:zlib'

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

import { asset, isBuilt } from '../base/asset.ts'
import { errors } from '../base/errors.ts'
import { onceResolved } from '../base/once.ts'

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.map': 'application/json; charset=utf-8',
}

// Scripts and sheets are the server's own files, and no script can parse text as HTML: https://www.w3.org/TR/trusted-types/
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob: data:",
  "font-src 'none'",
  "connect-src 'self'",
  "frame-src 'self'",
  "frame-ancestors 'none'",
  "form-action 'none'",
  "base-uri 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const PAGE_HEADERS = {
  'content-security-policy': POLICY,
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'x-frame-options': 'DENY',
}
// Their names have a hash of what they hold.
const ASSET_HEADERS = {
  'cache-control': 'public, max-age=31536000, immutable',
  'cross-origin-resource-policy': 'same-origin',
  vary: 'accept-encoding',
}

type PageFile = { bytes: Buffer; compressed: Buffer; type: string; etag: string }
type PageFiles = ReadonlyMap<string, PageFile>

const compress = promisify(brotliCompress)

/** The addresses of the console's page and its files. `POST /console/session` is a route of auth. */
export const CONSOLE = [
  { method: 'GET', path: '/console' },
  { method: 'GET', path: '/console/assets/:name' },
] as const

/** The files by their names: from the package, or bundled from a checkout. */
async function readFiles(): Promise<Map<string, Buffer>> {
  if (!isBuilt) {
    // Not a literal, so that the server's own bundle does not hold the bundler.
    const bundler = asset('../../scripts/build/pages.ts').href
    const { bundlePages } = (await import(bundler)) as {
      bundlePages: () => Promise<{ files: Map<string, Buffer> }>
    }
    return (await bundlePages()).files
  }
  const folder = asset('../dist/pages/')
  const names = await readdir(folder)
  return new Map(
    await Promise.all(
      names.map(async (name) => [name, await readFile(new URL(name, folder))] as [string, Buffer]),
    ),
  )
}

/** Loads the files of all pages, once in a process. */
export const loadPageFiles = onceResolved(async (): Promise<PageFiles> => {
  const files = [...(await readFiles())].map(async ([name, bytes]): Promise<[string, PageFile]> => {
    const params = { [constants.BROTLI_PARAM_QUALITY]: 6 }
    return [
      name,
      {
        bytes,
        compressed: await compress(bytes, { params }),
        type: TYPES[extname(name)]!,
        etag: `"${createHash('sha256').update(bytes).digest('base64url')}"`,
      },
    ]
  })
  return new Map(await Promise.all(files))
})

/** Answers with a file that pages load. @throws NOT_FOUND if there is none of this name */
export async function sendAsset(
  name: string,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const file = name.endsWith('.html') ? undefined : (await loadPageFiles()).get(name)
  if (!file)
    throw errors.not_found({ message: `There is no file ${name.slice(0, 100)}: load the page again.` })
  const ifNoneMatch = request.headers['if-none-match'] ?? ''
  reply.headers({ ...ASSET_HEADERS, etag: file.etag })
  if (ifNoneMatch.includes(file.etag)) return reply.code(304).send()
  reply.type(file.type)
  const isCompressed = /\bbr\b/.test(request.headers['accept-encoding'] ?? '')
  return isCompressed ? reply.header('content-encoding', 'br').send(file.compressed) : reply.send(file.bytes)
}

/** Serves the console at `/console`. Its files are loaded at the first request, so that a start does not pay for them. */
export function registerConsole(engine: FastifyInstance): void {
  engine.get('/console', async (_request, reply) => {
    const page = (await loadPageFiles()).get('console.html')!
    return reply.headers(PAGE_HEADERS).type(page.type).send(page.bytes)
  })
  // Addresses in the page are relative to `/console`.
  engine.get('/console/', async (_request, reply) => reply.redirect('../console', 308))
  engine.get<{ Params: { name: string } }>('/console/assets/:name', (request, reply) =>
    sendAsset(request.params.name, request, reply),
  )
}
