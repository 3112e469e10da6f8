import { formatAmount, parseAmount, type Exponents } from '../../../../base/money.ts'
import type { Currencies, Money } from '../provider.ts'
import { objectOf, textOf } from './paypal-fields.ts'

const WITH_CENTS =
  'AUD BRL CAD CHF CNY CZK DKK EUR GBP HKD ILS MXN MYR NOK NZD PHP PLN SEK SGD THB USD'.split(' ')
/** PayPal takes no decimal places for these, whatever ISO 4217 says. */
const WITHOUT_CENTS = ['HUF', 'JPY', 'TWD']

const EXPONENTS: Exponents = Object.fromEntries([
  ...WITH_CENTS.map((code) => [code, 2] as const),
  ...WITHOUT_CENTS.map((code) => [code, 0] as const),
])

/** The currencies of PayPal: https://developer.paypal.com/api/rest/reference/currency-codes/ */
export const CURRENCIES: Currencies = Object.fromEntries(
  Object.entries(EXPONENTS).map(([code, exponent]) => [code, { exponent }]),
)

/** An amount as PayPal reads it. The currency is one of `CURRENCIES`. */
export const amountOf = ({ amount, currency }: Money): { currency_code: string; value: string } => ({
  currency_code: currency,
  value: formatAmount(amount, currency, EXPONENTS),
})

/**
 * The amount in an answer of PayPal; undefined if it is not one, or in a currency that is not known. Zeros beyond the
 * decimal places of the currency are dropped: some answers have `500.00` for 500 yen.
 */
export function moneyOf(value: unknown): Money | undefined {
  const { currency_code, value: text } = objectOf(value)
  const currency = textOf(currency_code)
  const exponent = currency === undefined ? undefined : CURRENCIES[currency]?.exponent
  const [, whole, fraction = ''] = /^(\d{0,20})(?:\.(\d{1,10}))?$/.exec(textOf(text) ?? '') ?? []
  if (currency === undefined || exponent === undefined || whole === undefined) return undefined
  if (/[1-9]/.test(fraction.slice(exponent)) || whole + fraction === '') return undefined
  const decimals = fraction.slice(0, exponent)
  const exact = whole.replace(/^0+(?=\d)/, '') || '0'
  try {
    return {
      amount: parseAmount(decimals === '' ? exact : `${exact}.${decimals}`, currency, EXPONENTS),
      currency,
    }
  } catch {
    return undefined
  }
}
