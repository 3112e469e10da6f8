import { complement, setOf, type CharacterSet, type Range } from './character-set.ts'
import { choice, repeat, sequence, type Node, type Place } from './pattern-tree.ts'
import { propertySet, withOtherCases } from './unicode.ts'

/** Letters of `$options` that are on. */
type Options = ReadonlySet<string>

/** Why a pattern is refused: a sentence for the person who wrote it. */
export class PatternFault extends Error {}

const MAX_DEPTH = 50
/** Of the sets in all classes together: 29 times `\p{L}`. */
const MAX_RANGES = 20_000
/** PostgreSQL's limit. */
const MAX_COUNT = 255

/** What PCRE2 has and the subset does not: the first that fits counts. */
const REFUSED: readonly (readonly [beginning: RegExp, name: string, instead?: string])[] = [
  [/\(\?<?[=!]/y, 'look-around'],
  [/\(\?>/y, 'atomic group', 'write (?:'],
  [/\(\?(?:P?<|')/y, 'named group', 'write ('],
  [/\(\?P=|\\[1-9gk]/y, 'back reference'],
  [/\(\?(?:R|&|P>|[+-]?\d)/y, 'recursion'],
  [/\(\?#/y, 'comment', 'use option x'],
  [/\((?:\?[^)]{0,10}|\*)/y, 'group', 'write (?: or options of i, m, s and x'],
  [/\\[QE]/y, 'quotation', 'write a backslash before each special character'],
  [/\\[GKZ]/y, 'place', 'write \\A for \\G and $ for \\Z'],
  [/\[([:.=])[^\]]*\1\]/y, 'POSIX class', 'write \\d, \\w, \\s or \\p{L}'],
  [/\{ *,? *\d[\d ]*(?:,[\d ]*)?\}/y, 'quantifier', 'write {0,5} for {,5}, or \\{ for a brace'],
]

const PLACES: Readonly<Record<string, Place>> = {
  '^': 'start',
  $: 'lastLineEnd',
  '\\A': 'start',
  '\\z': 'end',
  '\\b': 'wordEdge',
  '\\B': 'noWordEdge',
}
const PLACES_OF_LINES: Readonly<Record<string, Place>> = { ...PLACES, '^': 'lineStart', $: 'lineEnd' }

const ASCII = Array.from({ length: 0x80 }, (_, code): Range => [code, code])
const asciiSet = (expression: RegExp): CharacterSet =>
  setOf(ASCII.filter(([code]) => expression.test(String.fromCharCode(code))))
const LINE_FEED = asciiSet(/\n/)
/** As PCRE2 has them in MongoDB. */
const SETS: Readonly<Record<string, CharacterSet>> = {
  d: asciiSet(/\d/),
  s: asciiSet(/\s/),
  w: asciiSet(/\w/),
}
const CODES: Readonly<Record<string, number>> = { f: 0x0c, n: 0x0a, r: 0x0d, t: 0x09 }

/**
 * Reads a pattern in the subset of PCRE2's syntax that `docs/queries.md` lists.
 * https://www.pcre.org/current/doc/html/pcre2pattern.html
 *
 * @param options letters of i, m, s and x
 * @throws PatternFault
 */
export const readPattern = (source: string, options: string): Node =>
  new Reader(source).pattern(new Set(options))

class Reader {
  readonly #text: string
  #at = 0
  #depth = 0
  #ranges = 0

  constructor(text: string) {
    if (/[\0\p{Cs}]/u.test(text))
      throw new PatternFault('The pattern has U+0000 or half of a surrogate pair, which no text has.')
    this.#text = text
  }

  pattern(options: Options): Node {
    const node = this.#choice(options)
    if (this.#at < this.#text.length) this.#refuse(this.#at, 'parenthesis', 'closes no group: write \\)')
    return node
  }

  /** Reads what `expression`, which is sticky, matches here. */
  #take(expression: RegExp): RegExpExecArray | undefined {
    expression.lastIndex = this.#at
    const match = expression.exec(this.#text) ?? undefined
    if (match) this.#at = expression.lastIndex
    return match
  }

  #refuse(from: number, name: string, rest = 'is not supported'): never {
    const text = this.#text.slice(from, Math.max(this.#at, from + 1))
    const quoted = JSON.stringify(text.length > 20 ? `${text.slice(0, 20)}…` : text).replaceAll('\\\\', '\\')
    throw new PatternFault(`The ${name} ${quoted} at character ${from + 1} of the pattern ${rest}.`)
  }

  #skipSpace(options: Options): void {
    if (options.has('x')) this.#take(/(?:[\t-\r \x85\u200e\u200f\u2028\u2029]|#[^\n]*)*/y)
  }

  /** As far as the end of the group. An option set in one branch holds in those after it. */
  #choice(options: Options): Node {
    const branches: Node[][] = [[]]
    for (;;) {
      this.#skipSpace(options)
      if ([undefined, ')'].includes(this.#text[this.#at])) return choice(branches.map(sequence))
      const change = this.#take(/\(\?(?!-?\w*xx)([imsx]*)(?:-([imsx]*))?\)/y)
      if (change) options = changed(options, change)
      else if (this.#take(/\|/y)) branches.push([])
      else branches.at(-1)!.push(this.#item(options))
    }
  }

  #item(options: Options): Node {
    const place = this.#take(/[\^$]|\\[AzbB]/y)
    if (place) return { kind: 'assertion', at: (options.has('m') ? PLACES_OF_LINES : PLACES)[place[0]]! }
    const from = this.#at
    if (this.#take(/[*+?]|\{\d+(?:,\d*)?\}/y))
      this.#refuse(from, 'quantifier', 'has nothing to repeat: write a backslash before it, or use (?:)')
    const node = this.#atom(options)
    this.#skipSpace(options)
    return this.#repeated(node)
  }

  #repeated(node: Node): Node {
    const from = this.#at
    const match = this.#take(/(?:([*+?])|\{(\d+)(,?)(\d*)\})([+?]?)/y)
    if (!match) return node
    const [, sign, least, comma, most, mode] = match
    if (mode === '+') this.#refuse(from, 'possessive quantifier')
    if (sign) return repeat(node, sign === '+' ? 1 : 0, sign === '?' ? 1 : Infinity)
    const min = Number(least)
    const max = most ? Number(most) : comma ? Infinity : min
    if (max < min) this.#refuse(from, 'quantifier', 'ends before it begins')
    if (min > MAX_COUNT || (max > MAX_COUNT && max < Infinity))
      this.#refuse(from, 'quantifier', `is over ${MAX_COUNT}`)
    return repeat(node, min, max)
  }

  #atom(options: Options): Node {
    const from = this.#at
    const opening = this.#take(/\((?:\?(?!-?\w*xx)([imsx]*)(?:-([imsx]*))?:|(?![?*]))/y)
    if (opening) return this.#group(from, changed(options, opening))
    for (const [beginning, name, instead] of REFUSED)
      if (this.#take(beginning)) this.#refuse(from, name, `is not supported${instead ? `: ${instead}` : ''}`)
    if (this.#take(/\./y)) return { kind: 'set', set: complement(options.has('s') ? [] : LINE_FEED) }
    if (this.#take(/\[/y)) return { kind: 'set', set: this.#class(from, options) }
    const member = this.#character(options)
    return { kind: 'set', set: typeof member === 'number' ? setOfCases([[member, member]], options) : member }
  }

  /** Behind its beginning. */
  #group(from: number, options: Options): Node {
    if (++this.#depth > MAX_DEPTH) this.#refuse(from, 'group', `is deeper than ${MAX_DEPTH} levels`)
    const node = this.#choice(options)
    if (!this.#take(/\)/y)) this.#refuse(from, 'group', 'has no ) at its end: write \\( for a parenthesis')
    this.#depth--
    return node
  }

  /** Behind its `[`. */
  #class(from: number, options: Options): CharacterSet {
    const isNegated = this.#take(/\^/y) !== undefined
    const ranges: Range[] = []
    const sets: CharacterSet[] = []
    do {
      if (this.#at >= this.#text.length) this.#refuse(from, 'class', 'has no ] at its end')
      const at = this.#at
      if (this.#take(/\[[:.=]/y))
        this.#refuse(at, 'POSIX class', 'is not supported: write \\d, \\w, \\s or \\p{L}, or \\[')
      const first = this.#character(options)
      const last = this.#take(/-(?=[^\]])/y) ? this.#character(options) : first
      if (typeof first === 'number' && typeof last === 'number' && first <= last) ranges.push([first, last])
      else if (typeof first !== 'number' && first === last) {
        sets.push(first)
        this.#ranges += first.length
        if (this.#ranges > MAX_RANGES)
          this.#refuse(from, 'class', 'has too many ranges together with those before it')
      } else this.#refuse(at, 'range', 'does not go from a character to a later one: write \\- for a hyphen')
    } while (!this.#take(/\]/y))
    const set = setOf([...setOfCases(ranges, options), ...sets.flat()])
    return isNegated ? complement(set) : set
  }

  /** A character or an escape, which mean the same inside and outside of a class. */
  #character(options: Options): number | CharacterSet {
    const from = this.#at
    const literal = this.#take(/\\([^0-9A-Za-z])|[^\\]/suy)
    if (literal) return (literal[1] ?? literal[0]).codePointAt(0)!
    const escape = this.#take(
      /\\(?:([dsw])|([DSW])|([fnrt])|x(?:([0-9A-Fa-f]{1,2})|\{([0-9A-Fa-f]{1,8})\}))/y,
    )
    if (escape) {
      const [, set, others, control, short, long] = escape
      if (set) return SETS[set]!
      if (others) return complement(SETS[others.toLowerCase()]!)
      const code = control ? CODES[control]! : parseInt(short ?? long!, 16)
      if (code > 0x10_ffff || (code >= 0xd800 && code <= 0xdfff))
        this.#refuse(from, 'escape', 'is not a character of Unicode')
      return code
    }
    const property = this.#take(/\\([pP])(?:([A-Z])|\{([A-Za-z_]+)\})/y)
    if (!property) {
      if (!this.#take(/\\./suy)) this.#refuse(from, 'backslash', 'has nothing after it: write \\\\')
      return this.#refuse(from, 'escape')
    }
    const [, letter, short, name = short!] = property
    if (options.has('i') && /^L[ult]$/.test(name))
      this.#refuse(from, 'property', 'is not supported with option i: write \\p{L}')
    const set = propertySet(name)
    if (!set) this.#refuse(from, 'property', 'is not supported: general categories and scripts are')
    return letter === 'P' ? complement(set) : set
  }
}

const setOfCases = (ranges: readonly Range[], options: Options): CharacterSet =>
  options.has('i') ? withOtherCases(setOf(ranges)) : setOf(ranges)

const changed = (options: Options, [, on = '', off = '']: RegExpExecArray): Options =>
  new Set([...options, ...Array.from(on)].filter((letter) => !off.includes(letter)))
