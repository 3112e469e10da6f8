import type { Pattern } from '../filter.ts'
import { complement, setOf, type CharacterSet } from './character-set.ts'
import { readClass } from './class.ts'
import { LINE_FEED, readEscape } from './escapes.ts'
import { PatternFault, Source } from './source.ts'
import { choice, costOf, countOf, rangesOf, repeat, sequence, type Node, type Place } from './tree.ts'
import { lastLineEndsAreLast, trimmed } from './trim.ts'
import { withOtherCases } from './unicode.ts'

export { PatternFault }

type Options = Pattern['flags']

/** RE2's limit. */
const MAX_COUNT = 1000
/** What all patterns of a filter may cost together: some 5 s for a text of 1 MiB at the very worst. See `costOf`. */
export const MAX_PATTERN_COST = 1200
/** Likewise of how many ranges of characters they are written with: 30 times `\p{L}`. */
export const MAX_PATTERN_RANGES = 20_000
const MAX_DEPTH = 50

const LINEAR = 'is not supported: patterns are matched in linear time.'

const COMMENTS = /(?:\(\?#[^)]*\))*/y
const COMMENTS_AND_SPACE = /(?:\(\?#[^)]*\)|[\t-\r \x85\u200e\u200f\u2028\u2029]|#[^\n]*(?:\n|$))*/y

/** What may follow `(?` and is refused: the first that fits counts. */
const REFUSED_GROUPS: readonly (readonly [opening: RegExp, what: string, rest: string])[] = [
  [/\(\?<?[=!]/y, 'The look-around', LINEAR],
  [/\(\?<?\*/y, 'The look-around', LINEAR],
  [/\(\?>/y, 'The atomic group', `${LINEAR} Write (?:`],
  [/\(\?P=/y, 'The back reference', LINEAR],
  [/\(\?(?:R|&|P>|[+-]?[0-9])/y, 'The recursion', LINEAR],
  [/\(\?\(/y, 'The conditional group', LINEAR],
  [/\(\?C/y, 'The callout', 'is not supported.'],
  [/\(\*/y, 'The verb', 'is not supported.'],
  [/\(\?-?\w*xx/y, 'The option xx of', 'is not supported: write x.'],
  [/\(\?(?![imsx]*(?:-[imsx]*)?:)[\^\w-]+[:)]/y, 'The options', 'are not supported: these are: i m s x.'],
]

const ASSERTIONS: Readonly<Record<string, Place>> = {
  A: 'start',
  Z: 'lastLineEnd',
  z: 'end',
  b: 'wordEdge',
  B: 'noWordEdge',
}

/**
 * Reads a pattern in PCRE2's syntax into a tree that is as short as asking for any match allows.
 * https://www.pcre.org/current/doc/html/pcre2pattern.html
 *
 * @throws PatternFault
 */
export function readPattern(pattern: Pattern): Node {
  const known = trees.get(pattern)
  if (known) return known
  const tree = trimmed(readWhole(pattern))
  if (costOf(tree) > MAX_PATTERN_COST || countOf(tree) > MAX_COUNT || rangesOf(tree) > MAX_PATTERN_RANGES)
    throw new PatternFault(
      'The pattern is too large: with its repetitions written out it has too many parts. Use lower counts.',
    )
  if (!lastLineEndsAreLast(tree))
    throw new PatternFault(
      'The pattern has $ or \\Z before its end: write \\z for the end of the text, or $ with option m for the end of a line.',
    )
  trees.set(pattern, tree)
  return tree
}

// A pattern is read when its filter is checked, and again for each place where it is asked.
const trees = new WeakMap<Pattern, Node>()

/** The same, with all that the pattern says. */
export const readWhole = ({ source, flags }: Pattern): Node => new Reader(source).pattern(flags)

class Reader {
  readonly #source: Source
  readonly #names = new Set<string>()
  #depth = 0

  constructor(source: string) {
    const fault = source.includes('\0')
      ? 'U+0000'
      : source.isWellFormed()
        ? undefined
        : 'half of a surrogate pair'
    if (fault) throw new PatternFault(`The pattern has ${fault}, which no text has.`)
    this.#source = new Source(source)
  }

  pattern(options: Options): Node {
    const node = this.#choice(options)
    if (!this.#source.atEnd)
      this.#source.refuse(this.#source.at, 'The parenthesis', 'closes no group: write \\).')
    return node
  }

  /** As far as the end of the group. An option set in one branch holds in those after it. */
  #choice(options: Options): Node {
    const source = this.#source
    const branches: Node[][] = [[]]
    while (!source.atEnd && !source.startsWith(')')) {
      if (this.#skipComments(options)) continue
      if (source.skip('|')) {
        branches.push([])
        continue
      }
      const changed = this.#changedOptions(options)
      if (changed) options = changed
      else branches.at(-1)!.push(...this.#item(options))
    }
    return choice(branches.map(sequence))
  }

  /** `(?i)`: what comes after it in the group. */
  #changedOptions(options: Options): Options | undefined {
    const match = this.#source.take(/\(\?(?!-?\w*xx)([imsx]*)(?:-([imsx]*))?\)/y)
    return match && withOptions(options, match)
  }

  /** White space and comments of option x, and comments in parentheses. */
  #skipComments(options: Options): boolean {
    const source = this.#source
    const from = source.at
    source.take(options.x ? COMMENTS_AND_SPACE : COMMENTS)
    return source.at > from
  }

  /** What a quantifier applies to, with it. */
  #item(options: Options): Node[] {
    const source = this.#source
    const from = source.at
    const assertion = this.#assertion(options)
    if (assertion) {
      this.#skipComments(options)
      if (this.#quantifier())
        source.refuse(from, 'The assertion', 'cannot be repeated: leave the quantifier out.')
      return [{ kind: 'assertion', at: assertion }]
    }
    if (source.skip('\\Q')) return this.#quotation(from, options)
    return [this.#repeated(this.#atom(options), options)]
  }

  #assertion(options: Options): Place | undefined {
    const source = this.#source
    if (source.skip('^')) return options.m ? 'lineStart' : 'start'
    if (source.skip('$')) return options.m ? 'lineEnd' : 'lastLineEnd'
    const letter = source.take(/\\([AZzbB])/y)?.[1]
    return letter === undefined ? undefined : ASSERTIONS[letter]
  }

  /** `\Q...\E`: a quantifier applies to the last character. */
  #quotation(from: number, options: Options): Node[] {
    const source = this.#source
    const [, text] = source.take(/([^]*?)(?:\\E|$)/y)!
    const nodes = Array.from(text!, (character) => literal(character.codePointAt(0)!, options))
    const last = nodes.pop()
    if (last) return [...nodes, this.#repeated(last, options)]
    this.#skipComments(options)
    if (this.#quantifier()) source.refuse(from, 'The quotation', 'is empty, so there is nothing to repeat.')
    return []
  }

  #atom(options: Options): Node {
    const source = this.#source
    const from = source.at
    if (this.#quantifier())
      source.refuse(from, 'The quantifier', 'has nothing before it: write a backslash before it.')
    if (source.take(/\{ *,? *[0-9][0-9 ]*(?:,[0-9 ]*)?\}/y))
      source.refuse(from, 'The quantifier', 'is not supported: write {0,5} for {,5}, without spaces, or \\{.')
    if (source.skip('[')) return { kind: 'set', set: readClass(source, options.i) }
    if (source.skip('.'))
      return { kind: 'set', set: options.s ? setOf([[0, 0x10_ffff]]) : complement(LINE_FEED) }
    if (source.startsWith('(')) return this.#group(options)
    if (!source.skip('\\')) return literal(source.next().codePointAt(0)!, options)
    const escaped = readEscape(source, from, { inClass: false, i: options.i })
    return 'code' in escaped ? literal(escaped.code, options) : { kind: 'set', set: escaped.set }
  }

  #group(options: Options): Node {
    const source = this.#source
    const from = source.at
    for (const [opening, what, rest] of REFUSED_GROUPS)
      if (source.take(opening)) source.refuse(from, what, rest)
    if (++this.#depth > MAX_DEPTH) source.refuse(from, 'The group', `is deeper than ${MAX_DEPTH} levels.`)
    const inner = source.take(/\(\?(?:([imsx]*)(?:-([imsx]*))?:|\|)/y)
    if (!inner) this.#openCapture(from)
    const node = this.#choice(inner ? withOptions(options, inner) : options)
    if (!source.skip(')'))
      source.refuse(from, 'The group', 'has no ) at its end: write \\( for a parenthesis.')
    this.#depth--
    return node
  }

  #openCapture(from: number): void {
    const source = this.#source
    const named = source.take(/\(\?(?:P?<([A-Za-z_]\w{0,31})>|'([A-Za-z_]\w{0,31})')/y)
    if (!named) {
      source.skip('(')
      if (source.take(/\?[^)]{0,10}/y))
        source.refuse(from, 'The group', 'is not supported: write (?: instead.')
      return
    }
    const name = named[1] ?? named[2]!
    if (this.#names.has(name)) source.refuse(from, 'The name of', 'is there twice.')
    this.#names.add(name)
  }

  #repeated(node: Node, options: Options): Node {
    const source = this.#source
    this.#skipComments(options)
    const from = source.at
    const counts = this.#quantifier()
    if (!counts) return node
    const [min, max] = counts
    if (min > MAX_COUNT || (max > MAX_COUNT && max !== Infinity))
      source.refuse(from, 'The quantifier', `is over ${MAX_COUNT}.`)
    if (max < min) source.refuse(from, 'The quantifier', 'ends before it begins.')
    if (source.skip('+')) source.refuse(from, 'The possessive quantifier', LINEAR)
    source.skip('?')
    this.#skipComments(options)
    const next = source.at
    if (this.#quantifier())
      source.refuse(next, 'The quantifier', 'follows another one: put what it repeats into (?:).')
    return repeat(node, min, max)
  }

  #quantifier(): [min: number, max: number] | undefined {
    const match = this.#source.take(/([*+?])|\{([0-9]+)(,?)([0-9]*)\}/y)
    if (!match) return undefined
    const [, sign, min, comma, max] = match
    if (sign !== undefined) return [sign === '+' ? 1 : 0, sign === '?' ? 1 : Infinity]
    if (!comma) return [Number(min), Number(min)]
    return [Number(min), max ? Number(max) : Infinity]
  }
}

const withOptions = (options: Options, [, on = '', off = '']: RegExpExecArray): Options => {
  const option = (letter: keyof Options): boolean =>
    !off.includes(letter) && (on.includes(letter) || options[letter])
  return { i: option('i'), m: option('m'), s: option('s'), x: option('x') }
}

function literal(code: number, options: Options): Node {
  const set: CharacterSet = setOf([[code, code]])
  return { kind: 'set', set: options.i ? withOtherCases(set) : set }
}
