import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ApiError } from '../../../../../base/errors.ts'
import { compareValues } from '../query/compare.fixture.ts'
import type { Json } from '../query/filter.ts'
import { applyOperators } from './apply-operators.ts'
import { parseOperators } from './operators.ts'

type Value = undefined | null | number | string | Value[] | { [name: string]: Value }
type Step = { operator: (typeof OPERATORS)[number]; path: string[]; operand: Value }
/** Of one path. */
type Change = { path: string[]; isUnset: boolean; run: (old: Value) => Value }

const OPERATORS = [
  '$set',
  '$setOnInsert',
  '$unset',
  '$inc',
  '$mul',
  '$min',
  '$max',
  '$push',
  '$pop',
  '$pullAll',
  '$rename',
] as const
const EACH = '$[]'

const { value } = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(null, 'text', 0, 1, -2),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'b', '0', '1'), tie('value'), { maxKeys: 3, noNullPrototype: true }),
  ),
}))
const document = fc.dictionary(fc.constantFrom('a', 'b', '0'), value, { maxKeys: 3, noNullPrototype: true })
const part = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('a', 'b', '0', '1', '3') },
  { weight: 1, arbitrary: fc.constant(EACH) },
)
const step: fc.Arbitrary<Step> = fc.record({
  operator: fc.constantFrom(...OPERATORS),
  path: fc
    .tuple(fc.constantFrom('a', 'b', '0', '1', '3'), fc.array(part, { maxLength: 3 }))
    .map(([first, others]) => [first, ...others]),
  operand: fc.oneof(value, fc.constantFrom(5, 1, -1, 'b', 'a.a', 'b.0', 'new.b')),
})

/** Whether both write the same value, or one of them a part of the other's. */
function meet(one: readonly string[], other: readonly string[]): boolean {
  const apart = one.findIndex((part, i) => part !== other[i])
  if (apart === -1 || apart >= other.length) return true
  return one[apart] === EACH || other[apart] === EACH
}

const pathsOf = ({ operator, path, operand }: Step): string[][] =>
  operator === '$rename' && typeof operand === 'string' ? [path, operand.split('.')] : [path]

const misfit = new Error('A step does not fit.')

/** One step after the other. */
function modelled(document: Value, steps: readonly Step[], isInsert: boolean): Value {
  const root = structuredClone(document)
  const changes = steps.flatMap((step): Change[] => {
    const { operator, path, operand } = step
    if (operator === '$rename') return renamed(root, step)
    const run = (old: Value): Value => changed(operator, operand, old)
    run(operator === '$inc' || operator === '$mul' ? 0 : undefined) // an operand that never fits
    return operator === '$setOnInsert' && !isInsert ? [] : [{ path, isUnset: operator === '$unset', run }]
  })
  const inOrder = changes.toSorted((one, other) => (one.path.join('.') < other.path.join('.') ? -1 : 1))
  for (const { path, ...change } of inOrder) changeAt(root, path, change)
  return root
}

function changed(operator: Step['operator'], operand: Value, old: Value): Value {
  switch (operator) {
    case '$set':
    case '$setOnInsert':
      return operand
    case '$unset':
    case '$rename':
      return undefined
    case '$inc':
    case '$mul': {
      const number = old === undefined ? 0 : old
      if (typeof operand !== 'number' || typeof number !== 'number') throw misfit
      return operator === '$inc' ? number + operand : number * operand
    }
    case '$min':
    case '$max': {
      const order = old === undefined ? 0 : compareValues(operand as Json, old as Json)
      return old === undefined || (operator === '$min' ? order < 0 : order > 0) ? operand : old
    }
    case '$push':
    case '$pop':
    case '$pullAll': {
      if (
        operator === '$pop'
          ? operand !== 1 && operand !== -1
          : operator !== '$push' && !Array.isArray(operand)
      )
        throw misfit
      if (old !== undefined && !Array.isArray(old)) throw misfit
      if (operator === '$push') return [...(old ?? []), operand]
      if (operator === '$pop') return operand === 1 ? old?.slice(0, -1) : old?.slice(1)
      const texts = (operand as Value[]).map((one) => JSON.stringify(one))
      return old?.filter((one) => !texts.includes(JSON.stringify(one)))
    }
  }
}

/** Both changes of a `$rename`. */
function renamed(root: Value, { path, operand }: Step): Change[] {
  if (typeof operand !== 'string' || path.includes(EACH)) throw misfit
  const target = operand.split('.')
  if (meet(path, target)) throw misfit
  const [old, ...around] = valuesOn(root, path).toReversed()
  const fits = around.every((one, i) => {
    const part = path[path.length - 1 - i]!
    return one === undefined || (Array.isArray(one) ? isIndex(part) : typeof one === 'object' && one !== null)
  })
  if (!fits) throw misfit
  if (old === undefined) return []
  if ([...around, ...valuesOn(root, target).slice(0, -1)].some(Array.isArray)) throw misfit
  return [
    { path, isUnset: true, run: () => undefined },
    { path: target, isUnset: false, run: () => old },
  ]
}

/** What is at each beginning of a path, from the whole on. */
const valuesOn = (root: Value, path: readonly string[]): Value[] =>
  path.reduce(
    (values, part) => {
      const on = values.at(-1)
      const isThere = typeof on === 'object' && on !== null && Object.hasOwn(on, part)
      return [...values, isThere ? (on as Record<string, Value>)[part] : undefined]
    },
    [root],
  )

const isIndex = (part: string): boolean => /^\d$/.test(part)

function changeAt(container: Value, [part, ...rest]: string[], change: Omit<Change, 'path'>): void {
  const isArray = Array.isArray(container)
  if (part === EACH) {
    if (!isArray) throw misfit
    for (const i of container.keys()) changeAt(container, [String(i), ...rest], change)
    return
  }
  if (typeof container !== 'object' || container === null || (isArray && !isIndex(part!))) {
    if (change.isUnset) return
    throw misfit
  }
  const values = container as Record<string, Value>
  const old = values[part!]
  let fresh = old
  if (rest.length === 0) fresh = change.run(old)
  else if (old !== undefined) changeAt(old, rest, change)
  else {
    const made = {}
    changeAt(made, rest, change)
    if (Object.keys(made).length > 0) fresh = made
  }
  if (fresh === undefined) {
    if (!isArray) delete values[part!]
    else if (old !== undefined) values[part!] = null
    return
  }
  if (isArray) while (container.length < Number(part)) container.push(null)
  values[part!] = fresh
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

test('any patch does at once what its operators do one after the other, in the order of their paths', () => {
  fc.assert(
    fc.property(document, fc.array(step, { maxLength: 5 }), fc.boolean(), (document, steps, isInsert) => {
      const apart = steps.filter(
        (step, i) =>
          !steps
            .slice(0, i)
            .some((other) => pathsOf(other).some((one) => pathsOf(step).some((path) => meet(one, path)))),
      )
      const body: Record<string, Record<string, Value>> = {}
      for (const { operator, path, operand } of apart) (body[operator] ??= {})[path.join('.')] = operand
      const before = structuredClone(document)
      const patched = outcome(() => applyOperators(document, parseOperators(body), { isInsert, now: '' }))
      assert.equal(
        patched,
        outcome(() => modelled(document, apart, isInsert)),
      )
      assert.deepEqual(document, before)
    }),
    { numRuns: 10_000 },
  )
})
