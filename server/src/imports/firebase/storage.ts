import { readdir } from 'node:fs/promises'
import { join } from 'node:path'

import { contentIn, type SourceFile } from '../store-files.ts'

/** https://firebase.google.com/docs/storage/web/download-files, and the address of a file in a bucket. */
const ADDRESSES = [
  /^https?:\/\/[^\s/]+\/v0\/b\/[^\s/]+\/o\/([^\s?#/]+)/,
  /^https?:\/\/storage\.googleapis\.com\/[^\s/]+\/([^\s?#]+)/,
  /^gs:\/\/[^\s/]+\/(\S+)$/,
]

/** A text, or the new address of the file whose address it was. */
export function addressIn(text: string, addressOf: (from: string) => string): string {
  for (const address of ADDRESSES) {
    const [, path] = address.exec(text) ?? []
    if (path === undefined) continue
    const from = decoded(path)
    return addressOf(from) === from ? text : addressOf(from)
  }
  return text
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

/**
 * The files of a folder, as a bucket is downloaded. One belongs to the account whose id is a part of its path.
 *
 * @returns undefined if there is no such folder, or nothing in it
 */
export async function openStorage(dir: string, accounts: ReadonlySet<string>) {
  const paths: string[] = []
  const entries = await readdir(dir, { recursive: true, withFileTypes: true }).catch(() => [])
  for (const entry of entries)
    if (entry.isFile())
      paths.push(
        join(entry.parentPath, entry.name)
          .slice(dir.length + 1)
          .replaceAll('\\', '/'),
      )
  if (paths.length === 0) return undefined
  return {
    count: paths.length,
    *read(): Generator<SourceFile> {
      for (const path of paths.toSorted()) {
        const parts = path.split('/')
        yield {
          from: path,
          name: parts.at(-1)!,
          owner: parts.find((part) => accounts.has(part)),
          metadata: { path },
          open: () => contentIn(dir, path),
        }
      }
    },
  }
}
