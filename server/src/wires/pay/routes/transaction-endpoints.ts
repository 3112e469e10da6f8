import { Readable } from 'node:stream'

import { errors } from '../../../base/errors.ts'
import { Type } from '../../../base/schema.ts'
import { pageOf, PageQuery, PageReply, sortQuery } from '../../../http/page.ts'
import { countedFor } from '../../../http/limits.ts'
import { answer, endpoint } from '../../../http/route.ts'
import { isPrivileged, type Policy } from '../../../kernel/policy/policy.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import { timelineOf } from '../administration/timeline.ts'
import { TransactionTimeline } from './timeline-schema.ts'
import type { Cancellations } from '../operations/cancellations.ts'
import { operationErrors, causeOf, payErrors } from '../errors.ts'
import { PAYMENT_OPERATIONS } from './limits.ts'
import { Transaction, TransactionDetails } from './schemas.ts'
import { filtersOf, TransactionFilters } from './transaction-filters.ts'
import { createTransactionAggregates } from '../ledger/transaction-aggregates.ts'
import { conditionsOf, type Transactions } from '../ledger/transactions.ts'

const Csv = Type.Unsafe<Blob>({ type: 'string', contentMediaType: 'text/csv' })

const OneTransaction = Type.Object({
  id: Type.String({ maxLength: 64, examples: ['01arz3ndektsv4rrffq69g5fav'] }),
})

/** The endpoints that read the ledger. */
export function transactionEndpoints({
  context: { db, audit },
  transactions,
  cancellations,
  policy,
}: {
  context: Pick<WireContext, 'db' | 'audit'>
  transactions: Transactions
  cancellations: Cancellations
  policy: Policy
}) {
  const aggregates = createTransactionAggregates({ db })
  return {
    list: endpoint(
      {
        summary: 'List transactions',
        access: 'user',
        readsOnly: true,
        query: Type.Object({
          ...PageQuery,
          ...sortQuery('amount', 'status', 'email', 'provider'),
          ...TransactionFilters.properties,
        }),
        reply: {
          200: Type.Object(
            { transactions: Type.Array(Transaction), ...PageReply },
            { title: 'TransactionPage' },
          ),
        },
      },
      async ({ query, caller }) => {
        const page = pageOf(query)
        const filters = await filtersOf(query, { policy, caller })
        const { limit, offset } = page
        return { ...(await transactions.list(policy.rowFilter(caller), filters, page)), limit, offset }
      },
    ),
    aggregate: endpoint(
      {
        summary: 'Aggregate transactions',
        description:
          'Groups the transactions that the filters find, counts each group, and adds up amounts, exactly. Amounts are those of one currency: group by `currency`, or filter by one. A query that takes too long is stopped, and answered 503.',
        access: 'operator',
        readsOnly: true,
        query: Type.Object(
          { ...aggregates.query, ...TransactionFilters.properties },
          { additionalProperties: false },
        ),
        reply: { 200: aggregates.reply },
      },
      async ({ query, caller, ip, signal }) => {
        const filters = await filtersOf(query, { policy, caller })
        return aggregates.read(query, {
          conditions: conditionsOf(filters),
          fixed: filters.currency === undefined ? [] : ['currency'],
          options: { caller: countedFor({ caller, ip }), signal },
        })
      },
    ),
    exportCsv: endpoint(
      {
        summary: 'Export transactions as CSV',
        description:
          'All that meet the filters, newest first, with fees and net amounts where the provider tells them. Amounts are decimals; text that a spreadsheet would take for a formula begins with an apostrophe.',
        access: 'user',
        limit: '60/hour',
        query: TransactionFilters,
        reply: { 200: Csv },
      },
      async ({ query, caller, actor }) => {
        const filters = await filtersOf(query, { policy, caller })
        if (isPrivileged(caller))
          await db.write(
            audit.entrySql(actor, {
              action: 'payments.exported',
              target: 'payments',
              after: { filters: Object.keys(query) },
            }),
          )
        const lines = transactions.csv(policy.rowFilter(caller), filters)
        return answer<Blob>(Readable.from(lines, { highWaterMark: 1 }), {
          headers: {
            'content-type': 'text/csv; charset=utf-8; header=present',
            'content-disposition': 'attachment; filename="transactions.csv"',
          },
        })
      },
    ),
    get: endpoint(
      {
        summary: 'Get a transaction',
        description:
          'With its items, refunds, dispute and each change of its status; for operators with the buyer as the provider tells.',
        access: 'user',
        readsOnly: true,
        params: OneTransaction,
        reply: { 200: TransactionDetails },
        errors: [errors.not_found],
      },
      ({ params: { id }, caller }) => transactions.get(id, policy.rowFilter(caller), isPrivileged(caller)),
    ),
    timeline: endpoint(
      {
        summary: 'Get the timeline of a transaction',
        description:
          'Everything that the books have about it, oldest first, at most 500 of each kind: changes of its status, calls to the provider, objects that were seen there, events, and what arrived on a chain.',
        access: 'operator',
        readsOnly: true,
        params: OneTransaction,
        reply: { 200: TransactionTimeline },
        errors: [errors.not_found],
      },
      async ({ params: { id } }) => ({ entries: await timelineOf(db, id) }),
    ),
    cancel: endpoint(
      {
        limit: PAYMENT_OPERATIONS,
        summary: 'Cancel a payment that is not paid',
        description:
          'Ends a checkout session at the provider, and an order or a payment request here. What the buyer pays nevertheless completes the transaction. Cancelling again is safe.',
        access: 'user',
        idempotent: true,
        params: OneTransaction,
        reply: { 200: TransactionDetails },
        errors: [...operationErrors, errors.not_found, payErrors.invalid_state],
      },
      async ({ params: { id }, caller, actor, requestId }) => {
        const rowFilter = policy.rowFilter(caller)
        // A buyer who gives up, and the shop's own backend, are no matter of administration.
        const entry = audit.entrySql(actor, { action: 'payment.cancelled', target: `payment:${id}` })
        const steps = actor.role === 'admin' ? [entry] : []
        await cancellations.cancel(id, { rowFilter, cause: causeOf(requestId), steps })
        return transactions.get(id, rowFilter, isPrivileged(caller))
      },
    ),
  }
}
