import type { Progress } from '../../../../../base/progress.ts'
import { sql } from '../../../../../db/sql.ts'
import type { ExportForm } from '../../../../../kernel/wire/table-export.ts'
import type { CollectionOption } from '../../definition/collection-option.ts'
import { OWNED_TEXT } from './export-documents.ts'

const LINE_BREAK = 0x0a

/** A file of documents for each collection, and how the configuration declares them. */
export const collectionExport = ({
  declaredNow,
}: {
  declaredNow: () => Readonly<Record<string, CollectionOption>>
}): ExportForm => ({
  tables: ['store_documents'],
  about: {
    'collections.json':
      'Collections as the configuration declares them in `store.collections`, without hooks',
    'documents/':
      'The documents of each collection, as `sixwire documents import COLLECTION FILE` reads them',
  },
  async write(folder, snapshot, report) {
    const collections = await snapshot.all(
      sql<{ name: string; documents: number }>`
        select collection as name, count(*) as documents from store_documents group by collection order by collection`,
    )
    const total = collections.reduce((sum, { documents }) => sum + documents, 0)
    let done = 0
    async function* counted(lines: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
      for await (const piece of lines) {
        for (let at = piece.indexOf(LINE_BREAK); at !== -1; at = piece.indexOf(LINE_BREAK, at + 1)) done++
        report({ phase: 'Documents', done, total, unit: 'documents' } satisfies Progress)
        yield piece
      }
    }
    for (const { name } of collections) {
      const rows = sql<{ line: string }>`
        select ${OWNED_TEXT} as line from store_documents d where d.collection = ${name} order by d.id`
      await folder.write(`documents/${name}.ndjson`, counted(snapshot.lines(rows)))
    }
    await folder.write('collections.json', [`${JSON.stringify(declaredNow(), withoutHooks, 2)}\n`])
    return []
  },
})

/** JSON has no functions. */
const withoutHooks = (name: string, value: unknown): unknown =>
  name === 'hooks' && Object.values(value as object).some((one) => typeof one === 'function')
    ? undefined
    : value
