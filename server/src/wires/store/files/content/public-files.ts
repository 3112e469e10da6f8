import { sql } from '../../../../db/sql.ts'
import type { WireContext } from '../../../../kernel/wire/wire.ts'
import type { FileUses } from '../../documents/file-fields/file-uses.ts'
import { noFile } from '../../errors.ts'
import { contentUrlOf } from '../addresses/links.ts'
import { publicKeyOf, publicUrlOf } from '../addresses/file-address.ts'
import { FILE_COLUMNS, type FileRow } from '../files.ts'

/** Files that everybody may read who knows their address: by themselves, or by a document that has them in a field of public files. */
export function createPublicFiles(
  { db }: Pick<WireContext, 'db'>,
  { uses }: { uses: Pick<FileUses, 'publicOf'> },
  { publicUrl }: { publicUrl: string },
) {
  async function publicIdsOf(files: readonly FileRow[]): Promise<ReadonlySet<string>> {
    const byThemselves = files.filter(({ access }) => access === 'public').map(({ id }) => id)
    const others = files.filter(({ access }) => access !== 'public')
    return new Set([...byThemselves, ...(others.length === 0 ? [] : await uses.publicOf(others))])
  }

  return {
    /** @param name of its public address @throws not_found unless it is public and ready now */
    async get(name: string): Promise<FileRow> {
      const file = await db.get(sql<FileRow>`
        select ${FILE_COLUMNS} from store_files where public_key = ${publicKeyOf(name)}`)
      const isPublic = file?.status === 'ready' && (await publicIdsOf([file])).has(file.id)
      if (!file || !isPublic) throw noFile(name)
      return file
    },

    /**
     * Where the bytes of files are.
     *
     * @param otherwise of those that are not public. Default: for callers with a token
     */
    async urlsOf(
      files: readonly FileRow[],
      otherwise = ({ id }: FileRow): string => contentUrlOf(publicUrl, id),
    ): Promise<(file: FileRow) => string> {
      const ids = await publicIdsOf(files)
      return (file) => (ids.has(file.id) ? publicUrlOf(publicUrl, file) : otherwise(file))
    },
  }
}

export type PublicFiles = ReturnType<typeof createPublicFiles>
