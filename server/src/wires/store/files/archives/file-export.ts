import { isoTime } from '../../../../base/clock.ts'
import type { Progress } from '../../../../base/progress.ts'
import type { Snapshot } from '../../../../db/database.ts'
import { sql } from '../../../../db/sql.ts'
import type { ExportFolder, ExportForm } from '../../../../kernel/wire/table-export.ts'
import { plainNameOf } from './file-names.ts'
import { FILE_COLUMNS, type FileRow } from '../files.ts'
import type { Objects } from '../../objects/objects.ts'
import { NoSuchObject } from '../../objects/storage.ts'
import { withSha256 } from '../../../../base/with-sha256.ts'

const PAGE = 1000
const AT_ONCE = 4

/** Files as files, and a line of NDJSON for each. */
export const fileExport = ({ objects }: { objects: Objects }): ExportForm => ({
  tables: ['store_files'],
  about: {
    'files.ndjson': 'Files as `sixwire files import DIR/files MAP --owners DIR/files.ndjson` reads them',
    'files/': 'Their bytes; each is named by its id and its own name, and has the time of its upload',
  },
  async write(folder, snapshot, report) {
    const missing: string[] = []
    const size = await snapshot.get<{ total: number }>(
      sql`select cast(coalesce(sum(size), 0) as bigint) as total from store_files`,
    )
    let done = 0
    await folder.write('files.ndjson', lines())
    return missing

    async function* lines(): AsyncGenerator<string> {
      for await (const files of pages(snapshot)) {
        for (let at = 0; at < files.length; at += AT_ONCE)
          await Promise.all(files.slice(at, at + AT_ONCE).map(writeFile))
        yield files.map((file) => `${JSON.stringify(lineOf(file))}\n`).join('')
      }
    }

    async function writeFile(file: FileRow): Promise<void> {
      const fault = await writeBytes({ folder, objects }, file)
      if (fault !== undefined) missing.push(`${file.id} (${file.original_name}): ${fault}`)
      done += file.size
      report({ phase: 'Files', done, total: size!.total, unit: 'bytes' } satisfies Progress)
    }
  },
})

/** @returns what is wrong with the bytes */
async function writeBytes(
  { folder, objects }: { folder: ExportFolder; objects: Objects },
  file: FileRow,
): Promise<string | undefined> {
  try {
    const { bytes, digest } = withSha256(await objects.read('uploads', file.object))
    await folder.write(`files/${nameOf(file)}`, bytes, { modifiedAt: file.created_at })
    return digest() === file.sha256 ? undefined : 'its bytes are not those that were uploaded'
  } catch (error) {
    if (error instanceof NoSuchObject) return 'its bytes are missing'
    throw error
  }
}

async function* pages(snapshot: Snapshot): AsyncGenerator<readonly FileRow[]> {
  for (let after = ''; ;) {
    const files = await snapshot.all<FileRow>(sql`
      select ${FILE_COLUMNS} from store_files where id > ${after} order by id limit ${PAGE}`)
    if (files.length > 0) yield files
    if (files.length < PAGE) return
    after = files.at(-1)!.id
  }
}

/** As an import reads it, with what else is known. */
const lineOf = (file: FileRow): object => ({
  path: nameOf(file),
  _id: file.id,
  owner: file.owner,
  name: file.original_name,
  contentType: file.content_type,
  metadata: JSON.parse(file.metadata) as unknown,
  size: file.size,
  sha256: file.sha256,
  access: file.access,
  createdAt: isoTime(file.created_at),
})

/** A name that every file system takes. */
function nameOf({ id, original_name: name }: FileRow): string {
  const { stem, ending } = plainNameOf(name)
  return `${id}-${stem}${ending}`
}
