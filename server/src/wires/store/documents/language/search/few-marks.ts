// What normalization puts in order, and what search takes away from between it. The four begin with a mark once they are taken
// apart.
const MARK = String.raw`[\p{M}\p{Script=Inherited}\u0e33\u0eb3\uff9e\uff9f]`
const TOO_MANY = new RegExp(`(${MARK}{30})${MARK}+`, 'gu')

/**
 * A text with at most 30 marks in a row, which no language exceeds. Normalization puts them in order, and takes time by the square
 * of their number: a document of nothing else would stop the server for minutes.
 *
 * @see https://www.unicode.org/reports/tr15/#Stream_Safe_Text_Format
 */
export const withFewMarks = (text: string): string => text.replace(TOO_MANY, '$1')
