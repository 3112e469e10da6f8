import { asciiDigits } from '../../base/decimal-digits.ts'

/**
 * A code of six digits as it was sent: people type it in digits of their script, with a space or hyphen in it.
 *
 * @returns undefined if it is none
 */
export function sixDigits(text: string): string | undefined {
  const digits = asciiDigits(text.normalize('NFKC')).replaceAll(/[\s-]/g, '')
  return /^\d{6}$/.test(digits) ? digits : undefined
}
