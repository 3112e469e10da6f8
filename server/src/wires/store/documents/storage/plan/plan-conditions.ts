import {
  conjunctsOf,
  type ElementTest,
  type FilterTree,
  type Json,
  type Test,
} from '../../language/query/filter.ts'
import { indexOf, type Path } from '../../language/query/path.ts'
import { holdsNull, intersection, passing, type Passing } from './interval.ts'

/** What a document must have at a path to match a filter: a value with a key in one of the intervals. */
export type PlanCondition = Passing & {
  readonly path: Path
  /** What is asked, by the operators of the filter. */
  readonly operators: Json
  /** The arrays of which one and the same element must have it, from the outermost on: the `$elemMatch` around it. */
  readonly elements: readonly { readonly of: object; readonly parts: number }[]
}

/** A filter as conditions that must all be met. */
export type PlanConditions = {
  readonly conditions: readonly PlanCondition[]
  /** Whether they are the filter: a document that meets them all matches. */
  readonly isWhole: boolean
}

/** What an index may be searched by to find all documents that match a filter. */
export function conditionsOf(filter: FilterTree): PlanConditions {
  const parts = conjunctsOf(filter)
  const found = parts.map((part) => conditionsOfPart(part))
  return {
    conditions: found.flat(),
    isWhole: found.every((of) => of.length === 1 && of[0]!.elements.length === 0),
  }
}

function conditionsOfPart(filter: FilterTree): PlanCondition[] {
  if (filter.kind !== 'field' || filter.path.some((part) => indexOf(part) !== -1)) return []
  const { path, test } = filter
  if (test.kind === 'elementMatches')
    return conjunctsOf(test.of)
      .flatMap(conditionsOfPart)
      .map((inner) => ({
        ...inner,
        path: [...path, ...inner.path],
        elements: [
          { of: test, parts: path.length },
          ...inner.elements.map(({ of, parts }) => ({ of, parts: path.length + parts })),
        ],
      }))
  if (test.kind === 'element') {
    const element = passingElement(test.of)
    return element ? [{ ...element, path, elements: [{ of: test, parts: path.length }] }] : []
  }
  const condition = passing(test)
  if (!condition) return []
  // Beyond the first part of a path, null may be what an array has in place of the field.
  const isExact = condition.isExact && (path.length === 1 || !holdsNull(condition))
  return [{ ...condition, isExact, path, operators: operatorsOf(test), elements: [] }]
}

/** What one element of an array must be. */
function passingElement(test: ElementTest): (Passing & { operators: Json }) | undefined {
  const tests = test.kind === 'and' ? test.of : [test]
  const found = tests.flatMap((one) => {
    const part = one.kind === 'value' ? passing(one.test) : undefined
    return one.kind === 'value' && part ? [{ ...part, operators: operatorsOf(one.test) }] : []
  })
  if (found.length === 0) return undefined
  const operators = { $elemMatch: Object.assign({}, ...found.map((one) => one.operators)) as Json }
  return { intervals: found.map((one) => one.intervals).reduce(intersection), isExact: false, operators }
}

const OPERATORS = { '>': '$gt', '>=': '$gte', '<': '$lt', '<=': '$lte' } as const

function operatorsOf(test: Test): Json {
  if (test.kind === 'in') return test.values.length === 1 ? { $eq: test.values[0]! } : { $in: test.values }
  if (test.kind === 'range') return { [OPERATORS[test.operator]]: test.bound }
  return test.kind === 'pattern' ? { $regex: test.pattern.source } : {}
}

/**
 * Whether one key of a document meets both conditions if the document does, although it has several keys: fields have
 * a key of the same element only if they run through the same array.
 */
export function areIndependent(one: PlanCondition, other: PlanCondition): boolean {
  const shared = one.elements.filter(({ of }) => other.elements.some((element) => element.of === of))
  const start = shared.at(-1)?.parts ?? 0
  return one.path[start] !== other.path[start]
}
