import type { WireContext } from '../../../kernel/wire/wire.ts'
import { fault, findingIf, warning, type Diagnosis, type Finding } from '../../../kernel/wire/diagnosis.ts'
import { isOneOf } from '../../../db/is-one-of.ts'
import { sql } from '../../../db/sql.ts'
import type { Storages } from '../objects/storage.ts'
import { storageFault } from '../transfers/storage-fault.ts'

/** Of the oldest files, and of the newest ones. */
const SAMPLE = 20
const OVERDUE_MS = 24 * 3_600_000
const OVERDUE_MAX = 1_000

type Sampled = { id: string; object: string; size: number }

/** Whether the storage is that of the records, by a few of them, and whether the garbage collector keeps up. */
export const fileDiagnosis = (
  { db, clock }: Pick<WireContext, 'db' | 'clock'>,
  { storages }: { storages: Storages },
): Diagnosis => ({
  name: 'files',
  about: 'whether the oldest and the newest files have their bytes, and unused objects are deleted',
  opens: { title: 'Show the files', at: 'files' },
  async find() {
    return [...(await lostFiles({ db, storages })), ...(await overdueObjects({ db, clock }))]
  },
})

async function lostFiles({
  db,
  storages: { uploads },
}: Pick<WireContext, 'db'> & { storages: Storages }): Promise<Finding[]> {
  const ofEnd = (order: 'asc' | 'desc') =>
    db.all<Sampled>(
      sql`select id, object, size from store_files order by id ${sql.literal(order)} limit ${SAMPLE}`,
    )
  const ends = [...(await ofEnd('asc')), ...(await ofEnd('desc'))]
  const sampled = [...new Map(ends.map((file) => [file.id, file])).values()]
  try {
    const sizes = await Promise.all(
      sampled.map(async ({ object }) => {
        const found = await uploads.stat(object)
        return found?.isPart === false ? found.size : undefined
      }),
    )
    const missing = sampled.filter(({ size }, at) => size !== sizes[at])
    if (missing.length === 0) return []
    // Those that were deleted meanwhile are no loss.
    const lost = await db.all(
      sql`select id from store_files where ${isOneOf(
        'id',
        missing.map(({ id }) => id),
      )}`,
    )
    return findingIf(lost.length > 0, () => lossOf(lost.length, sampled.length))
  } catch (error) {
    const { message } = storageFault(error) as Error
    return [fault(`the files cannot be read: ${message}`, 'sixwire check says whether they can be stored')]
  }
}

const lossOf = (lost: number, sampled: number): Finding =>
  lost === sampled
    ? fault(
        `none of ${sampled} files that were looked for has its bytes`,
        'see whether DATA_DIR, or S3_BUCKET and store.s3.prefix, are those of this database; sixwire files check looks for all files',
      )
    : fault(
        `${lost} of ${sampled} files that were looked for do not have their bytes`,
        'sixwire files check names all of them, and says what to do',
      )

async function overdueObjects({ db, clock }: Pick<WireContext, 'db' | 'clock'>): Promise<Finding[]> {
  const [{ count } = { count: 0 }] = await db.all(sql<{ count: number }>`
    select count(*) as count from (
      select key from store_unclaimed where due <= ${clock.now() - OVERDUE_MS} limit ${OVERDUE_MAX}) as overdue`)
  return findingIf(count > 0, () =>
    warning(
      `${count === OVERDUE_MAX ? `${OVERDUE_MAX} and more` : count} objects were to be deleted more than a day ago`,
      'a running server deletes them every minute; if one runs, its log says why it cannot',
    ),
  )
}
