import { errors, invalid } from '../../base/errors.ts'
import { Type } from '../../base/schema.ts'
import { pageOf, PageQuery, PageReply } from '../../http/page.ts'
import { route } from '../../http/route.ts'
import type { Policy } from '../../kernel/policy.ts'
import { PROVIDERS } from './provider.ts'
import { Transaction, TransactionDetails } from './schemas.ts'
import { STATUSES } from './state.ts'
import type { Transactions } from './transactions.ts'

/** The routes that read the ledger. */
export function transactionRoutes({ transactions, policy }: { transactions: Transactions; policy: Policy }) {
  return [
    route(
      'GET /pay/transactions',
      {
        summary: 'List transactions',
        access: 'user',
        readsOnly: true,
        query: Type.Object({
          ...PageQuery,
          provider: Type.Optional(Type.Enum(PROVIDERS)),
          status: Type.Optional(Type.Enum(STATUSES)),
          reference: Type.Optional(
            Type.String({
              maxLength: 300,
              description: 'The id of a checkout session, order or payment request.',
            }),
          ),
          from: Type.Optional(
            Type.String({ format: 'date-time', description: 'Created at this time or later.' }),
          ),
          to: Type.Optional(Type.String({ format: 'date-time', description: 'Created before this time.' })),
        }),
        reply: {
          200: Type.Object(
            { transactions: Type.Array(Transaction), ...PageReply },
            { title: 'TransactionPage' },
          ),
        },
      },
      async ({ query: { provider, status, reference, from, to, ...query }, caller }) => {
        const page = pageOf(query)
        const filters = {
          ...(provider !== undefined && { provider }),
          ...(status !== undefined && { status }),
          ...(reference !== undefined && { reference }),
          ...(from !== undefined && { from: timeOf(from, '/query/from') }),
          ...(to !== undefined && { to: timeOf(to, '/query/to') }),
        }
        const { limit, offset } = page
        return { ...(await transactions.list(policy.rowFilter(caller), filters, page)), limit, offset }
      },
    ),
    route(
      'GET /pay/transactions/:id',
      {
        summary: 'Get a transaction',
        description: 'With its refunds, its dispute, and each change of its status.',
        access: 'user',
        readsOnly: true,
        params: Type.Object({ id: Type.String({ maxLength: 64, examples: ['01arz3ndektsv4rrffq69g5fav'] }) }),
        reply: { 200: TransactionDetails },
        errors: [errors.not_found],
      },
      ({ params: { id }, caller }) => transactions.get(id, policy.rowFilter(caller)),
    ),
  ] as const
}

/** A day, or a time with its zone: `Date.parse` takes much else for a time of the server's zone. */
const TIME = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d))?$/i

function timeOf(text: string, path: string): number {
  const time = TIME.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(time) || time < 0)
    throw invalid({ path, message: 'must be a time like 2026-01-31T00:00:00Z' })
  return time
}
