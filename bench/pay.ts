import type { Bench } from './bench.ts'
import { runCheckouts, type CheckoutResult } from './checkouts.ts'
import { runTransactions, type TransactionsResult } from './transactions.ts'
import { runWebhooks, type WebhookResult } from './webhooks.ts'

export type PayResult = {
  checkouts: CheckoutResult
  webhooks: WebhookResult
  transactions: TransactionsResult
}

/** The figures of the pay wire. */
export const runPay = async (bench: Bench, faults: string[]): Promise<PayResult> => ({
  checkouts: await runCheckouts(bench, faults),
  webhooks: await runWebhooks(bench, faults),
  transactions: await runTransactions(bench, faults),
})
