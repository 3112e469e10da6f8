import { onlyMember } from './character-set.ts'
import type { Node } from './tree.ts'

/** A pattern that is a text, perhaps tied to the start or the end. */
export type Literal = {
  readonly text: string
  readonly atStart: boolean
  readonly atEnd: boolean
  /** Where it need not be the very end: a line feed may come after it. */
  readonly beforeLineFeed: boolean
}

export function literalOf(tree: Node): Literal | undefined {
  const of = tree.kind === 'sequence' ? [...tree.of] : [tree]
  const first = placeOf(of[0])
  const atStart = first === 'start'
  if (atStart) of.shift()
  const last = placeOf(of.at(-1))
  const atEnd = last === 'end' || last === 'lastLineEnd'
  if (atEnd) of.pop()
  const { text, rest } = leadingText(of)
  return rest ? undefined : { text, atStart, atEnd, beforeLineFeed: last === 'lastLineEnd' }
}

const placeOf = (node: Node | undefined) => (node?.kind === 'assertion' ? node.at : undefined)

/** The text that the sequence begins with; `rest` if more comes after it. */
export function leadingText(nodes: readonly Node[]): { text: string; rest: boolean } {
  const codes = nodes.map(codeOf)
  const end = codes.indexOf(undefined)
  const text = String.fromCodePoint(...(codes.slice(0, end === -1 ? codes.length : end) as number[]))
  return { text, rest: end !== -1 }
}

const codeOf = (node: Node): number | undefined => (node.kind === 'set' ? onlyMember(node.set) : undefined)
