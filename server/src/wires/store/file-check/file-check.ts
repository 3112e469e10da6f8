import { isoTime } from '../../../base/clock.ts'
import type { Progress } from '../../../base/progress.ts'
import { StartError } from '../../../base/start-error.ts'
import { SortedLines } from '../../../db/sorted-lines.ts'
import { sql } from '../../../db/sql.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import type { Objects } from '../objects/objects.ts'
import type { StorageName } from '../objects/storage.ts'
import { storageFault } from '../transfers/storage-fault.ts'
import { addObjects, addRecords, groupsOf, type ObjectGroup } from './object-groups.ts'
import { countSql, namedSql, type NamedRecord, type RecordKind } from './object-records.ts'
import { readUnattachedFiles, type DeclaredUses, type UnattachedFiles } from './unattached-files.ts'

/** How many of each finding are named. */
const FIRST = 1_000
const AT_ONCE = 32
/** What is written without a row beforehand, by a move or an archive that is read, has its row after a day. */
const RECENT_MS = 24 * 3_600_000
const COUNT_MS = 600_000

/** A number of objects, and their bytes. */
export type ObjectSum = { count: number; bytes: number }

/** A record whose bytes are missing, or not as many as were stored. */
export type LostRecord = {
  kind: RecordKind
  /** Of the file or backup. */
  id: string
  /** Of a file. */
  name?: string
  owner?: string
  storage: StorageName
  key: string
  /** Of the record, and of the bytes that are there: null if there are none. */
  size: number
  found: number | null
}

/** An object that no record names. */
export type UnusedObject = { storage: StorageName; key: string; size: number; modifiedAt: string }

export type FileCheckReport = {
  /** Whether each file and each backup has its bytes. */
  ok: boolean
  /** What the storages have in all. */
  objects: ObjectSum
  records: Record<RecordKind, number>
  /** Files and backups without their bytes; the first 1,000 by name. */
  lost: ObjectSum & { first: LostRecord[] }
  /** Resized images without theirs. They are made again. */
  lostVariants: ObjectSum & { first: LostRecord[] }
  /** Objects without a record; the first 1,000 by name. `recent` ones are of the last 24 hours. */
  unused: ObjectSum & { recent: number; first: UnusedObject[] }
  /** Objects that are being written, or wait to be deleted. */
  pending: ObjectSum
  /** Unused objects that are deleted now. */
  deleted: ObjectSum
  /** Files that no document has; absent if no field of files is declared, null if its index is not ready. */
  unattached?: UnattachedFiles | null
}

export type FileCheckOptions = {
  /** Deletes the unused objects that are not recent. */
  readonly deletesUnused: boolean
  readonly onProgress: (progress: Progress) => void
}

type Context = Pick<WireContext, 'db' | 'clock'> & { objects: Objects; uses: DeclaredUses }

/** Compares the records of files and backups with the bytes that the storages have, while servers run. */
export type FileCheck = {
  /**
   * The storages are listed before the records are read, and what does not match is looked at again, so that nothing is reported
   * only because it was written or deleted meanwhile. It takes little memory however many there are: both are sorted on the disk.
   *
   * @throws StartError if a storage does not work, or if what is unused is to be deleted and these may be no records of theirs
   */
  check(options: FileCheckOptions): Promise<FileCheckReport>
}

export const createFileCheck = (
  { db, clock }: Pick<WireContext, 'db' | 'clock'>,
  { objects, uses }: { objects: Objects; uses: DeclaredUses },
): FileCheck => ({
  async check({ deletesUnused, onProgress }) {
    const context: Context = { db, clock, objects, uses }
    const lines = new SortedLines()
    try {
      const counter = await createCounter(context, onProgress)
      // In this order: a record of what is written meanwhile is read, and its object is found when it is looked for again.
      await addObjects(lines, objects.storages, counter('List'))
      await addRecords(lines, db, counter('Records'))
      const report = await compare(context, lines, counter('Compare'))
      const unattached = await readUnattachedFiles(context, { uses }, counter('Documents'))
      if (unattached !== undefined) report.unattached = unattached
      if (deletesUnused && report.unused.count > 0) await deleteUnused(context, lines, report)
      return report
    } catch (error) {
      throw storageFault(error)
    } finally {
      lines.close()
    }
  },
})

type Counted = (more: number) => void

/** Reports how far each phase is, as a part of all records. */
async function createCounter(
  { db }: Context,
  onProgress: FileCheckOptions['onProgress'],
): Promise<(phase: string) => Counted> {
  const [counted] = await db.scan(countSql, { limitMs: COUNT_MS })
  return (phase) => {
    let done = 0
    return (more) => {
      done += more
      onProgress({ phase, done, total: counted!.count, unit: 'objects' })
    }
  }
}

async function compare(context: Context, lines: SortedLines, counted: Counted): Promise<FileCheckReport> {
  const report = newReport()
  let suspects: ObjectGroup[] = []
  const examine = async (): Promise<void> => {
    addLost(report, await lostOf(context, suspects.filter(hasRecord)))
    addUnused(report, await unusedOf(context, suspects), context.clock.now())
    suspects = []
  }
  for (const group of groupsOf(lines)) {
    counted(1)
    count(report, group)
    if (!isSuspect(group)) continue
    suspects.push(group)
    if (suspects.length === AT_ONCE) await examine()
  }
  await examine()
  report.ok = report.lost.count === 0
  return report
}

const newReport = (): FileCheckReport => ({
  ok: true,
  objects: { count: 0, bytes: 0 },
  records: { file: 0, variant: 0, backup: 0 },
  lost: { count: 0, bytes: 0, first: [] },
  lostVariants: { count: 0, bytes: 0, first: [] },
  unused: { count: 0, bytes: 0, recent: 0, first: [] },
  pending: { count: 0, bytes: 0 },
  deleted: { count: 0, bytes: 0 },
})

const bytesOf = ({ size = 0, partSize = 0 }: ObjectGroup): number => size + partSize

function add(sum: ObjectSum, bytes: number): void {
  sum.count++
  sum.bytes += bytes
}

function count({ objects, records, pending }: FileCheckReport, group: ObjectGroup): void {
  const isThere = group.modifiedAt !== undefined
  if (isThere) add(objects, bytesOf(group))
  if (group.record) records[group.record.kind]++
  else if (isThere && group.isPending) add(pending, bytesOf(group))
}

type GroupWithRecord = ObjectGroup & Required<Pick<ObjectGroup, 'record'>>

const hasRecord = (group: ObjectGroup): group is GroupWithRecord => group.record !== undefined

const isUnused = ({ record, isPending, modifiedAt }: ObjectGroup): boolean =>
  !record && !isPending && modifiedAt !== undefined

const isSuspect = (group: ObjectGroup): boolean =>
  hasRecord(group) ? group.size !== group.record.size : isUnused(group)

/** Those whose bytes are not there now, and whose records are there after that: they were all the time. */
async function lostOf({ db, objects }: Context, groups: readonly GroupWithRecord[]): Promise<LostRecord[]> {
  const found = await Promise.all(
    groups.map(async (group) => {
      const { storage, key, record } = group
      const object = await objects.storages[storage].stat(key)
      const size = object && !object.isPart ? object.size : null
      return size === record.size ? [] : [{ storage, key, ...record, found: size }]
    }),
  )
  const lost: LostRecord[] = []
  for (const [kind, ones] of Map.groupBy(found.flat(), ({ kind }) => kind)) {
    const named = await db.all(
      namedSql(
        kind,
        ones.map(({ id }) => id),
      ),
    )
    const byKey = new Map(named.map((one) => [one.key, one]))
    for (const one of ones) {
      const record = byKey.get(one.key)
      if (record) lost.push({ ...one, ...namesOf(record) })
    }
  }
  return lost
}

const namesOf = ({ name, owner }: NamedRecord): Pick<LostRecord, 'name' | 'owner'> => ({
  ...(name !== null && { name }),
  ...(owner !== null && { owner }),
})

function addLost({ lost, lostVariants }: FileCheckReport, records: readonly LostRecord[]): void {
  for (const record of records) {
    const sum = record.kind === 'variant' ? lostVariants : lost
    add(sum, record.size)
    if (sum.first.length < FIRST) sum.first.push(record)
  }
}

/**
 * Those that are there still. A key is of one object only, and has its row before the first byte is written: what nothing named when
 * the records were read has been deleted since, or will never be named.
 */
async function unusedOf({ objects }: Context, groups: readonly ObjectGroup[]): Promise<UnusedGroup[]> {
  const found = await Promise.all(
    groups.filter(isUnused).map(async ({ storage, key }) => {
      const object = await objects.storages[storage].stat(key)
      return object ? [{ storage, ...object }] : []
    }),
  )
  return found.flat()
}

type UnusedGroup = { storage: StorageName; key: string; size: number; modifiedAt: number }

const isRecent = ({ modifiedAt }: UnusedGroup, now: number): boolean => modifiedAt > now - RECENT_MS

function addUnused({ unused }: FileCheckReport, found: readonly UnusedGroup[], now: number): void {
  for (const one of found) {
    const { storage, key, size, modifiedAt } = one
    add(unused, size)
    if (isRecent(one, now)) unused.recent++
    if (unused.first.length < FIRST)
      unused.first.push({ storage, key, size, modifiedAt: isoTime(modifiedAt) })
  }
}

/**
 * Leaves the unused objects to the garbage collector, which deletes them once no backup runs.
 *
 * @throws StartError if the records do not seem to be those of the storages
 */
async function deleteUnused(context: Context, lines: SortedLines, report: FileCheckReport): Promise<void> {
  const { objects, clock } = context
  refuseForeign(report)
  let groups: ObjectGroup[] = []
  const discard = async (): Promise<void> => {
    const unused = (await unusedOf(context, groups)).filter((one) => !isRecent(one, clock.now()))
    for (const [storage, ones] of Map.groupBy(unused, ({ storage }) => storage))
      await discardAll(context, storage, ones)
    for (const { size } of unused) add(report.deleted, size)
    groups = []
  }
  for (const group of groupsOf(lines)) {
    if (!isUnused(group)) continue
    groups.push(group)
    if (groups.length === AT_ONCE) await discard()
  }
  await discard()
  await objects.collectGarbage()
}

function refuseForeign({ lost, records, objects, unused, pending }: FileCheckReport): void {
  const remedy =
    'nothing was deleted: see whether DATABASE_URL, DATA_DIR and S3_BUCKET are of one installation'
  if (lost.count > 0)
    throw new StartError(
      `${lost.count} records have not their bytes, which may be among the objects without a record; ${remedy}, and settle these records first`,
    )
  if (unused.count + pending.count >= objects.count && records.file === 0)
    throw new StartError(`no record of this database names any object that is there; ${remedy}`)
}

async function discardAll(
  { db, objects }: Context,
  storage: StorageName,
  ones: readonly UnusedGroup[],
): Promise<void> {
  const keys = JSON.stringify(ones.map(({ key }) => key))
  const keysSql = sql<{ key: string }>`select ${sql.either({
    sqlite: sql`value as key from json_each(${keys})`,
    postgres: sql`key from json_array_elements_text(${keys}::json) as listed (key)`,
  })}`
  await db.batch(objects.discardSql(storage, keysSql))
}
