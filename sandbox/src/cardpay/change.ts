import type { Clock } from '../../../server/src/base/clock.ts'
import { Type } from '../../../server/src/base/schema.ts'
import type { Database, Transaction } from '../../../server/src/db/database.ts'
import type { Sql } from '../../../server/src/db/sql.ts'
import type { Jobs } from '../../../server/src/kernel/jobs/job.ts'
import type { ProviderFault } from '../faults.ts'
import type { WebhookDeliveries } from '../webhooks.ts'
import { missing } from './errors.ts'
import { newObjectId } from './object-id.ts'
import {
  lock,
  putSql,
  type Details,
  type StripeObjectKind,
  type StripeObjects,
  type StoredStripeObject,
} from './objects.ts'
import { API_VERSION, type BalanceTransaction, type StripeEvent } from './stripe-types.ts'

/** When a refund or dispute follows by itself, in milliseconds. */
export const LATER_MS = 1_000

/** What happens by itself a moment after a payment or refund. */
const Later = Type.Object({ what: Type.Enum(['dispute', 'refund']), id: Type.String() })
type LaterWork = { what: 'dispute' | 'refund'; id: string }

/** Where a change comes from. */
export type Origin = {
  requestId?: string
  idempotencyKey?: string | undefined
  callback?: ProviderFault['callback']
}

/** A transaction that changes objects and reports it in events. */
export type StripeChange = {
  readonly tx: Transaction
  /** Seconds since 1970. */
  readonly now: number
  /**
   * The object with an id, which nobody else changes before the transaction ends. Objects are locked in this order:
   * session, payment intent, charge; a charge is locked before its refunds and disputes are changed.
   *
   * @throws StripeError if there is none
   */
  lock<K extends StripeObjectKind>(kind: K, id: string, param?: string): Promise<StoredStripeObject<K>>
  put<K extends StripeObjectKind>(kind: K, object: StripeObjects[K], details: Details): Promise<void>
  /** Adds an event with an object as it is now, and its webhook. */
  emit(type: string, object: StripeObjects[StripeObjectKind]): Promise<void>
  /** Adds a movement of the balance. */
  book(entry: Booking): Promise<BalanceTransaction>
  /** Lets something happen a moment later. */
  later(work: LaterWork): Promise<void>
}

type Booking = Pick<
  BalanceTransaction,
  'amount' | 'currency' | 'type' | 'reporting_category' | 'description'
> & {
  source: string
}

export type Changes = {
  /** Runs one change, all or nothing. On PostgreSQL the work may run again, so it changes nothing else. */
  run<T>(origin: Origin, work: (change: StripeChange) => Promise<T>): Promise<T>
  /** The statement that deletes what was to happen later. */
  deleteLaterSql(): Sql
}

const KIND_WORDS: Partial<Record<StripeObjectKind, string>> = { session: 'checkout.session' }

/** @param perform what happens later; it does nothing if the object is gone, or its state has changed */
export function createChanges(
  { db, clock, jobs, webhooks }: { db: Database; clock: Clock; jobs: Jobs; webhooks: WebhookDeliveries },
  { perform }: { perform: (change: StripeChange, work: LaterWork) => Promise<void> },
): Changes {
  const later = jobs.define('sandbox.cardpay-later', { payload: Later }, async ({ payload }) =>
    run({}, (change) => perform(change, payload)),
  )

  function changeOf(tx: Transaction, { requestId, idempotencyKey, callback }: Origin): StripeChange {
    const now = Math.floor(clock.now() / 1000)
    const put = async <K extends StripeObjectKind>(
      kind: K,
      object: StripeObjects[K],
      details: Details,
    ): Promise<void> => {
      await tx.write(putSql(clock, kind, { object, details }))
    }
    return {
      tx,
      now,
      put,
      async lock(kind, id, param) {
        const stored = await lock(tx, kind, id)
        if (!stored) throw missing(KIND_WORDS[kind] ?? kind, id, param)
        return stored
      },
      async emit(type, object) {
        const event: StripeEvent = {
          id: newObjectId('event'),
          object: 'event',
          api_version: API_VERSION,
          created: now,
          data: { object },
          livemode: false,
          pending_webhooks: 1,
          request: { id: requestId ?? null, idempotency_key: idempotencyKey ?? null },
          type,
        }
        await put('event', event, {})
        const webhook = {
          eventId: event.id,
          type,
          objectId: (object as { id: string }).id,
          body: JSON.stringify(event, null, 2),
          dueAt: clock.now(),
        }
        for (const step of webhooks.insertSql([webhook], callback)) await tx.write(step)
      },
      async book(entry) {
        const transaction: BalanceTransaction = {
          ...entry,
          id: newObjectId('balance_transaction'),
          object: 'balance_transaction',
          available_on: now,
          balance_type: 'payments',
          created: now,
          exchange_rate: null,
          fee: 0,
          fee_details: [],
          net: entry.amount,
          status: 'available',
        }
        await put('balance_transaction', transaction, {})
        return transaction
      },
      async later(work) {
        await tx.write(
          later.enqueueSql(work, { id: `${work.what}-${work.id}`, runAt: clock.now() + LATER_MS }),
        )
      },
    }
  }

  const run: Changes['run'] = (origin, work) =>
    db.transaction((tx) => work(changeOf(tx, origin)), { isolation: 'read committed' })

  return { run, deleteLaterSql: () => later.deleteAllSql() }
}
