/** Whether a number is a multiple of another one, by the digits that JSON writes: 19.99 is one of 0.01, as doubles it is not. */
export function isMultipleOf(value: number, divisor: number): boolean {
  const [[digits, exponent], [divisorDigits, divisorExponent]] = [decimalOf(value), decimalOf(divisor)]
  const least = Math.min(exponent, divisorExponent)
  const scaled = digits * 10n ** BigInt(exponent - least)
  return scaled % (divisorDigits * 10n ** BigInt(divisorExponent - least)) === 0n
}

function decimalOf(value: number): [digits: bigint, exponent: number] {
  const [coefficient, exponent = '0'] = String(value).split('e')
  const [whole, fraction = ''] = coefficient!.split('.')
  return [BigInt(whole! + fraction), Number(exponent) - fraction.length]
}
