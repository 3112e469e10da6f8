import type { Readable } from 'node:stream'

import type { Snapshot, StepWith } from '../../db/database.ts'
import { sql, type Sql } from '../../db/sql.ts'
import type { Actor } from '../../http/actor.ts'
import type { NotYet } from '../jobs/job.ts'

/** A person, by all that records know one by. */
export type DataSubject = {
  /** The id of the account. */
  readonly id: string
  /** The addresses of the account, now and before, as they are compared. */
  readonly emails: readonly string[]
  /** Its phone numbers, in E.164. */
  readonly phones: readonly string[]
  /** Milliseconds since 1970: an address may be another person's later, so what has come since is found by the id only. */
  readonly until: number
}

/** How an export writes a column: as it is, as a time, as true or false, or as the JSON that the text is. */
export type ExportedKind = 'value' | 'time' | 'flag' | 'json'

/** The columns of a table that an export has; an expression in place of a column where not every row shows it. */
export type ExportedColumns = Readonly<
  Record<string, ExportedKind | { readonly kind: ExportedKind; readonly of: (person: DataSubject) => Sql }>
>

/** A file of an archive; its folders are in the name. */
export type ExportEntry = {
  readonly name: string
  /** Undefined: the bytes are lost, or were deleted since. */
  readonly open: () => AsyncIterable<Buffer> | Promise<AsyncIterable<Buffer> | undefined>
}

/** What a table holds of persons, what an export has of it, and what the deletion of an account does to it. */
export type PersonalTable = {
  /** What the rows are, in a few words, such as `sessions`. Without it nobody is told of them: counters, indexes. */
  readonly about?: string
  /** The condition that a row is of a person. */
  readonly rows: (person: DataSubject) => Sql
  /** The columns of the primary key. Default: `id`. */
  readonly key?: readonly string[]
  /** Without it an export has nothing of the table: secrets, indexes and counters. */
  readonly exported?:
    | ExportedColumns
    | ((person: DataSubject, snapshot: Snapshot) => AsyncIterable<ExportEntry>)
  /** Files that belong to the rows, which are read when all rows are. */
  readonly files?: (person: DataSubject) => AsyncIterable<ExportEntry>
  /**
   * `with the account`: by its own batch. `erased`: by a job, soon after. `keeps`: the rows stay, for this reason, and the columns
   * of `clears` are null from then on.
   */
  readonly deletion:
    | 'with the account'
    | 'erased'
    | { readonly keeps: string; readonly clears?: readonly string[] }
  /**
   * Erases or clears the rows, in place of one `delete` or `update` after the other. It is repeated until it answers nothing: after a
   * crash, and once more when all requests of the account are over.
   */
  readonly erase?: (person: DataSubject, options: { stopping: AbortSignal }) => Promise<NotYet | void>
}

/** Tables by their names. `isNobodys`: why a column that looks as if it held a person does not. */
export type PersonalTables = Readonly<Record<string, PersonalTable | { readonly isNobodys: string }>>

/** A table that holds something of persons. */
export type DeclaredTable = { readonly name: string; readonly table: PersonalTable }

/** Where archives of exports are; the wire that has a storage offers it. */
export type ArchiveStorage = {
  write(
    key: string,
    bytes: AsyncIterable<Buffer>,
    options?: { signal?: AbortSignal },
  ): Promise<{ size: number }>
  read(key: string): Promise<Readable>
  /** Nothing, if there is none. */
  remove(key: string): Promise<void>
}

/** What a deletion does to the rows of a table, if there are any. */
export type DeletedRecords = { readonly table: string; readonly about: string; readonly count: number }
export type KeptRecords = DeletedRecords & { readonly reason: string }

/** How far an export is. The times are milliseconds since 1970. */
export type PersonalExport =
  | { readonly state: 'running'; readonly createdAt: number }
  | {
      readonly state: 'ready'
      readonly createdAt: number
      readonly size: number
      /** When the archive is deleted. */
      readonly deletedAt: number
      /** Opens the archive without a token of a caller, until it expires. */
      readonly url: string
      readonly expiresAt: number
    }

/** Something that happened to a person. */
export type PersonEvent = {
  /** Its place in its part, from which the next page goes on: an id, or a number as text. */
  readonly key: string
  /** Milliseconds since 1970. */
  readonly at: number
  /** What it is, in a few words: `Payment of 12.30 EUR`. */
  readonly text: string
  /** One line more, such as a subject or a reason. */
  readonly detail?: string
  /** What became of it: `completed`, `deleted`. */
  readonly state?: string
  /** The id of the account or service key that did it, if that is another one. */
  readonly by?: string
  /** The screen of the console with the record: `payments/01m825ceev…`. */
  readonly opens?: string
}

/** A page of what happened to a person, newest first. */
export type PersonTimeline = {
  /** `part`: the part of a wire that has it, such as `payments`. */
  readonly entries: readonly (Omit<PersonEvent, 'key'> & { readonly part: string })[]
  /** Absent on the last page. */
  readonly nextCursor?: string
}

/** What all wires hold of persons together. */
export type PersonalData = {
  /** What the deletion of an account erases, and what it keeps. */
  deletion(person: DataSubject): Promise<{ erased: readonly DeletedRecords[]; kept: readonly KeptRecords[] }>
  /** The step, for the batch that deletes the account, which has all else erased. */
  eraseSql(person: DataSubject): StepWith
  /** What happened to a person in all wires. @throws VALIDATION_ERROR at `/query/cursor` */
  timeline(person: DataSubject, page: { cursor: string | undefined; limit: number }): Promise<PersonTimeline>
  /** The export of an account; begins one if there is none, or if the last one failed. @throws UNAVAILABLE without a storage */
  export(account: string, actor: Actor): Promise<PersonalExport>
  /** Opens an archive by the token of its link. @throws UNAUTHORIZED, NOT_FOUND */
  openExport(id: string, token: string): Promise<{ bytes: Readable; size: number }>
}

/** The condition that a column has the id of the person. */
export const isOf =
  (column: string) =>
  ({ id }: DataSubject): Sql =>
    sql`${sql.literal(column)} = ${id}`
