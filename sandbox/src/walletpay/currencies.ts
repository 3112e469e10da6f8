import type { Exponents } from '../../../server/src/base/money.ts'

/**
 * The currencies that PayPal takes, with their decimal places.
 *
 * @see https://developer.paypal.com/api/rest/reference/currency-codes/
 */
export const CURRENCIES: Exponents = {
  ...Object.fromEntries(
    'AUD BRL CAD CNY CZK DKK EUR HKD ILS MYR MXN NZD NOK PHP PLN GBP SGD SEK CHF THB USD'
      .split(' ')
      .map((code) => [code, 2]),
  ),
  HUF: 0,
  JPY: 0,
  TWD: 0,
}
