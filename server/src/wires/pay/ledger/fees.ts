import type { Step } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import type { PaymentSnapshot } from '../providers/provider.ts'
import type { TransactionRow } from './transaction-rows.ts'

const CURRENCY = /^[A-Z]{3}$/

/** The steps that store what the provider took of a payment, once it tells. */
export function feesSql({ id, fee: stored }: TransactionRow, { fees }: Partial<PaymentSnapshot>): Step[] {
  if (stored !== null || !fees) return []
  const { fee, net, currency, exponent } = fees
  const isWhole = typeof fee === 'bigint' && typeof net === 'bigint' && Number.isInteger(exponent)
  if (!isWhole || !CURRENCY.test(currency)) return []
  return [
    sql`update pay_transactions set fee = ${fee.toString()}, net = ${net.toString()}, fee_currency = ${currency},
        fee_exponent = ${exponent} where id = ${id} and fee is null`,
  ]
}

/** What the provider took, and what it left, as decimals. */
export function feesOf(
  row: Pick<TransactionRow, 'fee' | 'net' | 'fee_currency' | 'fee_exponent'>,
): { fee: string; net: string; feeCurrency: string } | undefined {
  const { fee, net, fee_currency: feeCurrency, fee_exponent: exponent } = row
  if (fee === null || net === null || feeCurrency === null || exponent === null) return undefined
  return { fee: decimal(BigInt(fee), exponent), net: decimal(BigInt(net), exponent), feeCurrency }
}

const decimal = (amount: bigint, exponent: number): string => {
  const digits = (amount < 0n ? -amount : amount).toString().padStart(exponent + 1, '0')
  const whole = digits.slice(0, digits.length - exponent)
  return `${amount < 0n ? '-' : ''}${whole}${exponent === 0 ? '' : `.${digits.slice(-exponent)}`}`
}
