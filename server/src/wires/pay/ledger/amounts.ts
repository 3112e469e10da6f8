import { invalid, type ApiError } from '../../../base/errors.ts'
import { amountFault, formatAmount, formatUnits, parseAmount, type Exponents } from '../../../base/money.ts'
import type { Currencies } from '../providers/provider.ts'
import type { TransactionRow } from './transaction-rows.ts'

/** As large as a double holds exactly with every exponent. */
const LARGEST = 999_999_999_999n

/** The currency and the unit that a transaction's numbers are in. */
type Unit = Pick<TransactionRow, 'provider' | 'currency' | 'exponent'>

/** The amount as the provider's own routes take it: minor units for cards, else the decimal number. */
export const numberOf = (amount: bigint, unit: Unit): number =>
  unit.provider === 'cardpay' ? Number(amount) : Number(displayOf(amount, unit))

/** The exact decimal in major units: `12.30`; of a token without zeros at the end. */
export const displayOf = (amount: bigint, { provider, currency, exponent }: Unit): string =>
  provider === 'onchain'
    ? formatUnits(amount, exponent)
    : formatAmount(amount, currency, { [currency]: exponent })

/** For messages: `12.30 EUR`. */
export const moneyText = (amount: bigint, unit: Unit): string => `${displayOf(amount, unit)} ${unit.currency}`

/**
 * Reads a currency, in any case.
 *
 * @throws VALIDATION_ERROR if the provider does not take it
 */
export function readCurrency(text: string, currencies: Currencies, path: string): string {
  const currency = text.toUpperCase()
  if (!Object.hasOwn(currencies, currency))
    throw invalid({
      path,
      message: `${JSON.stringify(text)} is not a currency that this provider takes: ${Object.keys(currencies).join(', ')}`,
    })
  return currency
}

/**
 * Reads an amount of the caller's, in minor units.
 *
 * @param value minor units for cards, else a decimal number
 * @throws VALIDATION_ERROR if it is not positive, too large, or of a precision that the currency does not have
 */
export function readAmount(
  value: number,
  unit: Unit & { multiple?: number | undefined },
  path: string,
): bigint {
  const { provider, currency, exponent } = unit
  const refuse = (message: string): ApiError => invalid({ path, message })
  if (value <= 0) throw refuse('must be more than 0')
  // The shortest decimal that is this double: what the caller wrote, unless it had more digits than a double has.
  const text = String(value)
  const exponents: Exponents = { [currency]: provider === 'cardpay' ? 0 : exponent }
  const fault = amountFault(text, currency, exponents)
  if (fault !== undefined)
    throw refuse(
      provider === 'cardpay'
        ? 'must be a whole number of minor units of the currency, like 1099 for 10.99'
        : fault,
    )
  const amount = parseAmount(text, currency, exponents)
  if (amount > LARGEST) throw refuse(`must be at most ${moneyText(LARGEST, unit)}`)
  checkMultiple(amount, unit, path)
  return amount
}

/** @throws VALIDATION_ERROR if the provider takes no such precision of the currency */
function checkMultiple(
  amount: bigint,
  { multiple = 1, ...unit }: Unit & { multiple?: number | undefined },
  path: string,
): void {
  if (amount % BigInt(multiple) !== 0n)
    throw invalid({
      path,
      message: `must be a multiple of ${moneyText(BigInt(multiple), unit)}: the provider takes no finer amounts`,
    })
}

/** @throws VALIDATION_ERROR if a sum is over what can be paid at once */
export function checkSum(amount: bigint, unit: Unit, path: string): void {
  if (amount > LARGEST) throw invalid({ path, message: `add up to more than ${moneyText(LARGEST, unit)}` })
}

/**
 * Text that compares as amounts in major units do, whatever their currency: how many digits are before the point, and then the
 * digits. An index has it, so it is written as `015-sorts` has it.
 */
export const AMOUNT_KEY =
  "substr(cast(1100 + length(ltrim(amount, '0')) - exponent as text), 2) || rtrim(ltrim(amount, '0'), '0')"

/** The same of a row. */
export function amountKeyOf({ amount, exponent }: Pick<TransactionRow, 'amount' | 'exponent'>): string {
  const digits = amount.replace(/^0+/, '')
  return String(1100 + digits.length - exponent).slice(1) + digits.replace(/0+$/, '')
}
