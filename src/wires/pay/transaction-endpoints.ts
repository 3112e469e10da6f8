import { Readable } from 'node:stream'

import type { Static } from 'typebox'

import { errors } from '../../base/errors.ts'
import { Type } from '../../base/schema.ts'
import { pageOf, PageQuery, PageReply } from '../../http/page.ts'
import { answer, endpoint } from '../../http/route.ts'
import type { Policy } from '../../kernel/policy.ts'
import { PROVIDERS } from './provider.ts'
import type { Cancellations } from './cancellations.ts'
import { callErrors, causeOf, payErrors } from './errors.ts'
import { PAYMENT_CALLS } from './limits.ts'
import { MerchantReference } from './merchant-fields.ts'
import { Transaction, TransactionDetails } from './schemas.ts'
import { STATUSES } from './state.ts'
import { timeOf } from './times.ts'
import type { TransactionQuery, Transactions } from './transactions.ts'

const Csv = Type.Unsafe<Blob>({ type: 'string', contentMediaType: 'text/csv' })

const OneTransaction = Type.Object({
  id: Type.String({ maxLength: 64, examples: ['01arz3ndektsv4rrffq69g5fav'] }),
})

const Filters = {
  provider: Type.Optional(Type.Enum(PROVIDERS)),
  status: Type.Optional(Type.Enum(STATUSES)),
  reference: Type.Optional(
    Type.String({ maxLength: 300, description: 'The id of a checkout session, order or payment request.' }),
  ),
  merchantReference: Type.Optional(MerchantReference),
  email: Type.Optional(Type.String({ maxLength: 254, description: 'The buyer’s, in any case.' })),
  userId: Type.Optional(Type.String({ maxLength: 64, description: 'To whom it belongs.' })),
  from: Type.Optional(Type.String({ format: 'date-time', description: 'Created at this time or later.' })),
  to: Type.Optional(Type.String({ format: 'date-time', description: 'Created before this time.' })),
}

const FILTERS = Type.Object(Filters)

function filtersOf(query: Static<typeof FILTERS>): TransactionQuery {
  const { provider, status, reference, merchantReference, email, userId, from, to } = query
  return {
    ...(provider !== undefined && { provider }),
    ...(status !== undefined && { status }),
    ...(reference !== undefined && { reference }),
    ...(merchantReference !== undefined && { merchantReference }),
    ...(email !== undefined && { email }),
    ...(userId !== undefined && { userId }),
    ...(from !== undefined && { from: timeOf(from, '/query/from') }),
    ...(to !== undefined && { to: timeOf(to, '/query/to') }),
  }
}

/** The endpoints that read the ledger. */
export function transactionEndpoints({
  transactions,
  cancellations,
  policy,
}: {
  transactions: Transactions
  cancellations: Cancellations
  policy: Policy
}) {
  return {
    list: endpoint(
      {
        summary: 'List transactions',
        access: 'user',
        readsOnly: true,
        query: Type.Object({ ...PageQuery, ...Filters }),
        reply: {
          200: Type.Object(
            { transactions: Type.Array(Transaction), ...PageReply },
            { title: 'TransactionPage' },
          ),
        },
      },
      async ({ query, caller }) => {
        const page = pageOf(query)
        const filters = filtersOf(query)
        const { limit, offset } = page
        return { ...(await transactions.list(policy.rowFilter(caller), filters, page)), limit, offset }
      },
    ),
    exportCsv: endpoint(
      {
        summary: 'Export transactions as CSV',
        description:
          'All that meet the filters, newest first, with fees and net amounts where the provider tells them. Amounts are decimals; text that a spreadsheet would take for a formula begins with an apostrophe.',
        access: 'user',
        limit: '60/hour',
        query: FILTERS,
        reply: { 200: Csv },
      },
      ({ query, caller }) => {
        const lines = transactions.csv(policy.rowFilter(caller), filtersOf(query))
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
        description: 'With its refunds, its dispute, and each change of its status.',
        access: 'user',
        readsOnly: true,
        params: OneTransaction,
        reply: { 200: TransactionDetails },
        errors: [errors.not_found],
      },
      ({ params: { id }, caller }) => transactions.get(id, policy.rowFilter(caller)),
    ),
    cancel: endpoint(
      {
        limit: PAYMENT_CALLS,
        summary: 'Cancel a payment that is not paid',
        description:
          'Ends a checkout session at the provider, and an order or a payment request here. What the buyer pays nevertheless completes the transaction. Cancelling again is safe.',
        access: 'user',
        idempotent: true,
        params: OneTransaction,
        reply: { 200: TransactionDetails },
        errors: [...callErrors, errors.not_found, payErrors.invalid_state],
      },
      async ({ params: { id }, caller, requestId }) => {
        const rowFilter = policy.rowFilter(caller)
        await cancellations.cancel(id, { rowFilter, cause: causeOf(requestId) })
        return transactions.get(id, rowFilter)
      },
    ),
  }
}
