import { errors } from '../../../base/errors.ts'
import { sql } from '../../../db/sql.ts'
import { requireRow, type Step } from '../../../db/database.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import { attempt } from '../../../providers/attempt.ts'
import type { NotAccepted, Outcome } from '../../../providers/outcome.ts'
import { isSnapshot } from '../providers/answers.ts'
import { CALL_MS, errorOf, leaseOf, REQUEST_MS } from './operations.ts'
import { payErrors } from '../errors.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { TransactionEvents } from '../ledger/transaction-events.ts'
import { itemsTextOf } from '../ledger/purchases.ts'
import type { MerchantColumns } from '../ledger/merchant-columns.ts'
import type { OperationProvider, Order, PaymentProvider } from '../providers/provider.ts'
import { claimOperationSql, deleteOperationSql, insertOperationSql } from '../ledger/operation-rows.ts'
import {
  insertHistorySql,
  newTransaction,
  selectTransactionsSql,
  type TransactionRow,
} from '../ledger/transaction-rows.ts'

/** What a checkout or an order is made of, beside what the service adds. */
export type NewOrder = Omit<Order, 'id' | 'createdAt'>

/** A transaction that the buyer can pay at `url`. */
export type Opened = { transactionId: string; reference: string; url: string }

export type Checkouts = {
  /**
   * Creates a transaction and its checkout session or order at the provider. The same id again, after a crash or an unknown
   * outcome, goes on where the first operation ended, under the same idempotency key.
   *
   * @param options.merchant what the merchant keeps with it, and whose it is
   * @param options.parameters the paths of the request by words in the provider's names of parameters
   * @throws VALIDATION_ERROR if the provider refuses a parameter; PROVIDER_ERROR
   */
  create(
    order: NewOrder,
    options: {
      id: string
      merchant: MerchantColumns
      provider: OperationProvider
      cause: string
      parameters: Readonly<Record<string, string>>
    },
  ): Promise<Opened>
}

type Created = { reference: string; url: string }

export function createCheckouts(
  { db, clock, log, processes }: Pick<WireContext, 'db' | 'clock' | 'log' | 'processes'>,
  {
    ledger,
    events,
    providers,
    recheckSql,
  }: {
    ledger: Ledger
    events: TransactionEvents
    providers: ReadonlyMap<OperationProvider, PaymentProvider>
    /** The step that has a new transaction rechecked later. */
    recheckSql: (transactionId: string, options?: { series: string; runAt: number }) => Step
  },
): Checkouts {
  /** Inserts the transaction with the row of its first operation; answers false if it exists. */
  async function insert(
    row: TransactionRow & { items: string | null },
    lease: ReturnType<typeof leaseOf>,
    cause: string,
  ): Promise<boolean> {
    const { id } = row
    const [inserted] = await db.batch([
      sql.insert('pay_transactions', row, ['id']),
      insertHistorySql({ transactionId: id, seq: 0, status: 'pending', cause }, lease.now),
      insertOperationSql({ id, transaction_id: id, kind: 'create' }, lease),
      recheckSql(id),
      ...(row.expires_at === null ? [] : [recheckSql(id, { series: `${id}-expiry`, runAt: row.expires_at })]),
    ])
    return inserted.length > 0
  }

  /** Deletes a transaction that nothing was created for, unless another process has claimed its operation meanwhile. */
  async function remove(id: string, leaseUntil: number): Promise<void> {
    try {
      await db.batch([
        requireRow(
          sql`update pay_transactions set updated_at = updated_at where id = ${id} and reference is null returning id`,
          () => idInUse,
        ),
        // Not by a condition of one statement: PostgreSQL would not look at a row again that another statement changes.
        requireRow(deleteOperationSql({ id, lease_until: leaseUntil }), () => idInUse),
        sql`delete from pay_transactions where id = ${id}`,
      ])
    } catch (error) {
      if (error !== idInUse) throw error
    }
  }

  return {
    async create(order, { id, merchant, provider: name, cause, parameters }) {
      const provider = providers.get(name)!
      const deadline = clock.elapsed() + REQUEST_MS
      const now = clock.now()
      const transaction = newTransaction(
        {
          ...merchant,
          id,
          provider: name,
          amount: order.amount.toString(),
          currency: order.currency,
          exponent: provider.currencies[order.currency]!.exponent,
        },
        now,
      )
      const row = { ...transaction, items: itemsTextOf(order) }
      let createdAt = now
      const lease = leaseOf({ clock, processes })
      let { leaseUntil } = lease
      const isNew = await insert(row, lease, cause)
      if (!isNew) {
        const existing = await db.get(selectTransactionsSql(sql`id = ${id}`))
        if (typeof existing?.reference === 'string' && existing.url !== null)
          return { transactionId: id, reference: existing.reference, url: existing.url }
        createdAt = existing?.created_at ?? now
        if (existing && existing.status !== 'pending')
          throw payErrors.provider_error({
            message: `The provider never answered, and the payment is ${existing.status}. Send a new Idempotency-Key to try again.`,
            details: { provider: name, transactionId: id },
          })
        const [claim] = await db.write(claimOperationSql(id, leaseOf({ clock, processes })))
        if (!claim)
          throw errorOf(
            { kind: 'unknown', reason: 'the first call is still under way' },
            { provider: name, transactionId: id },
          )
        leaseUntil = claim.lease_until
      }

      const settle = async (outcome: Outcome<Created>): Promise<Opened | NotAccepted> => {
        if (outcome.kind === 'accepted') {
          const { reference, url } = outcome
          // Not by the ledger, which reads first: nothing that was seen meanwhile is lost by this.
          await db.batch([
            sql`update pay_transactions set reference = ${reference}, url = ${url}, version = version + 1,
                updated_at = ${clock.now()} where id = ${id} and reference is null`,
            sql`update pay_calls set status = 'accepted', reason = null where id = ${id}`,
            // Not before: of what the provider refuses the row is deleted.
            ...events.createdSql(id),
          ])
          return { transactionId: id, reference, url }
        }
        // A repetition that was not done says nothing about the first time.
        const { kind, reason } = outcome
        const failure: NotAccepted = kind === 'retry' && !isNew ? { kind: 'unknown', reason } : outcome
        // Nothing was created, so there is no transaction either.
        if (failure.kind !== 'unknown') await remove(id, leaseUntil)
        else await ledger.record(id, { operation: { id, leaseUntil, status: 'unknown', reason }, cause })
        return failure
      }
      const make = (limitMs: number): Promise<Outcome<Created>> =>
        provider.create({ ...order, id, createdAt }, limitMs)
      const result = (await attempt<Created, Opened | NotAccepted>(
        {
          begin: async () => true,
          call: make,
          settle,
          async retrieve(limitMs) {
            const outcome = await provider.retrieve({ transactionId: id, since: createdAt }, limitMs / 2)
            if (outcome.kind === 'accepted') {
              const { reference, url } = outcome.snapshot
              return url === undefined || !isSnapshot(outcome.snapshot)
                ? { kind: 'unknown', reason: 'the provider shows no address at which to pay' }
                : { kind: 'accepted', reference, url }
            }
            // Looked for first, made again second: the key makes one session of both, and no money moves.
            const again = await make(limitMs / 2)
            return again.kind === 'accepted' ? again : { kind: 'unknown', reason: again.reason }
          },
        },
        {
          clock,
          log,
          about: { transaction: id, call: id, kind: 'create', provider: provider.name },
          limitMs: CALL_MS,
          deadline,
          isAccepted: ({ reference, url }) =>
            typeof reference === 'string' && reference !== '' && typeof url === 'string' && URL.canParse(url),
        },
      ))!
      if ('kind' in result) throw errorOf(result, { provider: name, transactionId: id, parameters })
      return result
    },
  }
}

const idInUse = errors.unavailable()
