import type { Static } from 'typebox'

import { Type } from '../../../base/schema.ts'
import { timeOf } from '../../../base/time-text.ts'
import type { Caller } from '../../../http/access.ts'
import { ownerOf, OwnerQuery } from '../../../kernel/policy/owner-query.ts'
import type { Policy } from '../../../kernel/policy/policy.ts'
import { MerchantReference } from './merchant-fields.ts'
import { PROVIDERS } from '../providers/provider.ts'
import { STATUSES } from '../ledger/state.ts'
import type { TransactionQuery } from '../ledger/transactions.ts'

const DecimalAmount = (description: string) =>
  Type.String({
    pattern: '^\\d{1,77}(\\.\\d{1,77})?$',
    description: `${description} A decimal in major units of the payment’s own currency.`,
    examples: ['10.50'],
  })

/** What a list of transactions is filtered by. */
export const TransactionFilters = Type.Object(
  {
    provider: Type.Optional(Type.Enum(PROVIDERS)),
    status: Type.Optional(Type.Enum(STATUSES)),
    reference: Type.Optional(
      Type.String({ maxLength: 300, description: 'The id of a checkout session, order or payment request.' }),
    ),
    merchantReference: Type.Optional(MerchantReference),
    email: Type.Optional(Type.String({ maxLength: 254, description: 'The buyer’s, in any case.' })),
    userId: Type.Optional(Type.String({ maxLength: 64, description: 'To whom it belongs.' })),
    ...OwnerQuery,
    currency: Type.Optional(
      Type.String({ maxLength: 32, description: 'Of the payment, in upper case, or the symbol of a token.' }),
    ),
    minAmount: Type.Optional(DecimalAmount('At least this amount was asked for.')),
    maxAmount: Type.Optional(DecimalAmount('At most this amount was asked for.')),
    from: Type.Optional(Type.String({ format: 'date-time', description: 'Created at this time or later.' })),
    to: Type.Optional(Type.String({ format: 'date-time', description: 'Created before this time.' })),
  },
  // Without a misspelt one an export or a sum would be of everything.
  { additionalProperties: false },
)

/** @throws VALIDATION_ERROR, FORBIDDEN if somebody who is no operator asks by `owner` */
export async function filtersOf(
  query: Static<typeof TransactionFilters>,
  { policy, caller }: { policy: Policy; caller: Caller },
): Promise<TransactionQuery> {
  const { provider, status, reference, merchantReference, email, currency, minAmount, maxAmount } = query
  const { from, to } = query
  const userId = (await ownerOf(policy, caller, query)) ?? query.userId
  return {
    ...(currency !== undefined && { currency }),
    ...(minAmount !== undefined && { minAmount }),
    ...(maxAmount !== undefined && { maxAmount }),
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
