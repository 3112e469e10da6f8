import { isOneOf } from '../../db/is-one-of.ts'
import { sql, type Sql } from '../../db/sql.ts'
import type { DataSubject, PersonalTables } from '../../kernel/wire/personal-data.ts'

const LEDGER = 'payments are part of the accounts, which the law has kept. They have the id only'

/** Made by the person, or for the person as the buyer. */
const isOfPerson = ({ id, emails, until }: DataSubject): Sql =>
  sql`(owner = ${id} or (${isOneOf('email_key', emails)} and created_at <= ${until}))`

const ofPayment = (person: DataSubject): Sql =>
  sql`transaction_id in (select id from pay_transactions where ${isOfPerson(person)})`

/** What the tables of payments hold of persons. */
export const PAY_TABLES: PersonalTables = {
  // Before the transactions, which they are found by.
  pay_calls: {
    about: 'captures and refunds',
    rows: ofPayment,
    exported: {
      id: 'value',
      transaction_id: 'value',
      kind: 'value',
      amount: 'value',
      status: 'value',
      refund_reason: 'value',
      created_at: 'time',
    },
    deletion: { keeps: LEDGER, clears: ['refund_reason'] },
  },
  pay_ledger: {
    about: 'entries of the ledger',
    rows: ofPayment,
    exported: {
      id: 'value',
      transaction_id: 'value',
      kind: 'value',
      status: 'value',
      amount: 'value',
      currency: 'value',
      created_at: 'time',
    },
    deletion: { keeps: LEDGER },
  },
  pay_events: {
    about: 'events of payment providers',
    rows: ofPayment,
    key: ['provider', 'event_id'],
    exported: { id: 'value', provider: 'value', type: 'value', transaction_id: 'value', received_at: 'time' },
    deletion: { keeps: LEDGER, clears: ['payload'] },
  },
  pay_transactions: {
    about: 'payments',
    rows: isOfPerson,
    exported: {
      id: 'value',
      provider: 'value',
      status: 'value',
      amount: 'value',
      currency: 'value',
      exponent: 'value',
      captured: 'value',
      refunded: 'value',
      merchant_reference: 'value',
      email: 'value',
      metadata: 'json',
      items: 'json',
      buyer: 'json',
      created_at: 'time',
      updated_at: 'time',
    },
    deletion: { keeps: LEDGER, clears: ['email', 'email_key', 'metadata', 'buyer'] },
  },
}
