import type { Database } from '../../../../../db/database.ts'
import { measureSql, selectIndexedSql } from '../sql/entry-rows.ts'
import { EntrySorter, type EntryBatch, type SortedDocuments, type SorterRules } from './entry-sorter.ts'
import { SorterWorker } from './sorter-worker.ts'

// A thread takes longer to start than so few documents take.
const FEW_DOCUMENTS = 250
const FEW_BYTES = 262_144

/** The next entries; undefined at their end. */
export type NextEntries = () => EntryBatch | undefined | Promise<EntryBatch | undefined>

/**
 * Reads all documents of a collection at one moment, and answers their entries in the order of the keys. A thread and a file sort
 * those of many documents.
 *
 * @param use gets what is known of the documents, and the entries
 */
export async function sortEntries<T>(
  db: Database,
  index: SorterRules & { readonly collection: string },
  stopping: AbortSignal,
  use: (sorted: SortedDocuments, next: NextEntries) => Promise<T>,
): Promise<T> {
  const { documents, bytes } = (await db.get(measureSql(index.collection, FEW_DOCUMENTS + 1)))!
  const isFew = documents <= FEW_DOCUMENTS && bytes <= FEW_BYTES
  const sorter = isFew ? new EntrySorter(index) : new SorterWorker(index)
  try {
    return await use(await readDocuments(db, index, sorter, stopping), () => sorter.next())
  } finally {
    await sorter.close()
  }
}

async function readDocuments(
  db: Database,
  index: Parameters<typeof selectIndexedSql>[0],
  sorter: EntrySorter | SorterWorker,
  stopping: AbortSignal,
): Promise<SortedDocuments> {
  if (sorter instanceof EntrySorter) {
    const lines = await db.all(selectIndexedSql(index))
    sorter.add(Buffer.from(lines.map(({ line }) => `${line}\n`).join('')))
    return sorter.end()
  }
  return db.snapshot(async (snapshot) => {
    for await (const lines of snapshot.lines(selectIndexedSql(index))) {
      stopping.throwIfAborted()
      await sorter.add(lines as Uint8Array<ArrayBuffer>)
    }
    return sorter.end()
  })
}
