import type { Pattern } from '../filter.ts'
import { leadingText } from './literal.ts'
import { readPattern } from './read.ts'

/**
 * The text that every match begins with, if the pattern is anchored at the start: the texts to look at are a range of an index.
 * `whole` if every text that begins so matches.
 */
export function prefixOf(pattern: Pattern): { readonly prefix: string; readonly whole: boolean } | undefined {
  const tree = readPattern(pattern)
  const [anchor, ...of] = tree.kind === 'sequence' ? tree.of : [tree]
  if (anchor?.kind !== 'assertion' || anchor.at !== 'start') return undefined
  const { text, rest } = leadingText(of)
  return text === '' ? undefined : { prefix: text, whole: !rest }
}
