import type { SampleValue } from './call.ts'

const WIDTH = 88

// Control characters, and those that change the direction of text or take no room: source code with them can look like other
// code. https://trojansource.codes
const INVISIBLE =
  /[\u0000-\u001F\u007F-\u009F\u00AD\u061C\u180E\u200B-\u200F\u2028-\u202E\u2060-\u2069\uFEFF\uFFF9-\uFFFB]/g

/** How a language writes values. */
export type ValueSyntax = {
  readonly text: (text: string) => string
  /** The key of an object; default: as a text. */
  readonly key?: (name: string) => string
  readonly number?: (value: number) => string
  /** The words for null, true and false. */
  readonly words: readonly [string, string, string]
  readonly indent: string
  /** Whether a comma may follow the last of several lines. */
  readonly hasLastComma: boolean
  /** Whether a blank is inside the braces of one line. */
  readonly isSpaced: boolean
}

/** Writes invisible characters as JSON, and most languages, escape them: `\u202e`. */
export const escapeInvisible = (text: string): string =>
  text.replaceAll(
    INVISIBLE,
    (character) => String.raw`\u` + character.charCodeAt(0).toString(16).padStart(4, '0'),
  )

/** A text in JSON. What JSON escapes, Python escapes in the same way. */
export const jsonText = (text: string): string => escapeInvisible(JSON.stringify(text))

/**
 * A text in single or double quotes, as TypeScript, Kotlin and Dart write it.
 *
 * @param escaped other characters that need a backslash: `$`
 */
export const quoted = (text: string, quote: string, escaped = ''): string =>
  quote + escapeInvisible(Array.from(text, (one) => escapeOne(one, quote + escaped)).join('')) + quote

function escapeOne(character: string, escaped: string): string {
  if (escaped.includes(character)) return `\\${character}`
  // Kotlin has no \f.
  if (character === '"' || character === '\b' || character === '\f') return character
  // Also escapes a half of a surrogate pair.
  return JSON.stringify(character).slice(1, -1)
}

export const JSON_SYNTAX: ValueSyntax = {
  text: jsonText,
  words: ['null', 'true', 'false'],
  indent: '  ',
  hasLastComma: false,
  isSpaced: false,
}

/**
 * Writes a value in a language, on one line if it fits.
 *
 * @param column where it begins in its line, and what follows it there
 * @param depth by how many steps the line is indented
 */
export function literal(value: SampleValue, syntax: ValueSyntax, column = 0, depth = 0): string {
  if (value === null) return syntax.words[0]
  if (typeof value === 'boolean') return syntax.words[value ? 1 : 2]
  if (typeof value === 'number') return (syntax.number ?? JSON.stringify)(value)
  if (typeof value === 'string') return syntax.text(value)
  const isList = Array.isArray(value)
  const [open, close] = isList ? ['[', ']'] : ['{', '}']
  const entries: [string, SampleValue][] = isList
    ? value.map((one: SampleValue) => ['', one])
    : Object.entries(value as Record<string, SampleValue>).map(([name, one]) => [
        `${(syntax.key ?? syntax.text)(name)}: `,
        one,
      ])
  if (entries.length === 0) return open + close
  const short = entries.map(([key, one]) => key + literal(one, syntax, -Infinity)).join(', ')
  const pad = syntax.isSpaced && !isList ? ' ' : ''
  if (!short.includes('\n') && column + short.length <= WIDTH) return open + pad + short + pad + close
  const start = syntax.indent.repeat(depth + 1)
  const lines = entries.map(
    ([key, one]) => start + key + literal(one, syntax, start.length + key.length, depth + 1),
  )
  return `${open}\n${lines.join(',\n')}${syntax.hasLastComma ? ',' : ''}\n${syntax.indent.repeat(depth)}${close}`
}

/** A value as JSON. */
export const jsonLiteral = (value: SampleValue, column = 0, depth = 0): string =>
  literal(value, JSON_SYNTAX, column, depth)
