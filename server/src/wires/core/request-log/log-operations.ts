import type { Clock } from '../../../base/clock.ts'
import type { Database } from '../../../db/database.ts'
import type { EventStream } from '../../../http/event-stream.ts'
import type { Actor } from '../../../http/actor.ts'
import type { Audit } from '../../../kernel/audit/audit.ts'
import type { Page } from '../../../http/page.ts'
import { countOpenFaults, listFaults, resolveFault, type FaultQuery, type ShownFault } from './faults.ts'
import { readHours, type ShownHour } from './hours.ts'
import { listEntries, type LogFilter, type EntryPage } from './log-list.ts'
import type { RequestLogSettings } from '../../../kernel/config/request-log-option.ts'
import { slowestRoutes, type RouteTime } from './routes-by-time.ts'
import { tailOf, type Tails } from './tail.ts'

/** What operators do with the request log. */
export type LogOperations = {
  /** What is kept; undefined: nothing. */
  readonly keeps: RequestLogSettings | undefined
  /** Reads a page of entries, newest first. */
  list(filter: LogFilter, page: Page): Promise<EntryPage>
  /** Follows the entries of all processes. @param after the id of the last entry that the client has */
  tail(filter: LogFilter, after: string | undefined): EventStream
  /** Reads a page of faults, the latest first. */
  faults(query: FaultQuery): Promise<{ faults: ShownFault[]; nextCursor?: string }>
  /** Marks a fault as resolved, until it happens again. @throws NOT_FOUND */
  resolve(fingerprint: string, actor: Actor): Promise<ShownFault>
  countOpenFaults(): Promise<number>
  /** What was answered in each of the last hours, oldest first. */
  hours(count: number): Promise<ShownHour[]>
  /** The routes that take longest, by the entries since a time. */
  slowestRoutes(since: number): Promise<RouteTime[]>
}

export function createLogOperations(
  { db, clock, audit }: { db: Database; clock: Clock; audit: Audit },
  options: RequestLogSettings | false,
): LogOperations {
  const tails: Tails = { count: 0 }
  return {
    keeps: options || undefined,
    list: (filter, page) => listEntries(db, filter, page),
    tail: (filter, after) => tailOf({ db, clock, tails }, filter, after),
    faults: (query) => listFaults(db, query),
    resolve: (fingerprint, actor) => resolveFault({ db, clock, audit }, fingerprint, actor),
    countOpenFaults: () => countOpenFaults(db),
    slowestRoutes: (since) => slowestRoutes(db, since),
    hours: (count) => readHours(db, clock.now(), count),
  }
}
