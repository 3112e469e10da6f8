import { errors, type ApiError } from '../../../../base/errors.ts'
import { newId } from '../../../../base/ids.ts'
import type { RowFilter } from '../../../../base/row-filter.ts'
import { requireRow, type StepWith } from '../../../../db/database.ts'
import { sql, type Sql } from '../../../../db/sql.ts'
import { createSignedLinks } from '../../../../kernel/secret/signed-links.ts'
import type { WireContext } from '../../../../kernel/wire/wire.ts'
import type { FileOwner } from '../../quota.ts'
import type { FileRow } from '../files.ts'

/** No upload by a link that was opened in time takes longer. */
const RETENTION_MS = 86_400_000

/** What a link takes. */
export type UploadLinkTerms = {
  /** Undefined: any. */
  types?: string[]
  /** How many bytes the file may have. */
  maxBytes: number
  access: FileRow['access']
  metadata: Record<string, unknown>
}

/** An address by which one file is uploaded without an account. */
export type UploadLink = UploadLinkTerms & {
  id: string
  /** Who made it, and has the file. */
  owner: FileOwner
  createdAt: number
  expiresAt: number
  /** The file that was uploaded by it. */
  file: string | null
}

type Row = {
  id: string
  owner: string
  owner_kind: FileOwner['kind']
  types: string | null
  max_bytes: number
  access: FileRow['access']
  metadata: string
  created_at: number
  expires_at: number
  file_id: string | null
}

const linkOf = (row: Row): UploadLink => ({
  id: row.id,
  owner: { kind: row.owner_kind, id: row.owner },
  ...(row.types !== null && { types: JSON.parse(row.types) as string[] }),
  maxBytes: row.max_bytes,
  access: row.access,
  metadata: JSON.parse(row.metadata) as Record<string, unknown>,
  createdAt: row.created_at,
  expiresAt: row.expires_at,
  file: row.file_id,
})

export function createUploadLinks(
  { db, clock }: Pick<WireContext, 'db' | 'clock'>,
  { secret, publicUrl }: { secret: string; publicUrl: string },
) {
  const links = createSignedLinks({ clock }, { secret, purpose: 'store-upload-link', of: 'an upload' })

  async function find(id: string, where = sql.literal('')): Promise<UploadLink> {
    const row = await db.get(sql<Row>`
      select id, owner, owner_kind, types, max_bytes, access, metadata, created_at, expires_at, file_id
      from store_upload_links where id = ${id}${where}`)
    if (!row) throw noLink(id)
    return linkOf(row)
  }

  return {
    /** @param expiresIn seconds */
    async create(
      owner: FileOwner,
      { types, maxBytes, access, metadata }: UploadLinkTerms,
      expiresIn: number,
    ): Promise<{ id: string; url: string; expiresAt: string }> {
      const now = clock.now()
      const id = newId(now)
      const row: Row = {
        id,
        owner: owner.id,
        owner_kind: owner.kind,
        types: types ? JSON.stringify(types) : null,
        max_bytes: maxBytes,
        access,
        metadata: JSON.stringify(metadata),
        created_at: now,
        expires_at: now + expiresIn * 1000,
        file_id: null,
      }
      const { url, expiresAt } = links.sign(id, `${publicUrl}/store/upload-links/${id}`, expiresIn)
      await db.batch([
        sql`delete from store_upload_links where expires_at <= ${now - RETENTION_MS}`,
        sql.insert('store_upload_links', row, ['id']),
      ])
      return { id, url, expiresAt }
    },

    /** The link of an address. @throws UNAUTHORIZED, NOT_FOUND if it was deleted */
    open(id: string, token: string): Promise<UploadLink> {
      links.verify(id, token)
      return find(id)
    },

    /** @throws NOT_FOUND also if the link is not within the row filter */
    get: (id: string, rowFilter: RowFilter): Promise<UploadLink> => find(id, ownSql(rowFilter)),

    /** Uses a link: a step of the batch that creates the file. @throws CONFLICT if it was used, NOT_FOUND if it was deleted */
    useSql: ({ id }: UploadLink, file: string): StepWith =>
      requireRow(
        sql`update store_upload_links set file_id = ${file} where id = ${id} and file_id is null returning id`,
        usedLink,
      ),

    /** Deletes a link; a file that was uploaded by it stays. @throws NOT_FOUND */
    async remove(id: string, rowFilter: RowFilter): Promise<void> {
      const [removed] = await db.write(sql`
        delete from store_upload_links where id = ${id}${ownSql(rowFilter)} returning id`)
      if (!removed) throw noLink(id)
    },
  }
}

export type UploadLinks = ReturnType<typeof createUploadLinks>

const ownSql = (rowFilter: RowFilter): Sql =>
  rowFilter.rows === 'all' ? sql.literal('') : sql` and owner = ${rowFilter.owner}`

const noLink = (id: string): ApiError =>
  errors.not_found({ message: `Upload link ${id} not found: request a new one.` })

/** A file has been uploaded by it. */
export const usedLink = (): ApiError =>
  errors.conflict({ message: 'This upload link was used or deleted: request a new one.' })
