import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ApiError } from '../../../../../base/errors.ts'
import { applyOperators } from './apply-operators.ts'
import { parseOperators } from './operators.ts'

type Value = undefined | null | number | string | Value[] | { [name: string]: Value }
type Step = { operator: '$set' | '$unset' | '$inc' | '$push'; path: string[]; operand: Value }

const { value } = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(null, 'text', 0, 1, -2),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'b', '0', '1'), tie('value'), { maxKeys: 3, noNullPrototype: true }),
  ),
}))
const document = fc.dictionary(fc.constantFrom('a', 'b', '0'), value, { maxKeys: 3, noNullPrototype: true })
const step: fc.Arbitrary<Step> = fc.record({
  operator: fc.constantFrom('$set', '$unset', '$inc', '$push'),
  path: fc.array(fc.constantFrom('a', 'b', '0', '1', '3'), { minLength: 1, maxLength: 4 }),
  operand: fc.oneof(value, fc.constant(5)),
})

const isInside = (one: string[], other: string[]): boolean => one.every((part, i) => part === other[i])

const misfit = new Error('A step does not fit.')

/** One step after the other. */
function modelled(document: Value, steps: readonly Step[]): Value {
  const root = structuredClone(document)
  for (const { operator, path, operand } of steps) {
    let container = root
    for (const [depth, part] of path.entries()) {
      const isArray = Array.isArray(container)
      if (typeof container !== 'object' || container === null || (isArray && !/^\d$/.test(part))) {
        if (operator === '$unset') break
        throw misfit
      }
      const values = container as Record<string, Value>
      if (depth < path.length - 1) {
        if (operator === '$unset' && values[part] === undefined) break
        fill(container, part)
        container = values[part] === undefined ? (values[part] = {}) : values[part]
        continue
      }
      const old = values[part]
      if (operator === '$unset') {
        if (isArray && old !== undefined) values[part] = null
        else if (!isArray) delete values[part]
        continue
      }
      if (
        operator === '$inc' &&
        (typeof operand !== 'number' || (old !== undefined && typeof old !== 'number'))
      )
        throw misfit
      if (operator === '$push' && old !== undefined && !Array.isArray(old)) throw misfit
      fill(container, part)
      if (operator === '$set') values[part] = operand
      else if (operator === '$inc') values[part] = ((old as number | undefined) ?? 0) + (operand as number)
      else values[part] = [...((old as Value[] | undefined) ?? []), operand]
    }
  }
  return root
}

function fill(container: Value, part: string): void {
  if (Array.isArray(container)) while (container.length < Number(part)) container.push(null)
}

/** As JSON, in which the order of fields counts. */
const outcome = (work: () => unknown): string => {
  try {
    return JSON.stringify(work())
  } catch (error) {
    if (error instanceof ApiError || error === misfit) return 'refused'
    throw error
  }
}

const inOrder = (one: Step, other: Step): number => (one.path.join('.') < other.path.join('.') ? -1 : 1)

test('any patch does at once what its operators do one after the other, in the order of their paths', () => {
  fc.assert(
    fc.property(document, fc.array(step, { maxLength: 5 }), (document, steps) => {
      const apart = steps.filter(
        ({ path }, i) =>
          !steps.slice(0, i).some((other) => isInside(other.path, path) || isInside(path, other.path)),
      )
      const body: Record<string, Record<string, Value>> = {}
      for (const { operator, path, operand } of apart) (body[operator] ??= {})[path.join('.')] = operand
      const before = structuredClone(document)
      const patched = outcome(() => applyOperators(document, parseOperators(body)))
      assert.equal(
        patched,
        outcome(() => modelled(document, apart.toSorted(inOrder))),
      )
      assert.deepEqual(document, before)
    }),
    { numRuns: 5_000 },
  )
})
