import type { Currencies } from '../provider.ts'

const currenciesOf = (codes: string, terms: Currencies[string]): Currencies =>
  Object.fromEntries(codes.split(/\s+/).map((code) => [code, terms]))

/**
 * The currencies in which Stripe charges: https://docs.stripe.com/currencies
 *
 * It takes ISK and UGX, which have no minor unit any more, with two decimal places that must be 00, and of three decimal
 * places the last must be 0.
 */
export const STRIPE_CURRENCIES: Currencies = {
  ...currenciesOf('BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF', { exponent: 0 }),
  ...currenciesOf(
    `AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BRL BSD BWP BYN BZD CAD CDF CHF CNY COP CRC CVE CZK
    DKK DOP DZD EGP ETB EUR FJD FKP GBP GEL GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR JMD KES KGS KHR KYD KZT LAK
    LBP LKR LRD LSL MAD MDL MKD MMK MNT MOP MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN
    QAR RON RSD RUB SAR SBD SCR SEK SGD SHP SLE SOS SRD SZL THB TJS TOP TRY TTD TWD TZS UAH USD UYU UZS WST XCD XCG
    YER ZAR ZMW`,
    { exponent: 2 },
  ),
  ...currenciesOf('ISK UGX', { exponent: 2, multiple: 100 }),
  ...currenciesOf('BHD JOD KWD OMR TND', { exponent: 3, multiple: 10 }),
}
