import { choice, isNothing, nothing, repeat, sequence, type Node } from './tree.ts'

/**
 * A shorter pattern that finds a match in the same texts. Where a match may begin anywhere, what it may begin with but need
 * not is left out: `.*foo.*` is `foo`, and `(a+)+$` is `a$`.
 */
export const trimmed = (node: Node): Node => trim(node, true, true)

/**
 * @param first whether nothing stands before the node
 * @param last whether nothing stands after it
 */
function trim(node: Node, first: boolean, last: boolean): Node {
  if (!first && !last) return node
  switch (node.kind) {
    case 'set':
    case 'assertion':
      return node
    case 'sequence':
      return trimSequence(node.of, first, last)
    case 'choice': {
      const of = node.of.map((one) => trim(one, first, last))
      return of.some(isNothing) ? nothing : choice(of)
    }
    case 'repeat':
      // A match with more repetitions has one with fewer in it.
      if (node.min === 0) return nothing
      return node.min === 1 ? trim(node.of, first, last) : repeat(node.of, node.min, node.min)
  }
}

function trimSequence(nodes: readonly Node[], first: boolean, last: boolean): Node {
  const of = [...nodes]
  while (first && of.length > 0) {
    of[0] = trim(of[0]!, true, last && of.length === 1)
    if (!isNothing(of[0])) break
    of.shift()
  }
  while (last && of.length > 0) {
    of.push(trim(of.pop()!, first && of.length === 0, true))
    if (!isNothing(of.at(-1)!)) break
    of.pop()
  }
  return sequence(of)
}

/** Whether `$` without option m stands only where a match ends, as all engines need it. */
export function lastLineEndsAreLast(node: Node, last = true): boolean {
  switch (node.kind) {
    case 'set':
      return true
    case 'assertion':
      return last || node.at !== 'lastLineEnd'
    case 'sequence':
      return node.of.every((one, i) => lastLineEndsAreLast(one, last && i === node.of.length - 1))
    case 'choice':
      return node.of.every((one) => lastLineEndsAreLast(one, last))
    case 'repeat':
      return lastLineEndsAreLast(node.of, false)
  }
}
