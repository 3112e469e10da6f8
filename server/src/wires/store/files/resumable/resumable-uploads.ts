import { errors, type ApiError } from '../../../../base/errors.ts'
import { newId } from '../../../../base/ids.ts'
import { ConstraintError, requireRow, type Step } from '../../../../db/database.ts'
import { isOneOf } from '../../../../db/is-one-of.ts'
import { sql, type Sql } from '../../../../db/sql.ts'
import type { WireContext } from '../../../../kernel/wire/wire.ts'
import { noUpload } from '../../errors.ts'
import type { NewObject, Objects } from '../../objects/objects.ts'
import { isExceeded, type FileOwner, type Quota } from '../../quota.ts'
import { metadataBytes } from '../files.ts'
import type { AdoptableObject } from '../receiving/receive-files.ts'
import { declaredFileOf } from './tus.ts'

/** How long an upload is stored after its last bytes. */
const RETENTION_MS = 86_400_000
/** How long another request waits for one that makes the file, after the last sign of it. */
export const JOIN_MS = 60_000
const REMOVED_AT_ONCE = 100
const EXPIRE_MS = 600_000

/** A file that arrives by several requests. */
export type ResumableUpload = {
  id: string
  owner: string
  owner_kind: FileOwner['kind']
  size: number
  /** As it was sent: see `declaredFileOf`. */
  metadata: string
  /** How many bytes are stored. */
  received: number
  /** The request that may append. */
  writer: string | null
  joined_until: number
  file_id: string | null
  expires_at: number
  /** Of a direct upload until it is complete: the key of the object. */
  object: string | null
  /** The id of the upload in the bucket. */
  bucket_upload: string | null
  /** How many bytes each part has, but the last. */
  part_size: number | null
}

/** An upload whose client sends the bytes to the bucket. */
export type DirectUpload = ResumableUpload & { object: string; bucket_upload: string; part_size: number }

/** A piece that is stored: an object of the uploads storage. */
export type Piece = { start: number; size: number; object: string }

export type ResumableUploads = {
  /**
   * Creates an upload, and reserves room for all of it.
   *
   * @param upload.partSize of a direct upload, in bytes
   * @param upload.key of a call that may be repeated
   * @returns also whether an earlier call under the key has created it
   * @throws QUOTA_EXCEEDED; IDEMPOTENCY_CONFLICT if that was another upload
   */
  create(
    owner: FileOwner,
    upload: { size: number; metadata: string; partSize?: number | undefined; key?: string | undefined },
  ): Promise<{ upload: ResumableUpload; isRepeated: boolean }>
  /** Stores the id of the bucket's upload, unless another request has stored one. @throws CONFLICT if the upload has ended */
  setBucketUpload(upload: ResumableUpload, bucketUpload: string): Promise<DirectUpload>
  /** Claims the object that the client has uploaded as the only piece. @throws CONFLICT if the upload has ended */
  claimObject(upload: DirectUpload): Promise<ResumableUpload>
  /** @throws NOT_FOUND also if it has expired, or is another caller's */
  get(id: string, owner: string): Promise<ResumableUpload>
  /**
   * Lets a request append from an offset on. An earlier one that may append still, such as one whose client is gone, appends no
   * more.
   *
   * @throws NOT_FOUND; CONFLICT with the offset that is right
   */
  take(id: string, owner: string, offset: number): Promise<ResumableUpload & { writer: string }>
  /** Appends pieces that are written. @throws CONFLICT if another request appends now, or the upload has ended */
  append(upload: ResumableUpload, start: number, objects: readonly NewObject[]): Promise<ResumableUpload>
  /**
   * Keeps an upload, its room, and pieces that are written and not appended yet, for as long as if they had arrived now.
   *
   * @throws CONFLICT if another request appends now, or the upload has ended
   */
  extend(upload: ResumableUpload, written: readonly NewObject[]): Promise<void>
  pieces(id: string): Promise<readonly Piece[]>
  /** The object of the only piece, which becomes the file's. @throws CONFLICT in the batch if the upload has ended */
  adoptPiece(id: string, piece: Piece): AdoptableObject
  /** Lets one request at a time make the file. @returns the upload if this one may, for a minute */
  join(id: string): Promise<ResumableUpload | undefined>
  /** Goes on with it for as long again. */
  stay(id: string): Promise<void>
  /** Ends `join` of a request that has failed. */
  leave(id: string): Promise<void>
  /** The steps of the batch that creates the file. @throws CONFLICT if another one was, or the upload has ended */
  finishSql(id: string, fileId: string): Step[]
  /** Ends an upload; a file that it has become stays. @throws NOT_FOUND */
  remove(id: string, owner: string): Promise<void>
  /** Ends all uploads of an account. */
  eraseOf(owner: string, stopping: AbortSignal): Promise<void>
}

type Context = Pick<WireContext, 'db' | 'clock' | 'jobs'>

export function createResumableUploads(
  { db, clock, jobs }: Context,
  { objects, quota }: { objects: Objects; quota: Quota },
): ResumableUploads {
  const COLUMNS = sql.literal(
    'id, owner, owner_kind, size, metadata, received, writer, joined_until, file_id, expires_at, object, bucket_upload, part_size',
  )

  async function get(id: string, owner: string): Promise<ResumableUpload> {
    const row = await db.get(sql<ResumableUpload>`
      select ${COLUMNS} from store_uploads
      where id = ${id} and owner = ${owner} and expires_at > ${clock.now()}`)
    if (!row) throw noUpload(id)
    return row
  }

  async function findByKey({ id }: FileOwner, key = ''): Promise<ResumableUpload | undefined> {
    if (key === '') return undefined
    const ofKey = sql`owner = ${id} and creation_key = ${key}`
    const row = await db.get(sql<ResumableUpload>`select ${COLUMNS} from store_uploads where ${ofKey}`)
    const now = clock.now()
    if (!row || row.expires_at > now) return row
    // Not the next one under the key, which another request may have created.
    await removeAll(sql`${ofKey} and expires_at <= ${now}`, new AbortController().signal)
    return undefined
  }

  async function insert(
    owner: FileOwner,
    {
      size,
      metadata,
      partSize,
      key,
    }: { size: number; metadata: string; partSize?: number | undefined; key: string | undefined },
  ): Promise<ResumableUpload> {
    const now = clock.now()
    const due = now + RETENTION_MS
    const object = partSize === undefined ? undefined : objects.allocate('uploads', due)
    const row: ResumableUpload = {
      id: newId(now),
      owner: owner.id,
      owner_kind: owner.kind,
      size,
      metadata,
      received: 0,
      writer: null,
      joined_until: 0,
      file_id: null,
      expires_at: due,
      object: object?.key ?? null,
      bucket_upload: null,
      part_size: partSize ?? null,
    }
    await quota.hold(owner, { id: row.id, bytes: size + bytesOfMetadata(metadata), due }, (steps) =>
      db.batch([
        ...steps,
        sql.insert('store_uploads', { ...row, creation_key: key ?? null }, ['id']),
        ...(object ? [object.insertSql] : []),
      ]),
    )
    return row
  }

  const directSql = (id: string): Sql<{ key: string }> =>
    sql`select object as key from store_uploads where id = ${id} and object is not null`
  /** The object of an upload that was removed before the bucket had completed it. */
  const orphanSql = (id: string, object: string): Sql<{ key: string }> => sql`
    select cast(${object} as text) as key
    where not exists (select 1 from store_uploads where id = ${id})
      and not exists (select 1 from store_files where object = ${object})`
  const piecesSql = (id: string): Sql<{ key: string }> =>
    sql`select object as key from store_upload_pieces where upload_id = ${id}`

  /** @param condition of the upload */
  const removeSql = (id: string, condition: Sql): Step[] => [
    // It locks the upload, so that no piece is added.
    requireRow(sql`select id from store_uploads where id = ${id} and ${condition} ${sql.forUpdate}`, () =>
      noUpload(id),
    ),
    ...objects.discardSql('uploads', sql`${directSql(id)} union all ${piecesSql(id)}`),
    sql`delete from store_uploads where id = ${id}`,
    sql`delete from store_upload_pieces where upload_id = ${id}`,
    quota.releaseSql(id),
  ]

  /** Ends all uploads that fulfil a condition. */
  async function removeAll(condition: Sql, stopping: AbortSignal): Promise<void> {
    for (;;) {
      const rows = await db.all(
        sql<{ id: string }>`select id from store_uploads where ${condition} limit ${REMOVED_AT_ONCE}`,
      )
      for (const { id } of rows) {
        if (stopping.aborted) return
        // Another replica may have been first.
        await db.batch(removeSql(id, condition)).catch((error: unknown) => {
          if ((error as ApiError).status !== noUpload(id).status) throw error
        })
      }
      if (rows.length < REMOVED_AT_ONCE) return
    }
  }
  jobs.every('store.uploads', EXPIRE_MS, ({ stopping }) =>
    removeAll(sql`expires_at <= ${clock.now()}`, stopping),
  )

  return {
    get,

    async create(owner, { key, ...wanted }) {
      const earlier = await findByKey(owner, key)
      if (earlier) return sameUpload(earlier, wanted)
      try {
        return { upload: await insert(owner, { key, ...wanted }), isRepeated: false }
      } catch (error) {
        // Another request was faster: there may be no room beside what it has reserved.
        const isSecond = error instanceof ConstraintError || isExceeded(error)
        const first = isSecond ? await findByKey(owner, key) : undefined
        if (first) return sameUpload(first, wanted)
        throw error
      }
    },

    async setBucketUpload({ id }, bucketUpload) {
      const [row] = await db.write(sql<DirectUpload>`
        update store_uploads set bucket_upload = coalesce(bucket_upload, ${bucketUpload})
        where id = ${id} and object is not null returning ${COLUMNS}`)
      if (!row) throw otherWriter()
      return row
    },

    async claimObject({ id, owner, object, size }) {
      const piece: Piece & { upload_id: string } = { upload_id: id, start: 0, size, object }
      const due = clock.now() + RETENTION_MS
      const ended = otherWriter()
      try {
        await db.batch([
          requireRow(
            sql`
              update store_uploads
              set received = size, object = null, bucket_upload = null, expires_at = ${due}
              where id = ${id} and object = ${object} returning id`,
            () => ended,
          ),
          objects.claimSql('uploads', object),
          sql.insert('store_upload_pieces', piece, ['upload_id', 'start']),
          quota.extendSql(id, due),
        ])
      } catch (error) {
        if (error === ended) await db.batch(objects.discardSql('uploads', orphanSql(id, object)))
        throw error
      }
      return get(id, owner)
    },

    async take(id, owner, offset) {
      const writer = newId()
      const [taken] = await db.write(sql<ResumableUpload>`
        update store_uploads set writer = ${writer}
        where id = ${id} and owner = ${owner} and received = ${offset} and object is null and expires_at > ${clock.now()}
        returning ${COLUMNS}`)
      if (!taken) {
        const { received, object } = await get(id, owner)
        throw object === null ? otherOffset(received) : writtenToBucket()
      }
      return { ...taken, writer }
    },

    async append(upload, start, written) {
      const { id, writer } = upload
      const size = written.reduce((sum, one) => sum + one.size, 0)
      const due = clock.now() + RETENTION_MS
      let at = start
      const rows = written.map((one) => {
        const row = { upload_id: id, start: at, size: one.size, object: one.key }
        at += one.size
        return row
      })
      await db.batch([
        requireRow(
          sql`
            update store_uploads set received = ${start + size}, expires_at = ${due}
            where id = ${id} and writer = ${writer} and received = ${start} returning id`,
          otherWriter,
        ),
        ...written.map(({ claimSql }) => claimSql),
        ...rows.map((row) => sql.insert('store_upload_pieces', row, ['upload_id', 'start'])),
        quota.extendSql(id, due),
      ])
      return { ...upload, received: start + size, expires_at: due }
    },

    async extend({ id, writer }, written) {
      const due = clock.now() + RETENTION_MS
      const keys = written.map(({ key }) => key)
      const keysSql = sql<{ key: string }>`select key from store_unclaimed where ${isOneOf('key', keys)}`
      await db.batch([
        requireRow(
          sql`
            update store_uploads set expires_at = ${due} where id = ${id} and writer = ${writer} returning id`,
          otherWriter,
        ),
        objects.extendSql('uploads', keysSql),
        quota.extendSql(id, due),
      ])
    },

    pieces: (id) =>
      db.all(sql<Piece>`
        select start, size, object from store_upload_pieces where upload_id = ${id} order by start`),

    adoptPiece: (id, { object }) => ({
      key: object,
      claimSql: requireRow(
        // Locks the upload first, in the order of `remove`: otherwise a deadlock is possible.
        sql`
          delete from store_upload_pieces
          where object = ${object} and upload_id in (select id from store_uploads where id = ${id} ${sql.forUpdate})
          returning object`,
        otherWriter,
      ),
      // It stays a piece until it is claimed.
      discard: async () => undefined,
    }),

    async join(id) {
      const now = clock.now()
      const [joined] = await db.write(sql<ResumableUpload>`
        update store_uploads set joined_until = ${now + JOIN_MS}
        where id = ${id} and joined_until <= ${now} and (received = size or object is not null) and file_id is null
        returning ${COLUMNS}`)
      return joined
    },

    async stay(id) {
      await db.write(sql`update store_uploads set joined_until = ${clock.now() + JOIN_MS} where id = ${id}`)
    },

    async leave(id) {
      await db.write(sql`update store_uploads set joined_until = 0 where id = ${id}`)
    },

    finishSql: (id, fileId) => [
      requireRow(
        sql`
          update store_uploads set file_id = ${fileId}, writer = null
          where id = ${id} and file_id is null returning id`,
        otherWriter,
      ),
      ...objects.discardSql('uploads', piecesSql(id)),
      sql`delete from store_upload_pieces where upload_id = ${id}`,
    ],

    eraseOf: (owner, stopping) => removeAll(sql`owner = ${owner}`, stopping),
    remove: async (id, owner) => void (await db.batch(removeSql(id, sql`owner = ${owner}`))),
  }
}

/** @throws IDEMPOTENCY_CONFLICT */
function sameUpload(upload: ResumableUpload, wanted: { size: number; metadata: string }) {
  if (upload.size !== wanted.size || upload.metadata !== wanted.metadata)
    throw errors.idempotency_conflict({ message: 'Another upload was created under this Idempotency-Key.' })
  return { upload, isRepeated: true }
}

const otherOffset = (offset: number): ApiError =>
  errors.conflict({
    message: `The upload has ${offset} bytes: go on from there.`,
    details: { offset },
    headers: { 'upload-offset': String(offset) },
  })

const writtenToBucket = (): ApiError =>
  errors.conflict({
    message: 'The bytes of this upload go to the bucket: GET the upload for the URLs of its parts.',
  })

const otherWriter = (): ApiError =>
  errors.conflict({ message: 'Another request has continued or ended this upload: ask for its offset.' })

/** How many bytes the metadata of the file will count, of the header that names them. */
const bytesOfMetadata = (header: string): number =>
  metadataBytes(JSON.stringify(declaredFileOf(header).metadata ?? {}))
