import { isObject, type Json } from '../query/filter.ts'
import type { Path } from '../query/path.ts'
import { tokensOf } from './tokens.ts'

/** The first fields count for more, each in its place; all others count alike. */
export const PLACES = 4

/** What of a document can be found, in bytes and words: PostgreSQL keeps no more positions, nor bytes, of a `tsvector`. */
const POSITIONS_MAX = 16_000
const BYTES_MAX = 700_000
const REPEATS_MAX = 255

/** What a word costs besides its characters. */
const WORD_BYTES = 8

/** A field that searches look into. */
export type SearchedField = { readonly path: Path }

/** A word in a document. */
export type Word = {
  readonly token: string
  /** From 1. Between texts, of which no phrase runs into the next, one is left out. */
  readonly position: number
  /** Which of the fields it is in: 0 to `PLACES - 1`. */
  readonly place: number
}

/**
 * The words of a document that searches look into: its first 16,000, of which each counts 255 times at most. Texts and arrays of
 * texts have words, also inside of objects in arrays; numbers have none.
 */
export function wordsOf(document: Json, fields: readonly SearchedField[]): Word[] {
  const words: Word[] = []
  const repeats = new Map<string, number>()
  let [position, bytes] = [0, 0]
  for (const [i, { path }] of fields.entries())
    for (const text of textsAt(document, path)) {
      for (const token of tokensIn(text)) {
        if (++position > POSITIONS_MAX) return words
        const count = (repeats.get(token) ?? 0) + 1
        repeats.set(token, count)
        if (count > REPEATS_MAX) continue
        bytes += Buffer.byteLength(token) + WORD_BYTES
        if (bytes > BYTES_MAX) return words
        words.push({ token, position, place: Math.min(i, PLACES - 1) })
      }
      position++
    }
  return words
}

/** The words of a text, piece by piece: of a large one most are never asked for. */
function* tokensIn(text: string): Generator<string> {
  for (const piece of text.length > PIECE_LENGTH ? text.match(PIECES)! : [text]) yield* tokensOf(piece)
}

const PIECE_LENGTH = 4000
// To the last space in it; where there is none, to the last character that is in no word.
const PIECES = new RegExp(
  [String.raw`(?!\S)`, String.raw`(?![\p{L}\p{N}\p{M}])`, '']
    .map((end) => `[^]{1,${PIECE_LENGTH}}${end}`)
    .join('|'),
  'gu',
)

/** Whether a change leaves the texts as they are. */
export const haveSameTexts = (one: Json, other: Json, fields: readonly SearchedField[]): boolean =>
  fields.every(({ path }) => {
    const [mine, others] = [[...textsAt(one, path)], [...textsAt(other, path)]]
    return mine.length === others.length && mine.every((text, i) => text === others[i])
  })

/** The texts at a path, as a filter with `$eq` finds them. */
function* textsAt(value: Json | undefined, path: Path, part = 0): Generator<string> {
  if (!isObject(value) || !Object.hasOwn(value, path[part]!)) return
  const inner = value[path[part]!]!
  for (const one of [inner].flat())
    if (part < path.length - 1) yield* textsAt(one, path, part + 1)
    else if (typeof one === 'string') yield one
}
