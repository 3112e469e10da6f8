import { foldCase } from '../indexes/fold-case.ts'
import { withFewMarks } from '../indexes/few-marks.ts'

/** The number of this way to take texts apart: with another one, search indexes are built again at the start. */
export const TOKEN_FORMAT = 1

/** A longer word counts by its beginning: so many characters. */
export const TOKEN_LENGTH_MAX = 64

const ASCII = /^[\0-\x7f]*$/
const ASCII_WORDS = /[a-z0-9]+/g

// Accents, and the points of Arabic and Hebrew. The marks of Indic scripts are vowels, and those of kana tell か from が.
const ACCENTS = /(?![\u3099\u309a])[\p{Script=Inherited}\u0591-\u05c7]/gu

// Scripts that are written without spaces: each character is a word, and several of them are a phrase.
const WITHOUT_SPACES = String.raw`\p{scx=Hani}\p{scx=Hira}\p{scx=Kana}\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}\p{sc=Mymr}`
const WORDS = new RegExp(
  String.raw`[[${WITHOUT_SPACES}]&&[\p{L}\p{N}]]\p{M}*|[[\p{L}\p{N}\p{M}]--[${WITHOUT_SPACES}]]+`,
  'gv',
)

/**
 * The words of a text, in its order, without case and accents: what documents and searches are compared by, on both engines. A
 * word consists of letters, digits and marks as Unicode has them, so `foo-bar` and `a@b.com` are several.
 */
export function tokensOf(text: string): string[] {
  const words = ASCII.test(text)
    ? (text.toLowerCase().match(ASCII_WORDS) ?? [])
    : (fold(text).match(WORDS) ?? [])
  return words.map((word) => (word.length > TOKEN_LENGTH_MAX ? beginningOf(word) : word))
}

/** What looks alike is the same, whatever characters it is written with: `ﬁ` and `fi`, `①` and `1`, `é` and `e`. */
function fold(text: string): string {
  const folded = foldCase(withFewMarks(text).normalize('NFKD')).normalize('NFKD')
  // Composed again, so that a syllable of Hangul is one character and not three.
  return folded.replace(ACCENTS, '').normalize('NFC')
}

const beginningOf = (word: string): string => Array.from(word).slice(0, TOKEN_LENGTH_MAX).join('')
