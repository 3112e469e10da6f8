import { formatAmount, type Exponents } from '../../../server/src/base/money.ts'
import { invalidParameter, StripeError } from './errors.ts'

// https://docs.stripe.com/currencies
const WHOLE = 'BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF'
const CENTS = `AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BRL BSD BWP BYN BZD CAD CDF CHF
  CNY COP CRC CVE CZK DKK DOP DZD EGP ETB EUR FJD FKP GBP GEL GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR ISK JMD
  KES KGS KHR KYD KZT LAK LBP LKR LRD LSL MAD MDL MKD MMK MNT MOP MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD
  PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SEK SGD SHP SLE SOS SRD STD SZL THB TJS TOP TRY TTD TWD TZS
  UAH UGX USD UYU UZS WST XCD XCG YER ZAR ZMW`
const MILLS = 'BHD JOD KWD OMR TND'

const withExponent = (list: string, exponent: number): [string, number][] =>
  list.split(/\s+/).map((code) => [code, exponent])

/** Decimal places by currency. Of the three-decimal ones the last digit must be 0, and of ISK and UGX the last two. */
const EXPONENTS: Exponents = Object.fromEntries([
  ...withExponent(WHOLE, 0),
  ...withExponent(CENTS, 2),
  ...withExponent(MILLS, 3),
])

/** Where the smallest amount is not 50 of the minor unit: https://docs.stripe.com/currencies#minimum-and-maximum-charge-amounts */
const LEAST =
  amountsOf(`AED 200 BGN 100 CZK 1500 DKK 250 GBP 30 HKD 400 HUF 17500 MXN 1000 MYR 200 NOK 300 PLN 200
  RON 200 SEK 300 THB 1000 BHD 200 JOD 360 KWD 160 OMR 200 TND 1600`)

const LARGEST = amountsOf(`IDR 999999999999 COP 9999999999 HUF 9999999999 JPY 9999999999 LBP 9999999999
  INR 999999999`)
const LARGEST_AMOUNT = 99_999_999

const multipleOf = (code: string): number =>
  EXPONENTS[code] === 3 ? 10 : code === 'ISK' || code === 'UGX' ? 100 : 1

/**
 * Reads the code of a currency, in any case.
 *
 * @returns the code in lower case, as Stripe writes it
 * @throws StripeError if Stripe does not take it
 */
export function readCurrency(text: string, param: string): string {
  if (!Object.hasOwn(EXPONENTS, text.toUpperCase()))
    throw invalidParameter(
      param,
      `Invalid currency: ${text.slice(0, 20)}. Stripe currently supports these currencies: ${Object.keys(EXPONENTS).join(', ').toLowerCase()}`,
    )
  return text.toLowerCase()
}

/** @throws StripeError if an amount has digits that the currency does not have */
export function checkDigits(amount: number, currency: string, param: string): void {
  const multiple = multipleOf(currency.toUpperCase())
  if (amount % multiple !== 0)
    throw invalidParameter(
      param,
      `Invalid amount: amounts in ${currency} must be divisible by ${multiple}.`,
      'parameter_invalid_integer',
    )
}

/** @throws StripeError if a payment is smaller or larger than Stripe takes */
export function checkTotal(amount: number, currency: string): void {
  const code = currency.toUpperCase()
  const least = LEAST[code] ?? 50
  const largest = LARGEST[code] ?? LARGEST_AMOUNT
  if (amount < least)
    throw new StripeError(
      400,
      `The Checkout Session's total amount due must add up to at least ${displayAmount(least, currency)} ${currency}.`,
      { code: 'amount_too_small', param: 'line_items' },
    )
  if (amount > largest)
    throw new StripeError(
      400,
      `The Checkout Session's total amount must be no more than ${displayAmount(largest, currency)} ${currency}.`,
      { code: 'amount_too_large', param: 'line_items' },
    )
}

/** An amount in major units, with all decimal places of its currency. */
export const displayAmount = (amount: number, currency: string): string =>
  formatAmount(BigInt(amount), currency.toUpperCase(), EXPONENTS)

function amountsOf(list: string): Readonly<Record<string, number>> {
  return Object.fromEntries(
    [...list.matchAll(/([A-Z]{3}) (\d+)/g)].map(([, code, amount]) => [code!, Number(amount)]),
  )
}
