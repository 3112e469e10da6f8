type Decimal = { readonly digits: bigint; readonly places: number }

/**
 * Whether a number is a multiple of another, both as they are written: 19.99 is one of 0.01, though not as doubles divide.
 * https://json-schema.org/draft/2020-12/json-schema-validation#name-multipleof
 */
export function isMultipleOf(divisor: number, value: number): boolean {
  if (Number.isSafeInteger(value) && Number.isSafeInteger(divisor)) return value % divisor === 0
  const [a, b] = [decimalOf(value), decimalOf(divisor)]
  const places = Math.max(a.places, b.places)
  const scaled = (one: Decimal): bigint => one.digits * 10n ** BigInt(places - one.places)
  return scaled(a) % scaled(b) === 0n
}

function decimalOf(value: number): Decimal {
  const [mantissa = '', exponent = '0'] = String(value).split('e')
  const [whole, fraction = ''] = mantissa.split('.')
  return { digits: BigInt(whole + fraction), places: fraction.length - Number(exponent) }
}
