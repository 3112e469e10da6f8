import { formatAmount } from '../../../server/src/base/money.ts'
import { CURRENCIES } from './currencies.ts'
import { malformed, unprocessable } from './errors.ts'

export type MoneyBody = { currency_code: string; value: string }

const DIGITS_MAX = 15n
const VALUE_PATTERN = /^((-?[0-9]+)|(-?([0-9]+)?[.][0-9]+))$/

/** An amount as PayPal writes it. */
export const moneyOf = (minorUnits: bigint | string, currency: string): MoneyBody => ({
  currency_code: currency,
  value: formatAmount(BigInt(minorUnits), currency, CURRENCIES),
})

/**
 * Reads an amount of a request.
 *
 * @param field its JSON pointer
 * @param options.mayBeZero whether 0 is an amount here
 * @returns minor units
 * @throws PayPalError with PayPal's own codes
 */
export function readMoney(
  input: unknown,
  field: string,
  { mayBeZero = false }: { mayBeZero?: boolean } = {},
): { currency: string; amount: bigint } {
  if (typeof input !== 'object' || input === null || Array.isArray(input))
    throw malformed(
      'MISSING_REQUIRED_PARAMETER',
      'An amount is an object with currency_code and value.',
      field,
    )
  const { currency_code: code, value } = input as Record<string, unknown>
  for (const [name, part] of Object.entries({ currency_code: code, value })) {
    const at = `${field}/${name}`
    if (part === undefined || part === null)
      throw malformed('MISSING_REQUIRED_PARAMETER', `${name} is required.`, at)
    if (typeof part !== 'string') throw malformed('INVALID_PARAMETER_SYNTAX', `${name} must be a string.`, at)
  }
  const [currency, text] = [code as string, value as string]
  if (currency.length !== 3)
    throw malformed('INVALID_STRING_LENGTH', 'currency_code must have 3 letters.', `${field}/currency_code`)
  if (text.length > 32)
    throw malformed('INVALID_STRING_LENGTH', 'value must have at most 32 characters.', `${field}/value`)
  if (!VALUE_PATTERN.test(text))
    throw malformed('INVALID_PARAMETER_SYNTAX', 'value must be a decimal number.', `${field}/value`)
  if (!Object.hasOwn(CURRENCIES, currency))
    throw unprocessable('INVALID_CURRENCY_CODE', 'The currency is not supported.', {
      field: `${field}/currency_code`,
    })
  return { currency, amount: unitsOf(text, CURRENCIES[currency]!, `${field}/value`, mayBeZero) }
}

function unitsOf(text: string, exponent: number, field: string, mayBeZero: boolean): bigint {
  const [whole = '', fraction = ''] = text.replace('-', '').split('.')
  if (fraction.length > exponent)
    throw unprocessable('DECIMAL_PRECISION', `The currency has ${exponent} decimal places.`, { field })
  const units = BigInt(whole + fraction.padEnd(exponent, '0'))
  if (text.startsWith('-') && mayBeZero)
    throw unprocessable('CANNOT_BE_NEGATIVE', 'The amount must not be negative.', { field })
  if (text.startsWith('-') || (units === 0n && !mayBeZero))
    throw unprocessable('CANNOT_BE_ZERO_OR_NEGATIVE', 'The amount must be greater than zero.', { field })
  if (units >= 10n ** (DIGITS_MAX + BigInt(exponent)))
    throw unprocessable('MAX_VALUE_EXCEEDED', 'The amount is too large.', { field })
  return units
}
