import type { Database, ScanOptions } from '../../../db/database.ts'
import type { Sql } from '../../../db/sql.ts'
import type { MakeRoom } from '../../../http/route.ts'
import type { Found } from './page-rows.ts'
import type { Parts } from './parts.ts'
import type { ListQuery } from './query/index.ts'

/** What a page is read from. */
export type PageSource = {
  readonly db: Database
  readonly query: ListQuery
  /** The condition of row `d` that it is of the list's collection, and of an owner if the list is. */
  readonly inReach: Sql
  readonly collection: string
  readonly owner: string | undefined
  readonly limit: number
  readonly offset: number
  readonly options: ScanOptions
  readonly parts: Parts
  readonly makeRoom: MakeRoom
  /** Counts the documents in reach. */
  readonly countAll: () => Promise<number>
}

/** Reads the total of a list, and a page of it with one document more than it shows, if there is one. */
export type PageReads = () => Promise<{ total: number; found: Found[] }>

/** Whether the list is in the order of `_id` alone. */
export const isById = ({ order }: ListQuery): boolean => order.keys.length === 0
