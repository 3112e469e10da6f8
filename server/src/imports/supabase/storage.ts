import { linesIn } from '../../base/json-lines.ts'
import type { Snapshot } from '../../db/database.ts'
import { sql } from '../../db/sql.ts'
import { contentIn, type SourceFile } from '../store-files.ts'

type StoredObject = {
  readonly bucket_id: string
  readonly name: string
  readonly owner_id?: string | null
  readonly owner?: string | null
  readonly metadata?: { mimetype?: string } | null
}

/** https://supabase.com/docs/guides/storage/serving/downloads */
const ADDRESS =
  /^https?:\/\/[^\s?#]+\/storage\/v1\/(?:object|render\/image)\/(?:public|sign|authenticated)\/([^\s?#]+)/

/** A text, or the new address of the file whose address it was. */
export function addressIn(text: string, addressOf: (from: string) => string): string {
  const [, path] = ADDRESS.exec(text) ?? []
  if (path === undefined) return text
  let from: string
  try {
    from = decodeURIComponent(path)
  } catch {
    return text
  }
  const address = addressOf(from)
  return address === from ? text : address
}

/** How many files a project has; 0 without the tables of the storage. */
export async function countFiles(snapshot: Snapshot): Promise<number> {
  const there = await snapshot.get<{ found: number }>(
    sql`select (to_regclass('storage.objects') is not null)::int as found`,
  )
  if (there!.found === 0) return 0
  return (await snapshot.get<{ n: number }>(sql`select count(*) as n from storage.objects`))!.n
}

/**
 * The files of all buckets.
 *
 * @param dir where their bytes are: a folder for each bucket
 */
export async function* filesIn(snapshot: Snapshot, dir: string): AsyncGenerator<SourceFile> {
  const query = sql<{ line: string }>`
    select to_jsonb(o)::text as line from storage.objects as o order by o.bucket_id, o.name`
  for await (const lines of linesIn(snapshot.lines(query)))
    for (const line of lines) {
      const {
        bucket_id: bucket,
        name,
        owner_id,
        owner,
        metadata,
      } = JSON.parse(line.toString()) as StoredObject
      yield {
        from: `${bucket}/${name}`,
        name: name.split('/').at(-1)!,
        contentType: metadata?.mimetype,
        owner: owner_id ?? owner ?? undefined,
        metadata: { bucket, path: name },
        open: () => contentIn(dir, `${bucket}/${name}`),
      }
    }
}
