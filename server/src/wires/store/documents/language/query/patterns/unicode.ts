import { once } from '../../../../../../base/once.ts'
import { printRanges, setOf, type CharacterSet, type Range } from './character-set.ts'

const CHUNK = 0x800
/** Where Unicode has characters of categories and scripts: no halves of surrogate pairs, no planes for private use. */
const CHUNKS = [...Array.from({ length: 0x80 }, (_, i) => i * CHUNK), 0xe_0000].filter((at) => at !== 0xd800)

/** Those whose members change with each version of Unicode are left out, C and Cn, and Co, private use. */
const CATEGORY = /^(?:C[cf]|L[lmotu]?|M[cen]?|N[dlo]?|P[cdefios]?|S[ckmo]?|Z[lps]?)$/

/** The scripts of what belongs to no script, which change too. */
const NO_SCRIPT = /^(?:Common|Inherited|Qaai|Unknown|Zinh|Zyyy|Zzzz)$/

// What is in it depends on Unicode alone. Each is read in some 10 ms when first used.
const properties = new Map<string, CharacterSet>()

/** The characters of a general category or of a script, with its extensions: `L`, `Lu`, `Greek`. */
export function propertySet(name: string): CharacterSet | undefined {
  const characterSet = properties.get(name)
  if (characterSet || NO_SCRIPT.test(name)) return characterSet
  let property: RegExp
  try {
    property = new RegExp(`\\p{${CATEGORY.test(name) ? name : `scx=${name}`}}+`, 'gu')
  } catch {
    return undefined // no script has this name
  }
  const set = setOf(runsOf(property).map(([from, text]): Range => [from, from + Array.from(text).length - 1]))
  properties.set(name, set)
  return set
}

/** The texts that the expression finds among all characters, with their first code points. */
function runsOf(expression: RegExp): (readonly [from: number, text: string])[] {
  return CHUNKS.flatMap((start) => {
    const chunk = String.fromCodePoint(...Array.from({ length: CHUNK }, (_, i) => start + i))
    return Array.from(chunk.matchAll(expression), ({ 0: text }) => [text.codePointAt(0)!, text] as const)
  })
}

const casedCharacters = once(() =>
  runsOf(/\p{Changes_When_Casemapped}+/gu)
    .map(([, text]) => text)
    .join(''),
)

/**
 * The set and its members' other cases, by Unicode's simple case folding as JavaScript has it: `k`, `K` and the Kelvin sign
 * are one.
 */
export function withOtherCases(set: CharacterSet): CharacterSet {
  // Never as a negated class, which leaves out all cases of what it names.
  const all = casedCharacters().match(new RegExp(`[${printRanges(set)}]`, 'gisu')) ?? []
  return setOf([...set, ...all.map((one): Range => [one.codePointAt(0)!, one.codePointAt(0)!])])
}
