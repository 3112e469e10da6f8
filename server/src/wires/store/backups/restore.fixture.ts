import assert from 'node:assert/strict'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import type { App } from '../../../app.ts'
import { sql } from '../../../db/sql.ts'
import { temporaryFolder, type Ending } from '../../../testing/engines.ts'

/** Writes an archive to a file. */
export async function fileOf(ending: Ending, bytes: Buffer): Promise<string> {
  const file = join(await temporaryFolder(ending), 'archive.tar.zst')
  await writeFile(file, bytes)
  return file
}

/** All rows of documents and files, with what is counted of them. */
export async function stateOf({ db }: App) {
  const counted = (table: string, key: string, value: string) =>
    db.scan(
      sql`${sql.literal(`
      select ${key}, sum(${value}) as counted from ${table}
      group by ${key} having sum(${value}) <> 0 order by ${key}`)}`,
    )
  const files = await db.scan<{ object?: string }>(sql`select * from store_files order by id`)
  // Each restore writes its objects under new keys.
  for (const file of files) delete file.object
  return {
    documents: await db.scan(sql`
      select collection, id, owner, version, body from store_documents order by collection, id`),
    files,
    counts: await counted('store_counts', 'collection, owner', 'documents'),
    countedBytes: await counted('store_counts', 'collection, owner', 'bytes'),
    usedFiles: await counted('store_usage', 'owner', 'files'),
    usedBytes: await counted('store_usage', 'owner', 'bytes'),
  }
}

/** Waits until nothing is left of restores but the objects of the records. */
export async function assertClean({ db }: App, dataDir: string): Promise<void> {
  // What was replaced is deleted in the background.
  for (let tries = 0; ; tries++) {
    const staged = await db.scan(sql`
      select restore_id from store_restored_documents union all select restore_id from store_restored_files`)
    const named = await db.scan<{ object: string }>(
      sql`select object from store_files union all select object from store_variants`,
    )
    const keys = new Set(named.map(({ object }) => object))
    const entries = await readdir(join(dataDir, 'uploads'), { recursive: true, withFileTypes: true })
    const stored = entries.filter((entry) => entry.isFile()).map(({ name }) => name)
    if (staged.length === 0 && stored.length === keys.size && stored.every((name) => keys.has(name))) return
    assert.ok(
      tries < 1_000,
      `${staged.length} rows are left; ${stored.join()} are stored, ${[...keys].join()} are named`,
    )
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
