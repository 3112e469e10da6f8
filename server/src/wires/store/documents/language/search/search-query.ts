import { invalid } from '../../../../../base/errors.ts'
import { tokensOf } from './tokens.ts'
import { PLACES, type Word } from './words.ts'

const AT = '/query/search'
const LENGTH_MAX = 1_000
const WORDS_MAX = 100

/** Words side by side, or one. */
export type Term = {
  readonly tokens: readonly string[]
  /** Whether the last one is only the beginning of a word. */
  readonly isPrefix: boolean
}

/** What is searched for: all of some terms, and none of others. */
export type SearchQuery = { readonly wanted: readonly Term[]; readonly unwanted: readonly Term[] }

// A phrase, whose end may be missing; or what stands between spaces.
const TERMS = /(-*)"([^"]*)"?(\*)?|([^\s"]+)/g

/**
 * Reads a search: words, `"a phrase"`, `-word`, `word*`. No text is an error: what is neither a letter nor a digit separates words.
 * Words that nothing but such characters is between, as in `foo-bar`, are a phrase.
 *
 * @returns undefined if there is no word in it, so that it asks for nothing
 * @throws VALIDATION_ERROR at `/query/search` if it is too long
 */
export function parseSearch(text: string): SearchQuery | undefined {
  if (text.length > LENGTH_MAX)
    throw invalid({ path: AT, message: `A search has at most ${LENGTH_MAX} characters.` })
  const found = new Map<string, Term & { isUnwanted: boolean }>()
  let words = 0
  // Keyboards of telephones write these.
  for (const [, minus, phrase, star, word = ''] of text.replaceAll(/[“”„]/g, '"').matchAll(TERMS)) {
    const tokens = tokensOf(phrase ?? word)
    if (tokens.length === 0) continue
    words += tokens.length
    const isPrefix = star !== undefined || (phrase === undefined && word.endsWith('*'))
    const isUnwanted = phrase === undefined ? word.startsWith('-') : minus !== ''
    const term = { tokens, isPrefix, isUnwanted }
    found.set(JSON.stringify(term), term)
  }
  if (words > WORDS_MAX) throw invalid({ path: AT, message: `A search has at most ${WORDS_MAX} words.` })
  if (found.size === 0) return undefined
  const terms = [...found.values()].map(({ isUnwanted, tokens, isPrefix }) => ({
    isUnwanted,
    term: { tokens, isPrefix },
  }))
  return {
    wanted: terms.flatMap(({ isUnwanted, term }) => (isUnwanted ? [] : [term])),
    unwanted: terms.flatMap(({ isUnwanted, term }) => (isUnwanted ? [term] : [])),
  }
}

/** What a term counts for that is first found in a place. */
export const weightOf = (place: number): number => PLACES - place

/**
 * How good a hit is: the sum of what its terms count for, each by the first of the fields that it is found in. It tells nothing of
 * other documents.
 */
export const scoreOf = ({ wanted }: SearchQuery, words: readonly Word[]): number =>
  wanted.reduce((sum, term) => sum + weightOf(placeOf(term, words) ?? PLACES), 0)

/** The first place that a term is found in. */
function placeOf({ tokens, isPrefix }: Term, words: readonly Word[]): number | undefined {
  const last = tokens.length - 1
  const isAt = (start: number): boolean =>
    tokens.every((token, i) => {
      const word = words[start + i]
      return (
        word !== undefined &&
        word.position === words[start]!.position + i &&
        (i === last && isPrefix ? word.token.startsWith(token) : word.token === token)
      )
    })
  const start = words.findIndex((_, i) => isAt(i))
  return words[start]?.place
}
