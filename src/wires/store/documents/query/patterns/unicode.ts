import { contains, setOf, union, type CharacterSet, type Range } from './character-set.ts'

const CHUNK = 0x1000

/** Where Unicode has characters of categories and scripts: no halves of surrogate pairs, no planes for private use. */
const SPANS: readonly Range[] = [
  [0, 0xcfff],
  [0xd000, 0xd7ff],
  [0xe000, 0x3_ffff],
  [0xe_0000, 0xe_0fff],
]

/** Those whose members change with each version of Unicode are left out, C and Cn, and Co, private use. */
const CATEGORY = /^(?:C[cf]|L[lmotu]?|M[cen]?|N[dlo]?|P[cdefios]?|S[ckmo]?|Z[lps]?)$/

/** The scripts of what belongs to no script, which change too. */
const NO_SCRIPTS = new Set(['Common', 'Inherited', 'Qaai', 'Unknown', 'Zinh', 'Zyyy', 'Zzzz'])

// What is in these two depends on Unicode alone. They are filled when first used, in some 10 ms each.
const properties = new Map<string, CharacterSet | undefined>()
let cases: ReadonlyMap<number, readonly number[]> | undefined

/**
 * The characters of a general category or script of Unicode, as PCRE2 names them: `L`, `L&`, `Any`, `Greek`.
 * A script has its extensions, as in PCRE2 since 10.40.
 */
export function propertySet(name: string): CharacterSet | undefined {
  if (name === 'Any') return setOf([[0, 0x10_ffff]])
  if (name === 'L&' || name === 'LC') return union(...['Lu', 'Ll', 'Lt'].map((one) => propertySet(one)!))
  if (!properties.has(name)) properties.set(name, readProperty(name))
  return properties.get(name)
}

function readProperty(name: string): CharacterSet | undefined {
  if (NO_SCRIPTS.has(name)) return undefined
  let runs: RegExp
  try {
    runs = new RegExp(`\\p{${CATEGORY.test(name) ? name : `scx=${name}`}}+`, 'gu')
  } catch {
    return undefined // no script has this name
  }
  return setOf(rangesOf(runs))
}

/** The runs of characters that `runs` finds among all characters. */
function rangesOf(runs: RegExp): Range[] {
  const ranges: Range[] = []
  for (const [first, last] of SPANS)
    for (let from = first; from <= last; from += CHUNK) {
      const codes = Array.from({ length: Math.min(CHUNK, last + 1 - from) }, (_, i) => from + i)
      const width = from > 0xffff ? 2 : 1
      for (const { 0: run, index } of String.fromCodePoint(...codes).matchAll(runs))
        ranges.push([from + index / width, from + (index + run.length) / width - 1])
    }
  return ranges
}

/**
 * The set and its members' other cases, by Unicode's simple case folding: `k`, `K` and the Kelvin sign are one.
 * https://www.unicode.org/Public/UCD/latest/ucd/CaseFolding.txt
 */
export function withOtherCases(set: CharacterSet): CharacterSet {
  cases ??= readCases()
  const others: number[] = []
  for (const [from, to] of set)
    if (to - from < cases.size)
      for (let code = from; code <= to; code++) others.push(...(cases.get(code) ?? []))
    else
      for (const [code, all] of cases)
        if (from <= code && code <= to) others.push(...all.filter((one) => !contains(set, one)))
  return setOf([...set, ...others.map((code): Range => [code, code])])
}

/** Has a capital, `I`, but no folding. */
const DOTLESS_I = 'ı'

/** Each character that has other cases, with all of them and itself. */
function readCases(): Map<number, readonly number[]> {
  const all = new Map<number, readonly number[]>()
  for (const [from, to] of rangesOf(/\p{Changes_When_Casemapped}+/gu))
    for (let code = from; code <= to; code++) {
      const character = String.fromCodePoint(code)
      if (character === DOTLESS_I) continue
      const upper = character.toUpperCase()
      // Where a mapping is several characters, as `SS` for `ß`, it is no folding.
      for (const other of [character.toLowerCase(), upper, upper.toLowerCase()])
        if (Array.from(other).length === 1) join(all, code, other.codePointAt(0)!)
    }
  return all
}

function join(all: Map<number, readonly number[]>, one: number, other: number): void {
  const joined = [...new Set([...(all.get(one) ?? [one]), ...(all.get(other) ?? [other])])]
  for (const code of joined) all.set(code, joined)
}
