import type { Clock } from '../../../server/src/base/clock.ts'
import { newId } from '../../../server/src/base/ids.ts'
import { parseJson } from '../../../server/src/base/json.ts'
import type { Database, Transaction } from '../../../server/src/db/database.ts'
import { sql, type Sql } from '../../../server/src/db/sql.ts'
import type { IntentData } from './checkout-session.ts'
import type {
  BalanceTransaction,
  Charge,
  StripeDispute,
  StripeEvent,
  LineItem,
  PaymentIntent,
  StripeRefund,
  StripeSession,
} from './stripe-types.ts'

/** The objects of each kind, as they are answered. */
export type StripeObjects = {
  session: StripeSession
  payment_intent: PaymentIntent
  charge: Charge
  refund: StripeRefund
  dispute: StripeDispute
  event: StripeEvent
  balance_transaction: BalanceTransaction
}

export type StripeObjectKind = keyof StripeObjects

/** What is known of an object beside its fields. */
export type Details = {
  /** The line items of a session. */
  items?: LineItem[]
  /** What the payment intent of a session will get. */
  intent?: IntentData
  /** The card of a charge, or of a payment intent that waits for its authentication, and who pays. */
  card?: string
  name?: string
  email?: string
}

export type StoredStripeObject<K extends StripeObjectKind> = { object: StripeObjects[K]; details: Details }

export type Reads = Pick<Transaction, 'get' | 'all'>

type Row = { object: string; details: string }

const storedOf = <K extends StripeObjectKind>({ object, details }: Row): StoredStripeObject<K> => ({
  object: parseJson(object) as StripeObjects[K],
  details: parseJson(details) as Details,
})

/** The object with an id; undefined if there is none of this kind. */
export async function find<K extends StripeObjectKind>(
  reads: Reads,
  kind: K,
  id: string,
): Promise<StoredStripeObject<K> | undefined> {
  const row = await reads.get<Row>(
    sql`select object, details from sandbox_cardpay_objects where id = ${id} and kind = ${kind}`,
  )
  return row && storedOf<K>(row)
}

/** Likewise; nobody else changes the object before the transaction ends. */
export async function lock<K extends StripeObjectKind>(
  tx: Transaction,
  kind: K,
  id: string,
): Promise<StoredStripeObject<K> | undefined> {
  const row = await tx.get<Row>(
    sql`select object, details from sandbox_cardpay_objects where id = ${id} and kind = ${kind} ${sql.forUpdate}`,
  )
  return row && storedOf<K>(row)
}

/** Which objects of a list are wanted. */
export type StripeObjectFilter = {
  paymentIntent?: string | undefined
  charge?: string | undefined
  types?: readonly string[]
  /** `charge.` for all types of events about charges. */
  typePrefix?: string
  /** Seconds since 1970: comparisons with the time of creation. */
  created?: readonly Sql[]
}

const conditionsOf = (
  kind: StripeObjectKind,
  { paymentIntent, charge, types, typePrefix, created = [] }: StripeObjectFilter,
): Sql[] => [
  sql`kind = ${kind}`,
  ...(paymentIntent === undefined ? [] : [sql`payment_intent = ${paymentIntent}`]),
  ...(charge === undefined ? [] : [sql`charge = ${charge}`]),
  ...(types === undefined ? [] : [sql`type in (${sql.join(types)})`]),
  ...(typePrefix === undefined ? [] : [sql`substr(type, 1, ${typePrefix.length}) = ${typePrefix}`]),
  ...created,
]

/**
 * Lists objects, the newest first.
 *
 * @param page.after only those after this position of the list
 * @param page.before only those before it, the nearest
 */
export async function list<K extends StripeObjectKind>(
  reads: Reads,
  kind: K,
  filter: StripeObjectFilter,
  page: { limit: number; after?: string | undefined; before?: string | undefined },
): Promise<StoredStripeObject<K>[]> {
  const { limit, after, before } = page
  const where = conditionsOf(kind, filter)
  if (after !== undefined) where.push(sql`position < ${after}`)
  if (before !== undefined) where.push(sql`position > ${before}`)
  const rows = await reads.all<Row>(sql`
    select object, details from sandbox_cardpay_objects where ${sql.join(where, ' and ')}
    order by position ${sql.literal(before === undefined ? 'desc' : 'asc')} limit ${limit}`)
  const objects = rows.map((row) => storedOf<K>(row))
  return before === undefined ? objects : objects.toReversed()
}

/** Where an object is in lists. */
export async function positionOf(
  reads: Reads,
  kind: StripeObjectKind,
  id: string,
): Promise<string | undefined> {
  const row = await reads.get<{ position: string }>(
    sql`select position from sandbox_cardpay_objects where id = ${id} and kind = ${kind}`,
  )
  return row?.position
}

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null)
const numberOf = (value: unknown): number | null => (typeof value === 'number' ? value : null)

/** The statement that stores an object, or what has become of it. */
export function putSql(
  clock: Clock,
  kind: StripeObjectKind,
  stored: StoredStripeObject<StripeObjectKind>,
): Sql {
  const fields = stored.object as unknown as Record<string, unknown>
  const id = newId(clock.now())
  const isBalance = kind === 'balance_transaction'
  return sql`
    insert into sandbox_cardpay_objects (id, kind, position, created, payment_intent, charge, type, expires_at,
      currency, amount, changed, object, details)
    values (${textOf(fields['id'])}, ${kind}, ${id}, ${numberOf(fields['created'])},
      ${textOf(fields['payment_intent'])}, ${textOf(fields['charge'])}, ${textOf(fields['type'])},
      ${kind === 'session' && fields['status'] === 'open' ? numberOf(fields['expires_at']) : null},
      ${isBalance ? textOf(fields['currency']) : null}, ${isBalance ? numberOf(fields['amount']) : null},
      ${id}, ${JSON.stringify(stored.object)}, ${JSON.stringify(stored.details)})
    on conflict (id) do update set payment_intent = excluded.payment_intent, charge = excluded.charge,
      expires_at = excluded.expires_at, changed = excluded.changed, object = excluded.object,
      details = excluded.details`
}

/** The ids of open sessions whose time is over. */
export async function overdueSessions(db: Database, now: number): Promise<string[]> {
  const rows = await db.all<{ id: string }>(
    sql`select id from sandbox_cardpay_objects where expires_at <= ${now} order by expires_at limit 100`,
  )
  return rows.map(({ id }) => id)
}

/** The sum of all balance transactions, by currency. */
export const balances = (reads: Reads): Promise<readonly { currency: string; amount: number }[]> =>
  reads.all(sql`
    select currency, cast(sum(amount) as bigint) as amount from sandbox_cardpay_objects
    where kind = 'balance_transaction' group by currency order by currency`)

/** How many objects of each kind there are. */
export async function counts(reads: Reads): Promise<Record<string, number>> {
  const rows = await reads.all<{ kind: string; count: number }>(
    sql`select kind, count(*) as count from sandbox_cardpay_objects group by kind order by kind`,
  )
  return Object.fromEntries(rows.map(({ kind, count }) => [kind, count]))
}

/** A value that differs whenever an object has changed. */
export async function latestChange(reads: Reads): Promise<string | null> {
  const row = await reads.get<{ changed: string | null }>(
    sql`select max(changed) as changed from sandbox_cardpay_objects`,
  )
  return row?.changed ?? null
}
