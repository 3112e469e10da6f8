import type { CharacterSet } from './character-set.ts'
import type { Node, Place } from './pattern-tree.ts'

/** Whether the text has a match, by trying everything. */
export function isFound(tree: Node, text: string): boolean {
  const codes = Array.from(text, (character) => character.codePointAt(0)!)
  return [...codes, 0].some((_, at) => ends(tree, codes, at).size > 0)
}

/** Where matches end that begin at `at`. */
function ends(node: Node, codes: readonly number[], at: number): ReadonlySet<number> {
  switch (node.kind) {
    case 'set':
      return new Set(at < codes.length && contains(node.set, codes[at]!) ? [at + 1] : [])
    case 'assertion':
      return new Set(isAt[node.at](codes, at) ? [at] : [])
    case 'choice':
      return new Set(node.of.flatMap((one) => [...ends(one, codes, at)]))
    case 'sequence':
      return node.of.reduce<ReadonlySet<number>>((all, one) => after(all, one, codes), new Set([at]))
    case 'repeat': {
      let now: ReadonlySet<number> = new Set([at])
      for (let i = 0; i < node.min; i++) now = after(now, node.of, codes)
      const all = new Set(now)
      // After as many rounds as there are places nothing new comes.
      for (let i = node.min; i < Math.min(node.max, node.min + codes.length + 1); i++) {
        now = after(now, node.of, codes)
        for (const end of now) all.add(end)
      }
      return all
    }
  }
}

const after = (all: ReadonlySet<number>, node: Node, codes: readonly number[]): ReadonlySet<number> =>
  new Set([...all].flatMap((at) => [...ends(node, codes, at)]))

const contains = (set: CharacterSet, code: number): boolean =>
  set.some(([from, to]) => from <= code && code <= to)

const LINE_FEED = 10

const isWord = (code: number | undefined): boolean =>
  code !== undefined && /^\w$/.test(String.fromCodePoint(code))

/**
 * The words of PCRE2's documentation, but that `^` with option m is also after a line feed at the end, as in JavaScript and RE2.
 * https://www.pcre.org/current/doc/html/pcre2pattern.html
 */
const isAt: Readonly<Record<Place, (codes: readonly number[], at: number) => boolean>> = {
  start: (_, at) => at === 0,
  end: (codes, at) => at === codes.length,
  lastLineEnd: (codes, at) => at === codes.length || (at === codes.length - 1 && codes[at] === LINE_FEED),
  lineStart: (codes, at) => at === 0 || codes[at - 1] === LINE_FEED,
  lineEnd: (codes, at) => at === codes.length || codes[at] === LINE_FEED,
  wordEdge: (codes, at) => isWord(codes[at - 1]) !== isWord(codes[at]),
  noWordEdge: (codes, at) => isWord(codes[at - 1]) === isWord(codes[at]),
}
