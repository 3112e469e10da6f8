import fc from 'fast-check'

import type { Json } from '../query/filter.ts'
import type { CollectionOption, Fields, RuleOption } from './model.fixture.ts'

// Few fields and values, so that rules, documents and requests meet. `@0` stands for the _id of a user, `mail@0` for the
// address.

const USERS = 4
const user = fc.nat({ max: USERS - 1 }).map((i) => `@${i}`)
const mail = fc.nat({ max: USERS - 1 }).map((i) => `mail@${i}`)
const number = fc.integer({ min: 0, max: 3 })
const team = fc.constantFrom('t1', 't2', 't3')
const maybe = <T>(one: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(one, { nil: undefined, freq: 3 })

const oneOrSome = <T extends Json>(one: fc.Arbitrary<T>): fc.Arbitrary<Json> =>
  fc.oneof({ weight: 2, arbitrary: one }, { weight: 1, arbitrary: fc.array(one, { maxLength: 2 }) })
const object: fc.Arbitrary<Json> = fc
  .record({ a: maybe(number), b: maybe(number), c: maybe(number) })
  .map(present)
const odd = fc.constantFrom<Json>(null, 'x', [], {}, 0, [[{ b: 1 }]], {
  0: { b: 1 },
})

/** Without what is undefined, which JSON does not have. */
function present(fields: { [name: string]: Json | undefined }): Fields {
  return Object.fromEntries(
    Object.entries(fields).filter((entry): entry is [string, Json] => entry[1] !== undefined),
  )
}

const VALUES: { readonly [name: string]: fc.Arbitrary<Json> } = {
  author: user,
  members: oneOrSome(user),
  mail,
  role: fc.constantFrom('user', 'admin'),
  team: oneOrSome(team),
  n: oneOrSome(number),
  flag: fc.boolean(),
  secret: fc.oneof(number, object),
  phone: number,
  status: number,
  o: fc.oneof({ weight: 6, arbitrary: object }, { weight: 1, arbitrary: odd }),
  lines: fc.oneof(
    { weight: 6, arbitrary: fc.array(object, { maxLength: 3 }) },
    { weight: 1, arbitrary: odd },
  ),
}

/** Some fields of a document. */
export const fields: fc.Arbitrary<Fields> = fc
  .record(Object.fromEntries(Object.entries(VALUES).map(([name, value]) => [name, maybe(value)])))
  .map(present)
/** Few of them, as a request sends them. */
const change: fc.Arbitrary<Fields> = fc
  .oneof(
    fc.subarray(Object.keys(VALUES), { minLength: 0, maxLength: 2 }),
    fc.constantFrom(['o'], ['lines'], ['secret'], ['phone'], ['status']),
  )
  .chain((names) => fc.record(Object.fromEntries(names.map((name) => [name, VALUES[name]!]))))

const about: fc.Arbitrary<Fields> = fc.oneof(
  fc.constantFrom<Fields>(
    { author: '$$user._id' },
    { author: { $ne: '$$user._id' } },
    { members: '$$user._id' },
    { members: { $nin: ['$$user._id', 'nobody'] } },
    { members: { $in: '$$user._id' } },
    { mail: '$$user.email' },
    { mail: { $not: { $eq: '$$user.email' } } },
    { role: '$$user.role' },
    { team: { $in: '$$user.teams' } },
    { team: { $nin: '$$user.teams' } },
    { team: '$$user.teams' },
    { team: { $ne: '$$user.teams' } },
    { team: { $in: ['t3', '$$user.teams'] } },
    { n: '$$user.numbers' },
  ),
  fc.constantFrom<Fields>(
    { flag: true },
    { flag: { $ne: true } },
    { n: { $gte: 2 } },
    { 'o.a': { $lt: 2 } },
    { secret: { $exists: true } },
    { phone: { $in: [0, 1] } },
    { lines: { $elemMatch: { a: { $gt: 0 } } } },
    { 'lines.b': { $ne: 1 } },
    { o: { $type: 'object' } },
    { status: null },
  ),
)

const ruleFilter: fc.Arbitrary<Fields> = fc.oneof(
  { weight: 6, arbitrary: about },
  { weight: 1, arbitrary: fc.tuple(about, about).map(([a, b]) => ({ ...a, ...b })) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.constantFrom('$or', '$and', '$nor'), fc.array(about, { minLength: 1, maxLength: 2 }))
      .map(([join, of]) => ({ [join]: of })),
  },
)

const alternative = (words: readonly string[]) =>
  fc.oneof(
    { weight: 2, arbitrary: fc.constantFrom<string | Fields>(...words) },
    { weight: 3, arbitrary: ruleFilter },
  )

const rule = (...words: string[]): fc.Arbitrary<RuleOption> =>
  fc.oneof(
    { weight: 2, arbitrary: alternative(words) },
    { weight: 2, arbitrary: fc.array(alternative(words), { minLength: 1, maxLength: 3 }) },
    // Else few requests would come to what is behind the rules.
    { weight: 4, arbitrary: fc.constantFrom('user', ...words) },
  )

const audience = (...words: string[]) => fc.constantFrom<RuleOption>(...words)
const ALL = ['public', 'user', 'owner', 'admin']

const protection = {
  hidden: maybe(fc.subarray(['secret', 'o.b', 'lines.b'], { minLength: 1 })),
  showTo: maybe(
    fc
      .subarray(['phone', 'o.a', 'lines.a', 'mail'], { minLength: 1, maxLength: 2 })
      .chain((paths) => fc.record(Object.fromEntries(paths.map((path) => [path, rule(...ALL)])))),
  ),
  readOnly: maybe(fc.subarray(['status', 'o.c', 'lines.c', 'team'], { minLength: 1 })),
}

const option = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      read: rule(...ALL),
      create: rule('user', 'owner', 'admin'),
      update: fc.record({ before: rule(...ALL), after: rule(...ALL) }),
      delete: rule(...ALL),
      ...protection,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      read: audience(...ALL),
      create: audience('user', 'owner', 'admin'),
      update: audience(...ALL).map((word) => ({ before: word, after: word })),
      delete: audience(...ALL),
    }),
  },
)

/** The rules of a collection. */
export const collection = option.map(
  (one) =>
    Object.fromEntries(Object.entries(one).filter(([, value]) => value !== undefined)) as CollectionOption,
)

const path = fc.constantFrom(
  'n',
  'flag',
  'team',
  'members',
  'o',
  'o.a',
  'o.b',
  'lines',
  'lines.a',
  'lines.b',
  'lines.0.b',
  'secret',
  'secret.a',
  'phone',
  'mail',
  'status',
)
const operand = fc.oneof(number, team, user, fc.constantFrom<Json>(null, true, {}, []), object)
const asked: fc.Arbitrary<Fields> = fc.oneof(
  fc.tuple(path, operand).map(([name, value]) => ({ [name]: value })),
  fc
    .tuple(path, fc.constantFrom('$eq', '$ne', '$gt', '$lte'), operand)
    .map(([name, operator, value]) => ({ [name]: { [operator]: value } })),
  fc.tuple(path, fc.array(operand, { maxLength: 2 })).map(([name, values]) => ({ [name]: { $in: values } })),
  fc.tuple(path, fc.boolean()).map(([name, value]) => ({ [name]: { $exists: value } })),
  fc
    .tuple(fc.constantFrom('a', 'b', '0'), number)
    .map(([name, value]) => ({ lines: { $elemMatch: { [name]: value } } })),
  fc.constantFrom<Fields>(
    { members: '$$user._id' },
    { owner: '@0' },
    { lines: { $size: 1 } },
    { lines: { $elemMatch: { $eq: { a: 1 } } } },
  ),
)

const list = fc.record({
  filter: maybe(
    fc.oneof(
      { weight: 5, arbitrary: asked },
      // Not in an $or: what is asked beside it is left out, and not refused then.
      { weight: 1, arbitrary: fc.constant<Fields>({}) },
      {
        weight: 2,
        arbitrary: fc
          .tuple(fc.constantFrom('$or', '$and', '$nor'), fc.array(asked, { minLength: 1, maxLength: 3 }))
          .map(([join, of]): Fields => ({ [join]: of })),
      },
    ),
  ),
  sort: maybe(
    fc
      .uniqueArray(fc.tuple(path, fc.constantFrom('', '-')), {
        minLength: 1,
        maxLength: 2,
        selector: ([name]) => name,
      })
      .map((keys) => keys.map(([name, minus]) => minus + name)),
  ),
  without: maybe(
    fc.constantFrom('n', 'o', 'o.a', 'o.b', 'lines.b', 'lines.0.b', 'secret', 'secret.a', 'phone', 'mail'),
  ),
  limit: fc.integer({ min: 1, max: 3 }),
  offset: fc.nat({ max: 4 }),
})

/** What a request does; `which` is a document of the collection. */
const action = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('get' as const), which: fc.nat() }) },
  { weight: 4, arbitrary: list.map((one) => ({ kind: 'list' as const, ...one })) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('create' as const),
      bodies: fc.array(fields, { minLength: 1, maxLength: 2 }),
      isList: fc.boolean(),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constantFrom('put' as const, 'patch' as const),
      which: fc.nat(),
      body: change,
      /** Whether all that is shown is sent back with it. */
      isEcho: fc.boolean(),
      removes: maybe(fc.constantFrom('secret', 'phone', 'o', 'lines', 'status', 'n')),
      ifMatch: maybe(fc.constantFrom('*' as const, 'current' as const, 'marked' as const, 'stale' as const)),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('delete' as const),
      which: fc.nat(),
      ifMatch: maybe(fc.constantFrom('current' as const, 'stale' as const)),
    }),
  },
)

/** A collection with documents, and what is asked of it by whom; numbers are remainders of how many there are. */
export const scenario = fc.record({
  collection: fc.nat(),
  documents: fc.array(fc.record({ owner: fc.nat({ max: USERS - 1 }), fields }), {
    minLength: 1,
    maxLength: 7,
    size: 'max',
  }),
  requests: fc.array(fc.record({ who: fc.nat(), does: action }), {
    minLength: 1,
    maxLength: 16,
    size: 'max',
  }),
})
export type Scenario = typeof scenario extends fc.Arbitrary<infer One> ? One : never
export type Does = Scenario['requests'][number]['does']
