import { isoTime } from '../../../base/clock.ts'
import type { TransactionRow } from './transaction-rows.ts'

/** The columns of what the merchant gave. */
export type MerchantColumns = Pick<
  TransactionRow,
  'owner' | 'merchant_reference' | 'email' | 'email_key' | 'metadata' | 'expires_at'
>

/** What of it the provider gets. */
export const orderFieldsOf = ({
  email,
  merchant_reference: reference,
  expires_at: expiresAt,
}: MerchantColumns) => ({
  ...(email !== null && { email }),
  ...(reference !== null && { merchantReference: reference }),
  ...(expiresAt !== null && { expiresAt }),
})

/** What of it a transaction shows. */
export const merchantOf = (row: MerchantColumns) => ({
  userId: row.owner,
  ...(row.merchant_reference !== null && { merchantReference: row.merchant_reference }),
  ...(row.email !== null && { email: row.email }),
  ...(row.metadata !== null && { metadata: JSON.parse(row.metadata) as Record<string, string> }),
  ...(row.expires_at !== null && { expiresAt: isoTime(row.expires_at) }),
})
