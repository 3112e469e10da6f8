import { linesIn } from '../../../base/json-lines.ts'
import type { Database } from '../../../db/database.ts'
import type { SortedLines } from '../../../db/sorted-lines.ts'
import type { StorageName, Storages } from '../objects/storage.ts'
import { linesSql, RECORD_TABLES, type RecordKind } from './object-records.ts'

const LINES_AT_ONCE = 1_000

/** What is under a key of a storage: the object and the records that name it, of which one side may be missing. */
export type ObjectGroup = {
  readonly storage: StorageName
  readonly key: string
  /** The bytes of the object; undefined if it is not there, or only a part of it. */
  size?: number
  /** The bytes of what an unfinished write left. */
  partSize?: number
  modifiedAt?: number
  record?: { readonly kind: RecordKind; readonly size: number; readonly id: string }
  /** Whether it is being written or deleted. */
  isPending: boolean
}

/** Adds what the storages have; the bytes of what is written or deleted meanwhile may be among them or not. */
export async function addObjects(
  lines: SortedLines,
  storages: Storages,
  counted: (objects: number) => void,
): Promise<void> {
  for (const [name, storage] of Object.entries(storages))
    for await (const objects of storage.list()) {
      lines.add(
        JSON.stringify(
          objects.map(
            ({ key, size, modifiedAt, isPart }) =>
              `${name} ${key} ${isPart ? 'part' : 'object'} ${size} ${Math.floor(modifiedAt)}`,
          ),
        ),
      )
      counted(objects.length)
    }
}

/** Adds the records of one moment, with those of what is being written or deleted then. */
export const addRecords = (
  lines: SortedLines,
  db: Pick<Database, 'snapshot'>,
  counted: (records: number) => void,
): Promise<void> =>
  db.snapshot(async (snapshot) => {
    let texts: string[] = []
    const add = (): void => {
      lines.add(JSON.stringify(texts))
      counted(texts.length)
      texts = []
    }
    for (const table of RECORD_TABLES)
      for await (const read of linesIn(snapshot.lines(linesSql(table)))) {
        for (const line of read) texts.push(line.toString())
        if (texts.length >= LINES_AT_ONCE) add()
      }
    add()
  })

/** The groups, in the order of storages and keys. */
export function* groupsOf(lines: SortedLines): Generator<ObjectGroup> {
  let group: ObjectGroup | undefined
  for (const line of lines.read()) {
    const [storage, key, what, size, last] = line.split(' ') as [StorageName, string, string, string, string]
    if (group?.storage !== storage || group.key !== key) {
      if (group) yield group
      group = { storage, key, isPending: false }
    }
    if (what === 'object') Object.assign(group, { size: Number(size), modifiedAt: Number(last) })
    else if (what === 'part') {
      group.partSize = Number(size)
      group.modifiedAt ??= Number(last)
    } else if (what === '-') group.isPending = true
    else group.record = { kind: what as RecordKind, size: Number(size), id: last }
  }
  if (group) yield group
}
