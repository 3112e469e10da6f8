import { createRequire } from 'node:module'
import type { RE2JS as Re2 } from 're2js'
import { contains, type CharacterSet } from './character-set.ts'
import { hexadecimal, printSet, printTree, quantifier, type PatternDialect } from './print.ts'
import type { Node } from './tree.ts'

const LINE_FEED = 0x0a

/** No text has it, so it can be put at a text's end as a mark. */
const MARK = '\0'

const escape = (code: number): string => `\\x{${hexadecimal(code)}}`

const re2Set = (set: CharacterSet): string =>
  set.length === 0 ? '[^\\x00-\\x{10FFFF}]' : printSet(set, escape, '\\x00')

const dialect: PatternDialect = {
  set: re2Set,
  assertions: {
    start: '\\A',
    end: '\\z',
    lastLineEnd: '\\n?\\z',
    lineStart: '(?m:^)',
    lineEnd: '(?m:$)',
    wordEdge: '\\b',
    noWordEdge: '\\B',
  },
  repeat: (atom, min, max) => atom + quantifier(min, max),
}

/**
 * For a text whose last character is a line feed, after which the mark stands. There PCRE's `^` with option m does not
 * match behind that line feed, and RE2's does. A line feed is read together with the mark, or else the match does not get on.
 */
const markedDialect: PatternDialect = {
  ...dialect,
  set: (set) => (contains(set, LINE_FEED) ? `(?:${re2Set(set)}|\\n\\x00)` : re2Set(set)),
  assertions: { ...dialect.assertions, lastLineEnd: '(?:\\n\\x00)?\\z' },
}

const afterMarked = '(?:[^\\x00]+\\x00)?\\z'

const hasLineStart = (node: Node): boolean => {
  if (node.kind === 'assertion') return node.at === 'lineStart'
  if (node.kind === 'set') return false
  return node.kind === 'repeat' ? hasLineStart(node.of) : node.of.some(hasLineStart)
}

/** Matches in linear time by RE2's automata. */
export function re2Matcher(tree: Node): (text: string) => boolean {
  const plain = compiled(() => printTree(tree, dialect))
  if (!hasLineStart(tree)) return (text) => plain().test(text)
  const marked = compiled(() => `(?:${printTree(tree, markedDialect)})${afterMarked}`)
  return (text) => (text.endsWith('\n') ? marked().test(text + MARK) : plain().test(text))
}

/**
 * Compiled when first used. An automaton remembers states in up to 8 MiB and is compiled again in a few milliseconds, so those
 * of queries that are over are left to the garbage collector, also where their matchers are kept.
 */
function compiled(print: () => string): () => Re2 {
  let last: WeakRef<Re2> | undefined
  return () => {
    const kept = last?.deref()
    if (kept) return kept
    const { RE2JS } = createRequire(import.meta.url)('re2js') as { RE2JS: typeof Re2 }
    const automaton = RE2JS.compile(print())
    last = new WeakRef(automaton)
    return automaton
  }
}
