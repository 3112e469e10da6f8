// Amounts are text or bigint, and never numbers with a point: a double does not hold 0.1, nor the units of a token.

const formats = new Map<string, Intl.NumberFormat>()

/** A decimal with the reader's own separators, all of its digits, and the currency: `1,234.50 EUR`. */
export function moneyText(decimal: string, currency: string): string {
  const places = decimal.split('.')[1]?.length ?? 0
  const digits = Math.min(places, 20)
  const key = String(digits)
  const format =
    formats.get(key) ??
    new Intl.NumberFormat(undefined, { minimumFractionDigits: digits, maximumFractionDigits: digits })
  formats.set(key, format)
  // A text is formatted exactly: https://tc39.es/ecma402/#sec-tointlmathematicalvalue
  return `${format.format(decimal as `${number}`)} ${currency}`
}

/** The decimal of an integer of smallest units: `decimalOf('1230', 3)` is `1.230`. */
export function decimalOf(units: bigint | string, places: number): string {
  const text = String(units)
  const sign = text.startsWith('-') ? '-' : ''
  const digits = text.replace('-', '').padStart(places + 1, '0')
  return places === 0 ? sign + digits : `${sign}${digits.slice(0, -places)}.${digits.slice(-places)}`
}

/** The same of a token, without zeros at the end. */
export const tokenDecimal = (units: bigint | string, places: number): string => {
  const decimal = decimalOf(units, places)
  return decimal.includes('.') ? decimal.replace(/\.?0+$/, '') : decimal
}

/**
 * The smallest units of a decimal that a person has typed.
 *
 * @throws Error with a sentence for the reader
 */
export function unitsOf(text: string, places: number, currency: string): bigint {
  const [, whole, fraction = ''] = /^(\d{1,15})(?:[.,](\d+))?$/.exec(text.trim()) ?? []
  if (whole === undefined)
    throw new Error(`Write the amount as a decimal number, like ${decimalOf(1230n, places)}.`)
  if (fraction.length > places)
    throw new Error(
      places === 0 ? `${currency} has no decimals.` : `${currency} has at most ${places} decimals.`,
    )
  return BigInt(whole + fraction.padEnd(places, '0'))
}

/** An amount of the API in major units: `cardpay` counts in minor units, the others in decimal numbers. */
export function majorOf(
  amount: number,
  { provider, exponent }: { provider: string; exponent: number },
): string {
  if (provider === 'cardpay') return decimalOf(BigInt(amount), exponent)
  const text = String(amount)
  if (text.includes('e')) return amount.toFixed(Math.min(exponent, 20))
  const [whole = '0', fraction = ''] = text.split('.')
  return provider === 'onchain' || exponent === 0 ? text : `${whole}.${fraction.padEnd(exponent, '0')}`
}

/** The decimal places that a decimal shows. */
export const placesOf = (decimal: string): number => decimal.split('.')[1]?.length ?? 0
