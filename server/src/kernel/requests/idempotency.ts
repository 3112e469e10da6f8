import type { Clock } from '../../base/clock.ts'
import { deriveKey, type Key } from '../../base/crypto.ts'
import { errors } from '../../base/errors.ts'
import { newId } from '../../base/ids.ts'
import { requireRow, type Database, type Step } from '../../db/database.ts'
import { sql, type Sql } from '../../db/sql.ts'
import type { ClaimedKey, IdempotencyStore, IdempotentStart, StoredAnswer } from '../../http/idempotency.ts'
import { NO_PROCESSES, type Processes } from '../lifecycle/processes.ts'
import { IDEMPOTENCY, previousIdempotencyKeys } from '../secret/sealed.ts'

const RETENTION_MS = 24 * 3_600_000
// Longer than any call: only a call whose process died is in progress for so long.
const LEASE_MS = 60_000

type Stored = {
  fingerprint: string
  answer: string | null
  lease_until: number
  process: string | null
}

/**
 * Stores responses in the database. Requests are stored as a keyed hash and responses encrypted, because a request
 * can contain a password and a response a token.
 *
 * @param secret `SIXWIRE_SECRET`
 */
export function createIdempotencyStore(
  { db, clock, processes = NO_PROCESSES }: { db: Database; clock: Clock; processes?: Processes | undefined },
  { secret }: { secret: string },
): IdempotencyStore & {
  /**
   * The step that stores the answer in the batch whose work it tells of, so that both are there or none. It refuses the batch if
   * another call under the key was faster.
   */
  finishSql(claimed: ClaimedKey, answer: StoredAnswer): Step
  start(): Promise<void>
  deleteExpired(): Promise<void>
} {
  const key = deriveKey(secret, IDEMPOTENCY)
  let keys: readonly Key[] = [key]

  function open(answer: string): StoredAnswer {
    for (const one of keys)
      try {
        return JSON.parse(one.open(answer)) as StoredAnswer
      } catch {
        // Stored before the secret was rotated.
      }
    throw new Error('SIXWIRE_SECRET: an answer in sixwire_idempotency was encrypted with another secret')
  }

  /** When the same call may be tried again: soon if its process is alive, as nearly every call ends within a second. */
  function runningOf({ lease_until, process }: Stored): IdempotentStart {
    const freeMs = Math.min(lease_until - clock.now(), processes.freeInMs(process))
    return { state: 'running', retryAfter: Math.max(1, Math.ceil(freeMs / 1000)) }
  }

  /** The first response stays: a call that lost its lease may finish later with a different one. */
  const answerSql = (claimed: ClaimedKey, answer: StoredAnswer, keepMs = RETENTION_MS): Sql => sql`
    update sixwire_idempotency
    set answer = ${key.seal(JSON.stringify(answer))}, expires_at = ${clock.now() + keepMs}
    where caller = ${claimed.owner} and key = ${claimed.key} and answer is null`

  // A call that has begun in the time of a lease is stored for the whole day: few rows of the index are read.
  processes.onEnd((ended) => [
    sql`
      update sixwire_idempotency set lease_until = 0
      where answer is null and process = ${ended} and expires_at > ${clock.now() + RETENTION_MS - LEASE_MS}`,
  ])

  return {
    async start() {
      keys = [key, ...(await previousIdempotencyKeys(db, secret, clock.now() - RETENTION_MS))]
    },

    anonymous: (request) => `stranger:${key.mac(request)}`,

    async begin(caller, name, request) {
      const now = clock.now()
      const recordId = newId(now)
      const fingerprints = keys.map((one) => one.mac(request))
      const [fingerprint = ''] = fingerprints
      // Claims a key that is new or expired, and takes over the same call if its process died.
      const [claim] = await db.write<{ record_id: string }>(sql`
        insert into sixwire_idempotency as stored (caller, key, fingerprint, record_id, answer, lease_until, process,
          expires_at)
        values (${caller}, ${name}, ${fingerprint}, ${recordId}, null, ${now + LEASE_MS}, ${processes.id},
          ${now + RETENTION_MS})
        on conflict (caller, key) do update set
          fingerprint = excluded.fingerprint,
          record_id = case when stored.expires_at <= ${now} then excluded.record_id else stored.record_id end,
          answer = null,
          lease_until = excluded.lease_until,
          process = excluded.process,
          expires_at = excluded.expires_at
        where stored.expires_at <= ${now}
          or (stored.answer is null and stored.lease_until <= ${now}
            and stored.fingerprint in (${sql.join(fingerprints)}))
        returning record_id`)
      if (claim) return { state: 'new', recordId: claim.record_id, isRepeated: claim.record_id !== recordId }
      const stored = await db.get<Stored>(sql`
        select fingerprint, answer, lease_until, process from sixwire_idempotency
        where caller = ${caller} and key = ${name}`)
      // Released at this moment: treated as in progress.
      if (!stored) return { state: 'running', retryAfter: 1 }
      if (!fingerprints.includes(stored.fingerprint)) return { state: 'mismatch' }
      if (stored.answer === null) return runningOf(stored)
      return { state: 'done', answer: open(stored.answer) }
    },

    async has(caller, name, request) {
      const row = await db.get(sql`
        select 1 as one from sixwire_idempotency
        where caller = ${caller} and key = ${name} and expires_at > ${clock.now()}
          and fingerprint in (${sql.join(keys.map((one) => one.mac(request)))})`)
      return row !== undefined
    },

    async finish(caller, name, answer, keepMs) {
      await db.write(answerSql({ owner: caller, key: name }, answer, keepMs))
    },

    finishSql: (claimed, answer) =>
      requireRow(answerSql(claimed, answer), () => errors.idempotency_conflict({ retryAfter: 1 })),

    async expire(caller, name) {
      await db.write(sql`
        update sixwire_idempotency set answer = null, expires_at = 0
        where caller = ${caller} and key = ${name} and answer is not null`)
    },

    async release(caller, name) {
      // The record's id stays: the error may have come after the work was done, and a retry must not use another id.
      await db.write(sql`
        update sixwire_idempotency set lease_until = 0
        where caller = ${caller} and key = ${name} and answer is null`)
    },

    async deleteExpired() {
      await db.write(sql`delete from sixwire_idempotency where expires_at <= ${clock.now()}`)
    },
  }
}
