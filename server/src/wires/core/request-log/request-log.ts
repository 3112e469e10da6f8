import type { Clock } from '../../../base/clock.ts'
import { isPassing } from '../../../base/errors.ts'
import { newId } from '../../../base/ids.ts'
import type { Logger } from '../../../base/logger.ts'
import type { Siblings } from '../../../base/siblings.ts'
import { succeedsWithin } from '../../../base/within.ts'
import type { Database, Step } from '../../../db/database.ts'
import type { AnswerRecord } from '../../../http/answer-record.ts'
import { HOUR_MS } from './hours.ts'
import {
  countFaultSql,
  insertRowsSql,
  NO_PROBLEM,
  NO_REQUEST,
  putHourSql,
  type FaultCount,
  type HourTotals,
  type EntryRow,
} from './log-rows.ts'
import type { RequestLogSettings } from '../../../kernel/config/request-log-option.ts'
import { problemOf } from './problem.ts'
import { scrub, scrubPath } from './scrub.ts'

const FLUSH_MS = 1_000
const STOP_MS = 2_000
/** In a second, each server with its workers. */
const NOTABLE_MAX = 200
const PROBLEMS_MAX = 50
/** That wait in memory while the database does not take them. */
const ROWS_MAX = 1_000
const FAULTS_MAX = 100
const HOURS_MAX = 48
const CODE_CHARACTERS = 100
const LONG_PATH = 1_000
// What asks for itself, again and again: it would hide the others.
const OWN =
  /^\/(health|ready|metrics|info|core\/(logs|overview|series)|console|sandbox)(\/|$)|^\/[^/]+\/health$/

/** Records what is answered. It never waits for the database: what it takes waits in memory, for a second. */
export type RequestLog = {
  answered(answer: AnswerRecord): void
  /** Takes a line of the server's log that is a warning or worse. */
  problem(line: string): void
  start(): void
  /** Writes what waits. */
  stop(): Promise<void>
}

/** An answer that is kept, and the id of its entry, which tells when it was given. */
type LoggedAnswer = { readonly id: string; readonly answer: AnswerRecord }

/** What one process has not written yet. */
type Unwritten = {
  answers: LoggedAnswer[]
  /** Rows of problems, and of answers that could not be written. */
  rows: EntryRow[]
  faults: Map<string, FaultCount>
  /** Of hours since 1970 whose totals have changed. */
  hours: Map<number, HourTotals>
  /** All of the last hour in which something was answered. */
  last: { hour: number; totals: HourTotals }
  /** Since the last batch. */
  recent: HourTotals
  /** What may be written until the next batch. */
  room: { plain: number; notable: number; problems: number }
}

type Context = {
  readonly db: Database
  readonly clock: Clock
  readonly log: Logger
  /** The id of this process. */
  readonly process: string
  readonly settings: RequestLogSettings
  /** Those with which it shares what is written in a second. */
  readonly siblings: Pick<Siblings, 'index' | 'count'>
}

const noTotals = (): HourTotals => ({ requests: 0, refusals: 0, failures: 0, us: 0, omitted: 0 })

const roomOf = ({ settings: { perSecond }, siblings }: Context): Unwritten['room'] => ({
  plain: partOf(perSecond, siblings),
  notable: partOf(NOTABLE_MAX, siblings),
  problems: partOf(PROBLEMS_MAX, siblings),
})

/** What can't be divided goes to the first ones. */
const partOf = (all: number, { index, count }: Context['siblings']): number =>
  Math.floor(all / count) + (index < all % count ? 1 : 0)

/** The log of a server whose requests are not kept. */
export const NO_REQUEST_LOG: RequestLog = {
  answered: () => undefined,
  problem: () => undefined,
  start: () => undefined,
  stop: async () => undefined,
}

/** See docs/decisions/086-request-log.md. */
export function createRequestLog(context: Context): RequestLog {
  const unwritten: Unwritten = {
    answers: [],
    rows: [],
    faults: new Map(),
    hours: new Map(),
    last: { hour: 0, totals: noTotals() },
    recent: noTotals(),
    room: roomOf(context),
  }
  const stopping = new AbortController()
  let writing: Promise<void> | undefined
  return {
    answered: (answer) => takeAnswer(context, unwritten, answer),
    problem: (line) => takeProblem(context, unwritten, line),
    start: () => void (writing ??= writeOn(context, unwritten, stopping.signal)),
    async stop() {
      stopping.abort()
      if (writing) await succeedsWithin(STOP_MS, () => writing!)
    },
  }
}

function takeAnswer(context: Context, unwritten: Unwritten, answer: AnswerRecord): void {
  const { status, ms, route } = answer
  const isNotable = status >= 400 || ms >= context.settings.slowMs
  const isOwn = OWN.test(route ?? answer.path)
  if (!isNotable && isOwn) return
  const { recent, room, answers, rows } = unwritten
  if (!isOwn && !isOfConsole(answer)) {
    recent.requests++
    recent.us += Math.round(ms * 1000)
    if (status >= 500) recent.failures++
    else if (status >= 400) recent.refusals++
  }
  const kind = isNotable ? 'notable' : 'plain'
  if (room[kind] <= 0 || answers.length + rows.length >= ROWS_MAX) return void recent.omitted++
  room[kind]--
  const logged = { id: newId(context.clock.now()), answer }
  // What is kept of a long path is short.
  if (answer.path.length > LONG_PATH) rows.push(requestRow(context.process, logged))
  else answers.push(logged)
}

const isOfConsole = ({ caller }: AnswerRecord): boolean =>
  caller?.kind === 'user' && caller.sessionKind === 'console'

function requestRow(process: string, { id, answer }: LoggedAnswer): EntryRow {
  const { requestId, method, route, path, status, ms, ip, caller, code } = answer
  return {
    ...NO_PROBLEM,
    id,
    kind: 'request',
    process,
    request_id: requestId,
    method,
    route: route ?? null,
    path: scrubPath(path, route),
    status,
    us: Math.round(ms * 1000),
    caller_kind: isOfConsole(answer) ? 'console' : (caller?.kind ?? null),
    caller: caller?.id ?? null,
    ip,
    code: code === undefined ? null : scrub(code).slice(0, CODE_CHARACTERS),
  }
}

function takeProblem({ clock, process }: Context, unwritten: Unwritten, line: string): void {
  const { answers, rows, room, recent } = unwritten
  const problem = room.problems > 0 ? problemOf(line) : undefined
  if (!problem) return void recent.omitted++
  room.problems--
  const { requestId, level, message, fields, error } = problem
  const now = clock.now()
  if (error) countFault(unwritten.faults, { error, count: 1, firstAt: now, lastAt: now, requestId })
  if (answers.length + rows.length >= ROWS_MAX) return void recent.omitted++
  rows.push({
    ...NO_REQUEST,
    id: newId(now),
    kind: 'problem',
    process,
    request_id: requestId ?? null,
    level,
    message,
    fields: fields ?? null,
    fault: error?.fingerprint ?? null,
  })
}

function countFault(faults: Unwritten['faults'], next: FaultCount): void {
  const { fingerprint } = next.error
  const earlier = faults.get(fingerprint)
  if (!earlier && faults.size >= FAULTS_MAX) return
  faults.set(
    fingerprint,
    earlier
      ? { ...next, count: earlier.count + next.count, firstAt: Math.min(earlier.firstAt, next.firstAt) }
      : next,
  )
}

/** Writes what waits each second, until it is stopped; then once more. Never rejects. */
async function writeOn(context: Context, unwritten: Unwritten, stopping: AbortSignal): Promise<void> {
  let isAway = false
  while (!stopping.aborted) {
    await context.clock.sleep(FLUSH_MS, { signal: stopping, idle: true })
    unwritten.room = roomOf(context)
    try {
      await write(context, unwritten)
      isAway = false
    } catch (error) {
      // Once, and not for each second: it is an entry of this log as well.
      if (!isAway) context.log.warn({ err: error }, 'the request log could not be written: it is tried again')
      isAway = true
    }
  }
}

/** @throws UNAVAILABLE; then what was to be written waits again, as far as there is room */
async function write({ db, clock, process }: Context, unwritten: Unwritten): Promise<void> {
  addRecent(unwritten, Math.floor(clock.now() / HOUR_MS))
  const { faults, hours } = unwritten
  const rows = [...unwritten.rows, ...unwritten.answers.map((one) => requestRow(process, one))]
  if (rows.length === 0 && faults.size === 0 && hours.size === 0) return
  unwritten.rows = []
  unwritten.answers = []
  unwritten.faults = new Map()
  const steps: Step[] = [
    ...(rows.length > 0 ? [insertRowsSql(db.dialect, rows)] : []),
    ...[...hours].map(([hour, totals]) => putHourSql(hour, process, totals)),
    // In one order, so that no two processes wait for each other.
    ...[...faults.values()]
      .toSorted((a, b) => (a.error.fingerprint < b.error.fingerprint ? -1 : 1))
      .map((one) => countFaultSql(process, one)),
  ]
  try {
    await db.batch(steps)
    hours.clear()
  } catch (error) {
    // What the database refuses for another reason it would refuse again.
    const isAway = isPassing(error)
    const retryRows = isAway ? rows.slice(0, ROWS_MAX - unwritten.rows.length - unwritten.answers.length) : []
    unwritten.recent.omitted += rows.length - retryRows.length
    unwritten.rows = [...retryRows, ...unwritten.rows]
    if (isAway) for (const one of faults.values()) countFault(unwritten.faults, one)
    throw error
  }
}

/** Adds what was answered since the last batch to its hour. */
function addRecent(unwritten: Unwritten, hour: number): void {
  const { recent, hours } = unwritten
  if (recent.requests === 0 && recent.omitted === 0) return
  if (unwritten.last.hour !== hour) unwritten.last = { hour, totals: noTotals() }
  const { totals } = unwritten.last
  totals.requests += recent.requests
  totals.refusals += recent.refusals
  totals.failures += recent.failures
  totals.us += recent.us
  totals.omitted += recent.omitted
  unwritten.recent = noTotals()
  hours.set(hour, totals)
  for (const oldest of hours.keys())
    if (hours.size > HOURS_MAX) hours.delete(oldest)
    else break
}
