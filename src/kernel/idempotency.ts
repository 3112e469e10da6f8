import type { Clock } from '../base/clock.ts'
import { deriveKey } from '../base/crypto.ts'
import { newId } from '../base/ids.ts'
import type { Database } from '../db/database.ts'
import { sql } from '../db/sql.ts'
import type { IdempotencyStore, KeptAnswer } from '../http/idempotency.ts'

const KEPT_MS = 24 * 3_600_000
// Longer than any call may take: only the end of the process leaves a call under way for so long.
const LEASE_MS = 60_000

type Kept = {
  fingerprint: string
  answer: string | null
}

/**
 * Keeps answers in the database. Requests are kept as a keyed hash and answers encrypted,
 * because a request may hold a password and an answer a token.
 *
 * @param secret `SIXWIRE_SECRET`
 */
export function createIdempotencyStore(
  db: Database,
  clock: Clock,
  secret: string,
): IdempotencyStore & { forgetExpired(): Promise<void> } {
  const key = deriveKey(secret, 'idempotency')
  return {
    stranger: (request) => `stranger:${key.mac(request)}`,

    async begin(caller, name, request) {
      const now = clock.now()
      const fingerprint = key.mac(request)
      // Takes the key where it is new or expired, and takes over the same call where its process died.
      const [taken] = await db.write<{ record_id: string }>(sql`
        insert into sixwire_idempotency as held (caller, key, fingerprint, record_id, answer, lease_until, expires_at)
        values (${caller}, ${name}, ${fingerprint}, ${newId(now)}, null, ${now + LEASE_MS}, ${now + KEPT_MS})
        on conflict (caller, key) do update set
          fingerprint = excluded.fingerprint,
          record_id = case when held.expires_at <= ${now} then excluded.record_id else held.record_id end,
          answer = null,
          lease_until = excluded.lease_until,
          expires_at = excluded.expires_at
        where held.expires_at <= ${now}
          or (held.answer is null and held.lease_until <= ${now}
            and held.fingerprint = excluded.fingerprint)
        returning record_id`)
      if (taken) return { state: 'new', recordId: taken.record_id }
      const held = await db.get<Kept>(sql`
        select fingerprint, answer from sixwire_idempotency
        where caller = ${caller} and key = ${name}`)
      // Given back in this very moment: as good as under way.
      if (!held) return { state: 'running' }
      if (held.fingerprint !== fingerprint) return { state: 'mismatch' }
      if (held.answer === null) return { state: 'running' }
      return { state: 'done', answer: JSON.parse(key.open(held.answer)) as KeptAnswer }
    },

    async finish(caller, name, answer, keepMs = KEPT_MS) {
      // The first answer stands: a call that lost its lease and ends after all may have another one.
      await db.write(sql`
        update sixwire_idempotency
        set answer = ${key.seal(JSON.stringify(answer))}, expires_at = ${clock.now() + keepMs}
        where caller = ${caller} and key = ${name} and answer is null`)
    },

    async expire(caller, name) {
      await db.write(sql`
        update sixwire_idempotency set answer = null, expires_at = 0
        where caller = ${caller} and key = ${name} and answer is not null`)
    },

    async release(caller, name) {
      // The record's id stays: a fault may have come after the work was done, and must not do it again under another id.
      await db.write(sql`
        update sixwire_idempotency set lease_until = 0
        where caller = ${caller} and key = ${name} and answer is null`)
    },

    async forgetExpired() {
      await db.write(sql`delete from sixwire_idempotency where expires_at <= ${clock.now()}`)
    },
  }
}
