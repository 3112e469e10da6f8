import { Type } from '../../server/src/base/schema.ts'
import type { Step } from '../../server/src/db/database.ts'
import { sql, type Sql } from '../../server/src/db/sql.ts'
import type { Job } from '../../server/src/kernel/jobs/job.ts'
import type { ProviderFault } from './faults.ts'
import type { StandInsContext } from '../../server/src/kernel/wire/stand-ins.ts'

/** How long the application may take to answer. */
export const ANSWER_MS = 5_000
/** By how much a fault delays callbacks. */
export const LATE_MS = 30_000
/** Eight attempts within some two minutes. Real providers have more patience, but do not end with the server they call. */
const RETRY = { firstMs: 1_000, maxMs: 64_000, attempts: 8 }
const POOL = { name: 'sandbox', atOnce: 16 }

/** A webhook or status callback that a stand-in is to send to the application. */
export type Callback<M> = {
  /** Callbacks of one subject are sent in their order. */
  subject: string
  url: string
  /** What it says, as JSON. It holds no secret: headers and signatures are made when it is sent. */
  message: M
  /** Milliseconds since 1970. */
  dueAt: number
}

/** A POST as it is sent. */
export type CallbackRequest = { headers: Readonly<Record<string, string>>; body: string }

/** The callbacks of one stand-in. */
export type Callbacks<M> = {
  /** The steps that promise callbacks, for the batch of what they report. They can't be held: no log shows them. */
  insertSql(callbacks: readonly Callback<M>[], fault: ProviderFault['callback']): Step[]
  /** The statement that deletes those which are still to be sent. */
  deleteSql(): Sql
  /** A query for the subjects of those. */
  readonly subjects: Sql
  /** How many are still to be sent. */
  waiting(): Promise<number>
}

export type CallbackQueue = {
  /**
   * @param standIn its name
   * @param build makes and signs the request each time it is sent; undefined if nobody takes it any more
   */
  of<M>(
    standIn: string,
    build: (callback: { url: string; message: M }) => CallbackRequest | undefined,
  ): Callbacks<M>
}

const Payload = Type.Object({ subject: Type.String(), url: Type.String(), message: Type.Unknown() })

async function post(url: string, { headers, body }: CallbackRequest, stopping: AbortSignal): Promise<void> {
  const response = await fetch(url, {
    method: 'POST',
    redirect: 'manual',
    headers,
    body,
    signal: AbortSignal.any([stopping, AbortSignal.timeout(ANSWER_MS)]),
  })
  await response.body?.cancel()
  if (!response.ok) throw new Error(`it was answered with ${response.status}`)
}

/** Sends the callbacks of all stand-ins as jobs: a restart loses none, and of several servers one sends each. */
export const createCallbackQueue = ({
  clock,
  jobs,
  log,
}: Pick<StandInsContext, 'clock' | 'jobs' | 'log'>): CallbackQueue => ({
  of<M>(
    standIn: string,
    build: (callback: { url: string; message: M }) => CallbackRequest | undefined,
  ): Callbacks<M> {
    type Payload = { subject: string; url: string; message: unknown }
    async function send({ id, payload, isLastAttempt, stopping }: Job<Payload>): Promise<void> {
      const { url, message } = payload
      try {
        const request = build({ url, message: message as M })
        if (request) await post(url, request, stopping)
      } catch (error) {
        if (!isLastAttempt || stopping.aborted) throw error
        log.warn({ err: error, callback: id, standIn }, 'a callback of the sandbox was given up')
      }
    }
    const job = jobs.define(
      `sandbox.${standIn}-callback`,
      { payload: Payload, lane: ({ subject }) => subject, retry: RETRY, pool: POOL },
      send,
    )
    return {
      insertSql(callbacks, fault) {
        if (fault === 'lost') return []
        const runAt = (dueAt: number): number =>
          Math.max(clock.now(), dueAt + (fault === 'late' ? LATE_MS : 0))
        return callbacks
          .flatMap((one) => (fault === 'doubled' ? [one, one] : [one]))
          .map(({ dueAt, ...payload }) => job.enqueueSql(payload, { runAt: runAt(dueAt) }))
      },
      deleteSql: () => job.deleteAllSql(),
      subjects: sql`select lane as subject from (${job.lanesSql}) lanes`,
      waiting: () => job.count(),
    }
  },
})
