import type { ListFilter } from '../../parts/filters.tsx'
import { providerText } from '../../parts/names.tsx'
import { queryValue } from '../../parts/router.tsx'

export const PROVIDERS = ['cardpay', 'walletpay', 'onchain'] as const
const STATUSES = [
  'pending',
  'completed',
  'partially_refunded',
  'refunded',
  'disputed',
  'lost',
  'failed',
  'expired',
  'cancelled',
] as const

const choices = (values: readonly string[]) =>
  values.map((value) => [value, value.replaceAll('_', ' ')] as const)

/** The filters of the payments, which the address has. */
export const filters: readonly ListFilter[] = [
  { kind: 'search', name: 'q', label: 'Email, id or reference' },
  { kind: 'choice', name: 'status', label: 'Status', options: choices(STATUSES) },
  {
    kind: 'choice',
    name: 'provider',
    label: 'Provider',
    options: PROVIDERS.map((one) => [one, providerText(one)] as const),
  },
  { kind: 'text', name: 'currency', label: 'Currency' },
  { kind: 'text', name: 'minAmount', label: 'Amount from' },
  { kind: 'text', name: 'maxAmount', label: 'Amount to' },
  { kind: 'text', name: 'from', label: 'Created from', type: 'datetime-local' },
  { kind: 'text', name: 'to', label: 'Created before', type: 'datetime-local' },
  { kind: 'text', name: 'owner', label: 'User: email or id' },
]

type Status = (typeof STATUSES)[number]
type Provider = (typeof PROVIDERS)[number]

/** What the server is asked for, by what the address has. */
export type PaymentFilters = {
  status?: Status
  provider?: Provider
  currency?: string
  minAmount?: string
  maxAmount?: string
  from?: string
  to?: string
  email?: string
  owner?: string
  reference?: string
}

const DECIMAL = /^\d{1,15}(\.\d{1,20})?$/

/** The filters of the address; a search is for an email address if it has an @, else for a reference. */
export function filtersInPlace(): PaymentFilters {
  const decimal = (name: string): string | undefined => {
    const text = queryValue(name)?.replace(',', '.')
    return text !== undefined && DECIMAL.test(text) ? text : undefined
  }
  const q = queryValue('q')
  const all = {
    status: queryValue('status') as Status | undefined,
    provider: queryValue('provider') as Provider | undefined,
    currency: queryValue('currency')?.toUpperCase(),
    minAmount: decimal('minAmount'),
    maxAmount: decimal('maxAmount'),
    from: queryValue('from'),
    to: queryValue('to'),
    owner: queryValue('owner'),
    ...(q !== undefined && (q.includes('@') ? { email: q } : { reference: q })),
  }
  return Object.fromEntries(Object.entries(all).filter(([, one]) => one !== undefined))
}
