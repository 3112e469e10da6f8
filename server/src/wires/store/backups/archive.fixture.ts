import { createHash } from 'node:crypto'
import { constants, zstdCompressSync } from 'node:zlib'

import tar from 'tar-stream'

import { newId } from '../../../base/ids.ts'
import { FORMAT, FORMAT_WITH_DEFINITIONS } from './archive-format.ts'

export const sha256 = (bytes: Buffer | string): string => createHash('sha256').update(bytes).digest('hex')

/** An entry of a tar as a test writes it. */
export type Entry = Partial<tar.Header> & { name: string; bytes?: Buffer }

/** The text of a tar with these entries. */
export async function tarOf(entries: readonly Entry[]): Promise<Buffer> {
  const pack = tar.pack()
  for (const { bytes = Buffer.alloc(0), ...header } of entries)
    pack.entry({ mode: 0o600, mtime: new Date(0), ...header }, bytes)
  pack.finalize()
  const parts: Buffer[] = []
  for await (const part of pack) parts.push(part as Buffer)
  return Buffer.concat(parts)
}

/** The header of a regular file, whatever its size. */
export async function tarHeader(name: string, size: number): Promise<Buffer> {
  const pack = tar.pack()
  pack.entry({ name, size })
  for await (const header of pack) return header as Buffer
  throw new Error('no header was written')
}

export const compressed = (bytes: Buffer, checksum = 1): Buffer =>
  zstdCompressSync(bytes, { params: { [constants.ZSTD_c_checksumFlag]: checksum } })

export const archiveOf = async (entries: readonly Entry[]): Promise<Buffer> =>
  compressed(await tarOf(entries))

export type FixtureDocument = { id: string; owner: string; version: number; text: string }
export type FixtureFile = {
  id: string
  owner: string
  name: string
  bytes: Buffer
  metadata?: string
  /** What else is known of it, as JSON of further members; '' as an earlier version wrote it. */
  state?: string
}

export const stateOf = (id: string, status = '"ready","refusal":null'): string =>
  `,"access":"public","publicKey":"${sha256(id).slice(0, 32)}","status":${status},"image":{"width":1},"attachedBy":"a.b"`

const AT = '2026-11-22T23:00:00.000Z'

/** A document with these further fields, as JSON without its braces. */
export const documentOf = (fields: string, owner = newId(), version = 1): FixtureDocument => {
  const id = newId()
  const own = `"_id":"${id}","createdAt":"${AT}","updatedAt":"${AT}"`
  return { id, owner, version, text: `{${own}${fields === '' ? '' : `,${fields}`}}` }
}

const jsonLines = (lines: readonly string[]): Buffer => Buffer.from(lines.map((line) => `${line}\n`).join(''))

const linesOf = (bytes: Buffer) => ({
  lines: bytes.toString('latin1').split('\n').length - 1,
  size: bytes.length,
  sha256: sha256(bytes),
})

/** The entries of an archive, whole and right. */
export function entriesOf(
  collections: Record<string, readonly FixtureDocument[]>,
  files: readonly FixtureFile[] = [],
  definitions: Record<string, object> = {},
): Entry[] {
  const definitionLines = jsonLines(
    Object.entries(definitions).map(([id, definition]) => JSON.stringify({ id, definition })),
  )
  const hasDefinitions = definitionLines.length > 0
  const entries: Entry[] = Object.entries(collections).map(([name, documents]) => ({
    name: `collections/${name}.jsonl`,
    bytes: jsonLines(
      documents.map(
        ({ id, owner, version, text }) =>
          `{"id":"${id}","owner":${JSON.stringify(owner)},"version":${version},"document":${text}}`,
      ),
    ),
  }))
  const lines = jsonLines(
    files.map(
      ({ id, owner, name, bytes, metadata = '{}', state = stateOf(id) }) =>
        `{"id":"${id}","owner":${JSON.stringify(owner)},"originalName":${JSON.stringify(name)},` +
        `"contentType":"text/plain; charset=utf-8","size":${bytes.length},"sha256":"${sha256(bytes)}",` +
        `"createdAt":1763852400000${state},"metadata":${metadata}}`,
    ),
  )
  const manifest = {
    format: hasDefinitions ? FORMAT_WITH_DEFINITIONS : FORMAT,
    sixwire: '0.1.0',
    createdAt: AT,
    collections: entries.map(({ name, bytes }) => ({
      name: /\/(.*)\.jsonl$/.exec(name)![1],
      ...linesOf(bytes!),
    })),
    ...(hasDefinitions && { definitions: linesOf(definitionLines) }),
    files: { ...linesOf(lines), bytes: files.reduce((sum, { bytes }) => sum + bytes.length, 0) },
  }
  return [
    ...entries,
    ...(hasDefinitions ? [{ name: 'definitions.jsonl', bytes: definitionLines }] : []),
    { name: 'files.jsonl', bytes: lines },
    ...files.map(({ id, bytes }) => ({ name: `files/${id}`, bytes })),
    { name: 'manifest.json', bytes: Buffer.from(JSON.stringify(manifest)) },
  ]
}

/** A small archive in which each kind of entry occurs, with odd texts. */
export const sampleEntries = (): Entry[] =>
  entriesOf(
    {
      Books: [
        documentOf('"":1,"title":"Momo \\" é ,\\"document\\":"', 'a"b', 7),
        documentOf('"n":123456789012345670000,"x":1.5,"__a":{"b":[[],{}]}'),
        documentOf(''),
      ],
      books: [documentOf(`"long":"${'ü'.repeat(2_000)}"`)],
      z: [],
    },
    sampleFiles(),
  )

export const sampleFiles = (): FixtureFile[] => [
  {
    id: newId(),
    owner: 'owner',
    name: '../ü"\n.txt',
    bytes: Buffer.from('hello'),
    metadata: '{"b":1,"a":2}',
  },
  { id: newId(), owner: 'owner', name: 'empty', bytes: Buffer.alloc(0) },
  { id: newId(), owner: 'other', name: 'large', bytes: Buffer.alloc(70_000, 'abc') },
]

/** The bytes in pieces, as a storage reads them. */
export async function* piecesOf(bytes: Buffer, length = 65_536): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length)
}
