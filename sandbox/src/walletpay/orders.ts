import { newId } from '../../../server/src/base/ids.ts'
import { parseJson } from '../../../server/src/base/json.ts'
import type { Step as DatabaseStep, Transaction } from '../../../server/src/db/database.ts'
import { sql, type Sql } from '../../../server/src/db/sql.ts'
import { notFound, unprocessable } from './errors.ts'
import { fundsOf, isForgotten, type PaypalOrder } from './order.ts'
import { createRequests, type PaypalAnswer, type RequestKey } from './requests.ts'
import type { PaypalReport, OrderStep } from './steps.ts'
import type { StandInContext } from '../stand-in.ts'

/** How an order is found: by its own id, or by that of one of its objects. */
export type Target = { order: string } | { object: string }

type Row = { id: string; state: string; revision: number }

/** The steps that store what the provider reports, and send it. */
export type WriteReports = (
  order: PaypalOrder,
  reports: readonly PaypalReport[],
  now: number,
) => DatabaseStep[]

export type OrderChange = {
  request?: RequestKey | undefined
  write: WriteReports
  /** Pure: it may run more than once. */
  step: (order: PaypalOrder, now: number) => OrderStep
  answer: (order: PaypalOrder, step: OrderStep) => PaypalAnswer
}

export type Orders = {
  create(
    order: (now: number) => PaypalOrder,
    change: Pick<OrderChange, 'request'> & { answer: (order: PaypalOrder) => PaypalAnswer },
  ): Promise<PaypalAnswer>
  /**
   * Changes an order: the change, its events and the first answer to its idempotency key are stored together. Of changes at
   * the same moment each sees the one before.
   *
   * @throws PayPalError
   */
  change(target: Target, change: OrderChange): Promise<PaypalAnswer>
  /** @throws PayPalError 404, also for an order that PayPal no longer knows */
  find(target: Target): Promise<PaypalOrder>
  /** The newest first. */
  list(limit: number): Promise<PaypalOrder[]>
  /** What the merchant has in each currency, in minor units, and the number of orders. */
  totals(): Promise<{ count: number; balances: Map<string, { available: bigint; onHold: bigint }> }>
  /** Changes with each change of an order. */
  version(): Promise<string>
  deleteSql(): Sql[]
}

const orderOf = (row: Pick<Row, 'state'>): PaypalOrder => parseJson(row.state) as PaypalOrder

const where = (target: Target): Sql =>
  'order' in target
    ? sql`id = ${target.order}`
    : sql`id = (select order_id from sandbox_walletpay_objects where id = ${target.object})`

/** Sums over parts of 10^9, which no sum of amounts exceeds. */
const PART = 1_000_000_000

/** Orders in the database, with everything that belongs to them. */
export function createOrders({ db, clock }: Pick<StandInContext, 'db' | 'clock'>): Orders {
  const requests = createRequests()

  async function inTransaction(
    request: RequestKey | undefined,
    work: (tx: Transaction, now: number) => Promise<{ answer: PaypalAnswer; refusal?: Error | undefined }>,
  ): Promise<PaypalAnswer> {
    const { answer, refusal } = await db.transaction(
      async (tx) => {
        const now = clock.now()
        const first = request && (await requests.claim(tx, request, now))
        if (first) return first
        const result = await work(tx, now)
        if (request) await requests.store(tx, request, result)
        return result
      },
      { isolation: 'read committed' },
    )
    if (refusal) throw refusal
    return answer
  }

  async function insertObjects(
    tx: Transaction,
    orderId: string,
    { objects = [], invoice }: OrderStep,
  ): Promise<void> {
    for (const id of objects)
      await tx.write(sql`insert into sandbox_walletpay_objects (id, order_id) values (${id}, ${orderId})`)
    if (!invoice) return
    const rows = await tx.write(sql`
      insert into sandbox_walletpay_objects (id, order_id) values (${invoice}, ${orderId})
      on conflict (id) do nothing returning id`)
    if (rows.length === 0)
      throw unprocessable('DUPLICATE_INVOICE_ID', 'The invoice id was used by another payment.')
  }

  async function find(target: Target): Promise<PaypalOrder> {
    const row = await db.get<Row>(
      sql`select id, state, revision from sandbox_walletpay_orders where ${where(target)}`,
    )
    const order = row && orderOf(row)
    if (!order || isForgotten(order, clock.now())) throw notFound()
    return order
  }

  return {
    create: (make, { request, answer }) =>
      inTransaction(request, async (tx, now) => {
        const order = make(now)
        await tx.write(sql`
          insert into sandbox_walletpay_orders (id, sequence, state, revision, currency, available, on_hold)
          values (${order.id}, ${newId(now)}, ${JSON.stringify(order)}, 1, ${order.request.currency}, 0, 0)`)
        return { answer: answer(order) }
      }),

    change: (target, { request, write, step, answer }) =>
      inTransaction(request, async (tx, now) => {
        const row = await tx.get<Row>(
          sql`select id, state, revision from sandbox_walletpay_orders where ${where(target)} ${sql.forUpdate}`,
        )
        const before = row && orderOf(row)
        if (!before || isForgotten(before, now)) throw notFound()
        const result = step(before, now)
        const { order } = result
        const { available, onHold } = fundsOf(order)
        await insertObjects(tx, order.id, result)
        await tx.write(sql`
          update sandbox_walletpay_orders
          set state = ${JSON.stringify(order)}, revision = revision + 1,
              available = ${available}, on_hold = ${onHold}
          where id = ${order.id}`)
        for (const one of write(order, result.reports, now)) await tx.write(one)
        return { answer: answer(order, result), refusal: result.refusal }
      }),

    find,

    async list(limit) {
      const rows = await db.scan<Row>(sql`
        select id, state, revision from sandbox_walletpay_orders order by sequence desc limit ${limit}`)
      const now = clock.now()
      return rows.map(orderOf).filter((one) => !isForgotten(one, now))
    },

    async totals() {
      const rows = await db.scan<Record<string, string> & { currency: string }>(sql`
        select currency, cast(count(*) as text) as count,
          cast(sum(available / ${PART}) as text) as available_parts,
          cast(sum(available % ${PART}) as text) as available_rest,
          cast(sum(on_hold / ${PART}) as text) as held_parts,
          cast(sum(on_hold % ${PART}) as text) as held_rest
        from sandbox_walletpay_orders group by currency order by currency`)
      const sumOf = (parts: string, rest: string): bigint => BigInt(parts) * BigInt(PART) + BigInt(rest)
      return {
        count: rows.reduce((sum, one) => sum + Number(one['count']), 0),
        balances: new Map(
          rows.map((one) => [
            one.currency,
            {
              available: sumOf(one['available_parts']!, one['available_rest']!),
              onHold: sumOf(one['held_parts']!, one['held_rest']!),
            },
          ]),
        ),
      }
    },

    async version() {
      const [row] = await db.scan<{ version: string }>(sql`
        select coalesce(max(sequence), '') || ' ' || cast(coalesce(sum(revision), 0) as text) as version
        from sandbox_walletpay_orders`)
      return row!.version
    },

    deleteSql: () => [
      sql`delete from sandbox_walletpay_objects`,
      sql`delete from sandbox_walletpay_orders`,
      sql`delete from sandbox_walletpay_requests`,
      sql`delete from sandbox_walletpay_events`,
    ],
  }
}
