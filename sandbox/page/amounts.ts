/** A decimal amount with its thousands separated: `1250000.00` is `1,250,000.00`. */
export const grouped = (amount: string): string =>
  amount.replace(/^\d+/, (whole) => whole.replaceAll(/\B(?=(?:\d{3})+$)/g, ','))

/** The amount that a person typed: a comma separates thousands as they are shown, or is the decimal point. */
export const typedAmount = (text: string): string =>
  /^[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?$/.test(text) ? text.replaceAll(',', '') : text.replace(',', '.')
