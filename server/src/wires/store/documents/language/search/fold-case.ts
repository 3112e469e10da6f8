import { withFewMarks } from './few-marks.ts'

const ASCII = /^[\0-\x7f]*$/

/**
 * A text without its case, for comparisons only: texts have the same form if their upper case is the same, whatever their
 * language and however their accents are composed. So `Straße` is `STRASSE`, a final sigma is a sigma, `İ` is `i` with a dot
 * above, and the dotless `ı` is `i`, as both have the capital `I`.
 *
 * It ends in lower case because index entries store it: a letter may get a capital in a later version of Unicode, and what it is
 * in lower case never changes.
 * https://www.unicode.org/policies/stability_policy.html#Case_Folding
 */
export function foldCase(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase()
  // First in lower case: the capital ẞ has itself as upper case, and ß has SS.
  const lower = withFewMarks(text).normalize('NFC').toLowerCase().toUpperCase().toLowerCase()
  return lower.replaceAll('ς', 'σ').normalize('NFC')
}
