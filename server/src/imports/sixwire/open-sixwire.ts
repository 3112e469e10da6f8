import { createReadStream, existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'

import { ApiError, invalid } from '../../base/errors.ts'
import { jsonLinesIn } from '../../base/json-lines.ts'
import { StartError } from '../../base/start-error.ts'
import { declarationOf, recordsOf, type CollectionOption } from '../../wires/store/index.ts'
import { contentIn, type SourceFile } from '../store-files.ts'
import type { ImportSource, SourceCollection } from '../source.ts'

/** A user may have 16 KiB of metadata, a file 64 KiB. */
const LINE_MAX = 1_048_576
const COMING = ['documents', 'files']

/**
 * Opens what `sixwire export --all` has written. Users, documents and files keep their ids.
 *
 * @throws StartError if the folder is none of these
 */
export async function openSixwire(dir: string): Promise<ImportSource> {
  if (!existsSync(join(dir, 'README.md')) || !existsSync(join(dir, 'collections.json')))
    throw new StartError(`${dir}: this is no export: name the folder that "sixwire export --all" has written`)
  const declared = await declaredIn(join(dir, 'collections.json'))
  const stored = (await namesIn(join(dir, 'documents'))).map((name) => basename(name, '.ndjson'))
  const names = [...new Set([...Object.keys(declared), ...stored])].toSorted()
  const { users, withoutPassword } = await countUsers(join(dir, 'users.ndjson'))
  const others = (await namesIn(dir, true)).filter((name) => !COMING.includes(name))
  return {
    collections: await Promise.all(names.map((name) => collectionIn(dir, name, declared[name]))),
    notes: [
      ...(withoutPassword > 0
        ? [
            `${withoutPassword} of ${users} users come without a password and a second factor, unless they had none: export with --secrets, or let them set one`,
          ]
        : []),
      ...(others.length > 0
        ? [
            `the records in ${others.join(', ')} are for reading: "sixwire archive" and "sixwire move" take payments, messages, wallets, sessions, keys and logs along`,
          ]
        : []),
    ],
    users: { count: users, read: () => objectsIn(join(dir, 'users.ndjson')) },
    files: { count: await countLines(join(dir, 'files.ndjson')), read: () => filesIn(dir) },
    close: () => undefined,
  }
}

async function declaredIn(file: string): Promise<Record<string, CollectionOption>> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Record<string, CollectionOption>
  } catch (cause) {
    throw new StartError(`${file} cannot be read: ${(cause as Error).message}`, { cause })
  }
}

async function collectionIn(
  dir: string,
  name: string,
  option: CollectionOption | undefined,
): Promise<SourceCollection> {
  const file = join(dir, 'documents', `${name}.ndjson`)
  return {
    name,
    declaration: option === undefined ? {} : declarationOf(option, name),
    notes: option === undefined ? ['was not declared: the policy says who may read and write'] : [],
    count: await countLines(file),
    async *read() {
      if (existsSync(file)) yield* recordsOf('ndjson', createReadStream(file), undefined)
    },
  }
}

async function* filesIn(dir: string): AsyncGenerator<SourceFile> {
  for await (const { path, _id, name, owner, contentType, metadata } of objectsIn(join(dir, 'files.ndjson')))
    yield {
      id: _id as string,
      from: `/store/files/${String(_id)}/content`,
      name: name as string,
      owner: owner as string,
      contentType: contentType as string,
      metadata: metadata as Record<string, unknown>,
      async open() {
        // A part of a path is none of a file.
        if (typeof path !== 'string' || path !== basename(path))
          throw invalid({ path: '/path', message: 'must be the name of a file' })
        return contentIn(join(dir, 'files'), path)
      },
    }
}

async function countUsers(file: string): Promise<{ users: number; withoutPassword: number }> {
  let [users, withoutPassword] = [0, 0]
  for await (const user of objectsIn(file)) {
    users++
    if (user['passwordHash'] === undefined) withoutPassword++
  }
  return { users, withoutPassword }
}

/** The objects of a file of NDJSON, which may be missing. @throws StartError for a line that is none */
async function* objectsIn(file: string): AsyncGenerator<Record<string, unknown>> {
  if (!existsSync(file)) return
  for await (const { line, value } of jsonLinesIn(createReadStream(file), {
    lineMax: LINE_MAX,
    noun: 'record',
  })) {
    if (value instanceof ApiError) throw new StartError(`${file}: line ${line} is no object of JSON`)
    yield value
  }
}

async function countLines(file: string): Promise<number> {
  let count = 0
  if (existsSync(file))
    for await (const piece of createReadStream(file) as AsyncIterable<Buffer>)
      for (let at = piece.indexOf(0x0a); at !== -1; at = piece.indexOf(0x0a, at + 1)) count++
  return count
}

async function namesIn(dir: string, areFolders = false): Promise<string[]> {
  if (!existsSync(dir)) return []
  const entries = await readdir(dir, { withFileTypes: true })
  return entries.filter((one) => one.isDirectory() === areFolders).map(({ name }) => name)
}
