import { didYouMean } from '../../base/did-you-mean.ts'

const WORD = /^[\w-]+$/

/** Whether a text may be a pattern: words joined by dots, of which some may be `*`. */
export const isPattern = (text: string): boolean =>
  text.split('.').every((part) => part === '*' || WORD.test(part))

/**
 * Whether a pattern matches a type. `*` matches one word, and at the end for all that follow: `pay.*`,
 * `store.*.deleted`.
 *
 * @param type `*` in a type that is declared is any name: `store.*.created`
 */
export function matches(pattern: string, type: string): boolean {
  const [parts, words] = [pattern.split('.'), type.split('.')]
  const isOpen = parts.at(-1) === '*'
  if (isOpen ? words.length < parts.length : words.length !== parts.length) return false
  return parts.every((part, at) => part === '*' || words[at] === '*' || part === words[at])
}

/**
 * What is wrong with a pattern, in words; undefined: there are such events.
 *
 * @param types all types that the wires declare
 */
export function patternFault(pattern: string, types: readonly string[]): string | undefined {
  if (types.some((type) => matches(pattern, type))) return undefined
  const candidates = new Set(types.flatMap((type) => [type, ...prefixesOf(type)]))
  return `there is no event "${pattern}"${didYouMean(pattern, candidates) || `: there are ${[...new Set(types.map((type) => prefixesOf(type).at(-1)!))].join(', ')}`}`
}

/** `pay.*` and `pay.transaction.*` of `pay.transaction.completed`. */
const prefixesOf = (type: string): string[] => {
  const words = type.split('.')
  return words.slice(1).map((_word, at) => [...words.slice(0, at + 1), '*'].join('.'))
}
