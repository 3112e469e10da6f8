import { foldCase } from './fold-case.ts'
import { withFewMarks } from './few-marks.ts'

/** The number of this way to take texts apart: with another one, search indexes are built again at the start. */
export const TOKEN_FORMAT = 2

/** A longer word counts by its beginning: so many characters. */
export const TOKEN_LENGTH_MAX = 64

const ASCII = /^[\0-\x7f]*$/
const ASCII_WORDS = /[a-z0-9]+/g

// Accents, and the points of Arabic and Hebrew. The marks of Indic scripts are vowels, and those of kana tell か from が.
const ACCENTS = /(?![\u3099\u309a])[\p{Script=Inherited}\u0591-\u05c7]/gu

// Ignored inside of a word (https://www.unicode.org/reports/tr29/#WB4), such as the soft hyphen; a zero width space ends one.
const IGNORED = /[\p{Cf}--[\u200b\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u{110bd}\u{110cd}]]/gv

/** Letters that Unicode does not take apart, as the rules of PostgreSQL's `unaccent` replace them. */
const LETTERS: ReadonlyMap<string, string> = new Map(
  `
  a ⱥᴀᶏ, aa ꜳ, ae æᴁ, ao ꜵ, au ꜷ, av ꜹꜻ, ay ꜽ, b ƀɓƃʙᴃᵬᶀ, c ƈȼɕᴄꞓ, d ðđɖɗƌȡᴅᴆᵭᶁᶑꝱꝺ, db ȸ, dz ʣʥ,
  e ɛɇᴇᶒᶓⱸ, f ƒᵮᶂꜰꝼ, g ɠǥɡɢʛᶃꞡ, h ħɦɧʜⱨ, hv ƕ, i ɩɨɪᵻᶖ, j ȷɉɟʝᴊ, k ƙᴋᶄⱪꝁꝃꝅꞣ, l łƚȴɫɬɭʟᴌᶅⱡꝇꝉꝲ, ll ỻ,
  ls ʪ, lz ʫ, m ɱᴍᵯᶆꝳ, n ŋɲƞȵɳɴᵰᶇꝴꞑꞥ, o øᴏⱺꝋꝍ, oe œɶ, oi ƣ, oo ꝏ, p ƥᴘᵱᵽᶈꝑꝓꝕ, q ĸʠꝗꝙ, qp ȹ,
  r ɍɼɽɾʀᵲᵳᶉꝵꝶꞧ, s ȿʂᵴᶊẜẝꜱꞩ, t ŧƫƭʈȶⱦᴛᵵꝷꞇ, th þᵺꝥꝧ, ts ʦ, u ʉᴜᵾᶙ, ue ᵫ, v ʋᴠᶌỽⱱⱴꝟ, vy ꝡ, w ᴡⱳ, x ᶍ,
  y ƴɏʏỿ, z ƶȥɀʐʑᴢᵶᶎⱬ
  `
    .split(',')
    .flatMap((rule) => {
      const [base, letters] = rule.trim().split(' ')
      return Array.from(letters!, (letter) => [letter, base!] as const)
    }),
)
const REPLACED = new RegExp(`[${[...LETTERS.keys()].join('')}]`, 'gu')
const OTHER_DIGITS = /(?![0-9])\p{Nd}/gu

/** The digits of a script are ten characters in a row, and sets of ten may follow one another. */
function valueOf(digit: string): string {
  let before = 0
  while (/\p{Nd}/u.test(String.fromCodePoint(digit.codePointAt(0)! - before - 1))) before++
  return String(before % 10)
}

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

/** What looks alike is the same, whatever characters it is written with: `ﬁ` and `fi`, `①` and `1`, `é` and `e`, `ł` and `l`, `٣` and `3`. */
function fold(text: string): string {
  const visible = withFewMarks(text.replace(IGNORED, ''))
  const folded = foldCase(visible.normalize('NFKD')).normalize('NFKD')
  // Composed again, so that a syllable of Hangul is one character and not three.
  return folded
    .replace(ACCENTS, '')
    .replace(REPLACED, (letter) => LETTERS.get(letter)!)
    .replace(OTHER_DIGITS, valueOf)
    .normalize('NFC')
}

const beginningOf = (word: string): string => Array.from(word).slice(0, TOKEN_LENGTH_MAX).join('')
