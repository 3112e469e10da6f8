const DIGIT = /\p{Nd}/u

/**
 * Replaces the decimal digits of all scripts by those of ASCII: `٣٤٥` and `３４５` by `345`.
 *
 * Digits are encoded in runs from 0 to 9 (https://www.unicode.org/reports/tr44/#Decimal_Digit), and some runs follow each other.
 */
export const asciiDigits = (text: string): string =>
  text.replaceAll(/(?=[^\0-\x7f])\p{Nd}/gu, (digit) => {
    const code = digit.codePointAt(0)!
    let before = 0
    while (DIGIT.test(String.fromCodePoint(code - before - 1))) before++
    return String(before % 10)
  })
