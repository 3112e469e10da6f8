import { parseJson } from '../../../base/json.ts'
import type { Step } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import { buyerFrom } from '../providers/answers.ts'
import type { PaymentBuyer, Order, PaymentSnapshot } from '../providers/provider.ts'
import { displayOf, numberOf } from './amounts.ts'
import { feesSql } from './fees.ts'
import type { LedgerTransaction } from './ledger.ts'
import type { TransactionRow } from './transaction-rows.ts'

/** What was bought, as a transaction shows it. */
export type TransactionItem = {
  name: string
  quantity: number
  /** Of one of them, in the unit of the transaction's amount. */
  amount: number
  displayAmount: string
}

export type Purchase = { items?: TransactionItem[]; buyer?: PaymentBuyer }

/** The items of an order as they are stored; a description is one item. */
export function itemsTextOf({ items, description, amount }: Pick<Order, 'items' | 'description' | 'amount'>) {
  const described = description === undefined ? undefined : [{ name: description, amount, quantity: 1 }]
  const sold = items ?? described
  return sold === undefined
    ? null
    : JSON.stringify(
        sold.map(({ name, quantity, amount: price }) => ({ name, quantity, amount: price.toString() })),
      )
}

export const selectPurchaseSql = (id: string) =>
  sql<{ items: string | null; buyer: string | null }>`
    select items, buyer from pay_transactions where id = ${id}`

/** What was bought, and for operators who bought it. */
export function purchaseOf(
  stored: { items: string | null; buyer: string | null },
  row: TransactionRow,
  isOperator: boolean,
): Purchase {
  const items = parseJson(stored.items ?? 'null') as
    | { name: string; quantity: number; amount: string }[]
    | null
  const buyer = parseJson(stored.buyer ?? '{}') as PaymentBuyer
  return {
    ...(items && {
      items: items.map(({ name, quantity, amount }) => ({
        name,
        quantity,
        amount: numberOf(BigInt(amount), row),
        displayAmount: displayOf(BigInt(amount), row),
      })),
    }),
    ...(isOperator && Object.keys(buyer).length > 0 && { buyer }),
  }
}

/** The steps that store what a snapshot tells beside its entries: the provider's fee, and who paid. */
export const toldSql = (before: LedgerTransaction, snapshot: Partial<PaymentSnapshot>): Step[] => [
  ...feesSql(before.row, snapshot),
  ...buyerSql(before, snapshot),
]

/** With the first sight of the money: later a buyer may be another's, or erased. */
function buyerSql(
  { row, entries }: Pick<LedgerTransaction, 'row' | 'entries'>,
  snapshot: Partial<PaymentSnapshot>,
): Sql[] {
  const isPaid = (all: readonly { kind: string }[] = []) => all.some(({ kind }) => kind === 'charge')
  const buyer = JSON.stringify(buyerFrom(snapshot.buyer))
  if (buyer === '{}' || isPaid(entries) || !isPaid(snapshot.entries)) return []
  return [sql`update pay_transactions set buyer = ${buyer} where id = ${row.id} and buyer = '{}'`]
}
