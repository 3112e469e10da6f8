import { six } from '../../parts/session.ts'

/** One payment with its refunds. */
export const fetchPayment = (id: string, signal: AbortSignal) =>
  six.call('GET /pay/transactions/:id', { params: { id }, signal })

export type PaymentDetails = Awaited<ReturnType<typeof fetchPayment>>
