import fc from 'fast-check'
import { compareValues } from './compare.fixture.ts'
import type { Json } from './filter.ts'

// MongoDB's rules of sorting, said once more and in another way: each field by itself, and then what goes together.

const EMPTY = Symbol('empty array')
const EVERY = 'every element'

/** A value that a field sorts by, and the elements of arrays that it was found through, from the outermost array inwards. */
type Found = { value: Json | typeof EMPTY; steps: { array: string; element: number | typeof EVERY }[] }

const isObject = (value: Json): value is { [name: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

class Refused extends Error {}

function found(value: Json, parts: readonly string[], at: string): Found[] {
  const [part, ...rest] = parts
  if (!Array.isArray(value)) {
    if (part === undefined) return [{ value, steps: [] }]
    if (!isObject(value) || !Object.hasOwn(value, part)) return [{ value: null, steps: [] }]
    return found(value[part]!, rest, `${at}/${part}`)
  }
  const within = (element: number | typeof EVERY, inner: Found[]): Found[] =>
    inner.map((one) => ({ ...one, steps: [{ array: at, element }, ...one.steps] }))
  const elements = value as readonly Json[]
  if (elements.length === 0) return within(EVERY, [{ value: part === undefined ? EMPTY : null, steps: [] }])
  if (part === undefined) return elements.flatMap((element, i) => within(i, [{ value: element, steps: [] }]))
  if (!/^(0|[1-9]\d*)$/.test(part) || Number(part) >= elements.length)
    return elements.flatMap((element, i) =>
      within(i, isObject(element) ? found(element, parts, `${at}/${i}`) : [{ value: null, steps: [] }]),
    )
  if (elements.some((element) => isObject(element) && Object.hasOwn(element, part))) throw new Refused()
  const element = elements[Number(part)]!
  const here = `${at}/${part}`
  if (!Array.isArray(element) || rest.length > 0) return within(EVERY, found(element, rest, here))
  // An array that is an element is a value, unless it is empty.
  const whole: Found = {
    value: element.length === 0 ? EMPTY : element,
    steps: [{ array: here, element: EVERY }],
  }
  return within(EVERY, [whole])
}

/** Whether two fields may have these values together: of the same elements. */
function together(one: Found, other: Found): boolean {
  for (const [i, step] of one.steps.entries()) {
    const theirs = other.steps[i]
    if (!theirs) return true
    if (step.array !== theirs.array) throw new Refused()
    if (step.element !== EVERY && theirs.element !== EVERY && step.element !== theirs.element) return false
  }
  return true
}

type Keys = readonly { path: readonly string[]; sign: 1 | -1 }[]

function keysOf(document: Json, keys: Keys): Found[][] {
  return keys.reduce<Found[][]>(
    (tuples, { path }) => {
      const ones = found(document, path, '')
      return tuples.flatMap((tuple) =>
        ones.filter((one) => tuple.every((other) => together(other, one))).map((one) => [...tuple, one]),
      )
    },
    [[]],
  )
}

function compareFound(a: Found['value'], b: Found['value']): number {
  if (a === EMPTY || b === EMPTY) return Number(b === EMPTY) - Number(a === EMPTY)
  return compareValues(a, b)
}

const compareKeys = (one: readonly Found[], other: readonly Found[], keys: Keys): number =>
  keys.reduce((order, { sign }, i) => order || sign * compareFound(one[i]!.value, other[i]!.value), 0)

/** Numbers of the documents in the order of a sort, or that it is refused. */
export function sorted(documents: readonly Json[], sort: string): number[] | 'refused' {
  const keys: Keys = sort.split(',').map((key) => ({
    path: key.replace(/^-/, '').split('.'),
    sign: key.startsWith('-') ? -1 : 1,
  }))
  try {
    return documents
      .map((document, i) => ({
        i,
        key: keysOf(document, keys).reduce((first, key) => (compareKeys(key, first, keys) < 0 ? key : first)),
      }))
      .toSorted((a, b) => compareKeys(a.key, b.key, keys) || keys[0]!.sign * (a.i - b.i))
      .map(({ i }) => i)
  } catch (error) {
    if (error instanceof Refused) return 'refused'
    throw error
  }
}

// Few names and values, so that they meet.

const name = fc.constantFrom('a', 'b', '0', '1', 'é"\\')
const scalar = fc.oneof(
  fc.constantFrom<Json>(null, true, false, 0, 1, -1, 2.5, 2 ** 60, 2 ** 60 + 256, 2 ** 64, -1e300, 5e-324),
  fc.constantFrom<Json>('', 'a', 'B', '1', '{}', 'x\x01', 'x', 'é', '\uffff', '😀'),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
)
const nested = (value: fc.Arbitrary<Json>): fc.Arbitrary<Json> =>
  fc.oneof(
    { weight: 3, arbitrary: scalar },
    { weight: 2, arbitrary: fc.array(value, { maxLength: 3 }) },
    { weight: 3, arbitrary: fields(value) },
  )
const fields = (value: fc.Arbitrary<Json>): fc.Arbitrary<{ [name: string]: Json }> =>
  fc.dictionary(name, value, { maxKeys: 3, noNullPrototype: true })

export const document: fc.Arbitrary<{ [name: string]: Json }> = fields(nested(nested(nested(scalar))))

const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('.'))

export const sort: fc.Arbitrary<string> = fc
  .uniqueArray(fc.record({ path, minus: fc.constantFrom('', '-') }), {
    minLength: 1,
    maxLength: 3,
    selector: (key) => key.path,
  })
  .map((keys) => keys.map(({ path, minus }) => minus + path).join(','))
