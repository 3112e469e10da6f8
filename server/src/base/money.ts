/** Decimal places of each currency, by its code in upper case. */
export type Exponents = Readonly<Record<string, number>>

const exponentsOf = (codes: Readonly<Record<number, string>>): Exponents =>
  Object.fromEntries(
    Object.entries(codes).flatMap(([exponent, list]) =>
      list.split(/\s+/).map((code) => [code, Number(exponent)] as const),
    ),
  )

/**
 * Every currency of ISO 4217 that has minor units, list one as published on 2026-01-01. Precious metals, bond units and test codes
 * have none. Providers differ from it, and have tables of their own.
 *
 * @see https://www.six-group.com/dam/download/financial-information/data-center/iso-currrency/lists/list-one.xml
 */
export const ISO_4217: Exponents = exponentsOf({
  0: 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF',
  2: `AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF CHW
    CNY COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR
    ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV
    MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD
    SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XAD XCD XCG YER ZAR ZMW ZWG`,
  3: 'BHD IQD JOD KWD LYD OMR TND',
  4: 'CLF UYW',
})

/** The largest amount of money, in minor units: both engines store 64 bits with a sign. */
export const LARGEST_AMOUNT = 2n ** 63n - 1n
/** The largest number of token units: a uint256. */
export const LARGEST_UNITS = 2n ** 256n - 1n
/** As many decimal places still leave a digit before the point: 10^77 < 2^256 < 10^78. */
const DECIMALS_MAX = 77

const DECIMAL = /^(0|[1-9]\d*)(?:\.(\d+))?$/
const LONGEST_DECIMAL = 160

/**
 * Reads an amount of money exactly: `parseAmount('12.30', 'EUR')` is `1230n`. Amounts are added and compared as bigint.
 *
 * @param exponents decimal places by currency, if a provider's differ from ISO 4217
 * @returns minor units: cents, pence, whole yen
 * @throws RangeError with the sentence of `amountFault`
 */
export const parseAmount = (text: string, currency: string, exponents = ISO_4217): bigint =>
  unitsOf(readAmount(text, currency, exponents))

/**
 * Why `parseAmount` refuses a text, as a sentence; undefined if it does not. More decimal places than the currency has are
 * refused, zeros too: an amount is never rounded.
 */
export const amountFault = (text: string, currency: string, exponents = ISO_4217): string | undefined =>
  faultOf(readAmount(text, currency, exponents))

/**
 * Writes an amount of money with all decimal places of its currency: `formatAmount(1230n, 'EUR')` is `12.30`.
 *
 * @param amount minor units, not negative
 * @throws RangeError if the currency is unknown, or the amount negative or too large
 */
export const formatAmount = (amount: bigint, currency: string, exponents = ISO_4217): string =>
  write(amount, exponentOf(currency, exponents), LARGEST_AMOUNT)

/**
 * The decimal places of a currency.
 *
 * @throws RangeError if the table does not have it
 */
export function exponentOf(currency: string, exponents = ISO_4217): number {
  if (!Object.hasOwn(exponents, currency)) throw new RangeError(unknownCurrency(currency))
  return exponents[currency]!
}

/**
 * Reads an amount of a token exactly: `parseUnits('1.5', 18)` is `1500000000000000000n`.
 *
 * @param decimals decimal places of the token, 0 to 77
 * @returns its smallest units, at most 2^256 - 1
 * @throws RangeError with the sentence of `unitsFault`
 */
export const parseUnits = (text: string, decimals: number): bigint => unitsOf(readUnits(text, decimals))

/** Why `parseUnits` refuses a text, as a sentence; undefined if it does not. */
export const unitsFault = (text: string, decimals: number): string | undefined =>
  faultOf(readUnits(text, decimals))

/**
 * Writes an amount of a token, without zeros at the end: `formatUnits(1500000n, 6)` is `1.5`.
 *
 * @param units smallest units, not negative
 * @throws RangeError if they are negative or over 2^256 - 1, or the decimals not from 0 to 77
 */
export const formatUnits = (units: bigint, decimals: number): string => {
  const text = write(units, checkedDecimals(decimals), LARGEST_UNITS)
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text
}

type Reading = { units: bigint } | { fault: string }

function readAmount(text: string, currency: string, exponents: Exponents): Reading {
  if (!Object.hasOwn(exponents, currency)) return { fault: unknownCurrency(currency) }
  return read(text, exponents[currency]!, LARGEST_AMOUNT, currency)
}

const readUnits = (text: string, decimals: number): Reading =>
  read(text, checkedDecimals(decimals), LARGEST_UNITS, 'this token')

function read(text: string, decimals: number, largest: bigint, owner: string): Reading {
  const [, whole, fraction = ''] = (text.length <= LONGEST_DECIMAL && DECIMAL.exec(text)) || []
  if (whole === undefined)
    return { fault: 'must be a decimal number like 12.30, without sign, exponent, spaces or leading zeros' }
  if (fraction.length > decimals)
    return { fault: `has too many decimal places: ${owner} has ${decimals === 0 ? 'none' : decimals}` }
  const units = BigInt(whole + fraction.padEnd(decimals, '0'))
  return units > largest ? { fault: `must be at most ${write(largest, decimals, largest)}` } : { units }
}

function unitsOf(reading: Reading): bigint {
  if ('fault' in reading) throw new RangeError(`the amount ${reading.fault}`)
  return reading.units
}

const faultOf = (reading: Reading): string | undefined => ('fault' in reading ? reading.fault : undefined)

function write(units: bigint, decimals: number, largest: bigint): string {
  if (units < 0n || units > largest) throw new RangeError(`${units} is not from 0 to ${largest}`)
  const digits = units.toString().padStart(decimals + 1, '0')
  return decimals === 0 ? digits : `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`
}

function checkedDecimals(decimals: number): number {
  if (!Number.isInteger(decimals) || decimals < 0 || decimals > DECIMALS_MAX)
    throw new RangeError(`${decimals} decimal places: a token has 0 to ${DECIMALS_MAX}`)
  return decimals
}

const unknownCurrency = (currency: string): string =>
  `is in a currency that is not known: "${currency.slice(0, 10)}"`
