import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { ApiError } from '../base/errors.ts'
import { sql, type Dialect, type Sql, type SqlScalar, type Statement } from './sql.ts'

const dialects: Dialect[] = ['sqlite', 'postgres']

describe('a statement', () => {
  test('has its values beside the text, numbered on PostgreSQL', () => {
    const query = sql`select ${1} from t where a = ${'x'} and b = ${null}`
    assert.deepEqual(query.render('sqlite'), {
      text: 'select ? from t where a = ? and b = ?',
      params: [1, 'x', null],
    })
    assert.deepEqual(query.render('postgres'), {
      text: 'select $1 from t where a = $2 and b = $3',
      params: [1, 'x', null],
    })
  })

  test('is written in the words of the engine where the two differ', () => {
    const piece = sql.either({ sqlite: sql`ifnull(a, ${1})`, postgres: sql`coalesce(a, ${2}, ${3})` })
    const query = sql`select ${0}, ${piece}, ${9}`
    assert.deepEqual(query.render('sqlite'), { text: 'select ?, ifnull(a, ?), ?', params: [0, 1, 9] })
    assert.deepEqual(query.render('postgres'), {
      text: 'select $1, coalesce(a, $2, $3), $4',
      params: [0, 2, 3, 9],
    })
  })

  test('joins values and pieces, none of them too', () => {
    assert.deepEqual(sql`in (${sql.join([1, 2, 3])})`.render('postgres'), {
      text: 'in ($1, $2, $3)',
      params: [1, 2, 3],
    })
    assert.deepEqual(sql.join([sql`a = ${1}`, sql`b`], ' and ').render('postgres'), {
      text: 'a = $1 and b',
      params: [1],
    })
    assert.deepEqual(sql.join([]).render('sqlite'), { text: '', params: [] })
  })

  test('of one place in the source may hold a value now and a piece then', () => {
    const at = (time: number | Sql) => sql`update t set at = ${time} where id = ${7}`
    for (const dialect of dialects) {
      const [a, b] = dialect === 'sqlite' ? ['?', '?'] : ['$1', '$2']
      const value = { text: `update t set at = ${a} where id = ${b}`, params: [5, 7] }
      const piece = { text: `update t set at = now() where id = ${a}`, params: [7] }
      assert.deepEqual(at(5).render(dialect), value)
      assert.deepEqual(at(sql.literal('now()')).render(dialect), piece)
      assert.deepEqual(at(5).render(dialect), value)
    }
  })

  for (const [what, value] of [
    ['U+0000', 'a\0b'],
    ['the first half of a surrogate pair', 'a\ud83d'],
    ['the second half of a surrogate pair', '\ude00b'],
  ] as const)
    test(`refuses text with ${what}, which no engine keeps as it is`, () => {
      for (const query of [sql`select ${value}`, sql`select ${sql`lower(${value})`}, ${1}`])
        for (const dialect of dialects)
          assert.throws(
            () => query.render(dialect),
            (error: unknown) =>
              error instanceof ApiError && error.status === 400 && !error.message.includes(value),
          )
    })

  const others = { NaN, undefined, true: true, 'an object': {}, 'an array': [], 'a date': new Date(0) }
  for (const [name, value] of Object.entries(others))
    test(`refuses to bind ${name}`, () => {
      assert.throws(() => sql`select ${value as SqlScalar}`.render('sqlite'), TypeError)
      assert.throws(() => sql`select ${value as SqlScalar}`.render('postgres'), TypeError)
      assert.throws(() => sql.flat(sql`select ${value as SqlScalar}`, 'sqlite').render('sqlite'), TypeError)
    })
})

// A tree of pieces: what `sql` can be given, without SQL's own grammar.
type Tree =
  | { kind: 'value'; value: SqlScalar }
  | { kind: 'template'; at: number; parts: Tree[] }
  | { kind: 'either'; sqlite: Tree; postgres: Tree }
  | { kind: 'join'; parts: Tree[] }

// One function for each number of parts: as in a program, one place in the source is used with many values.
type Part = Parameters<typeof sql.join>[0][number]
const places: ((parts: readonly Part[]) => Sql)[] = [
  () => sql`a`,
  ([x]) => sql`a${x!}b`,
  ([x, y]) => sql`${x!}a${y!}`,
  ([x, y, z]) => sql`a${x!}${y!}b${z!}c`,
]

const scalar: fc.Arbitrary<SqlScalar> = fc.oneof(
  fc.string(),
  fc.integer(),
  fc.bigInt(),
  fc.constant(null),
  fc.constantFrom('?', '$1', "'", '"', '--', ';', '\\', '${x}'),
)

const { tree } = fc.letrec<{ tree: Tree }>((again) => ({
  tree: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    fc.record({ kind: fc.constant('value' as const), value: scalar }),
    fc
      .array(again('tree'), { maxLength: 3 })
      .map((parts) => ({ kind: 'template' as const, at: parts.length, parts })),
    fc.record({ kind: fc.constant('either' as const), sqlite: again('tree'), postgres: again('tree') }),
    fc.record({ kind: fc.constant('join' as const), parts: fc.array(again('tree'), { maxLength: 4 }) }),
  ),
}))

function build(node: Tree): Part {
  switch (node.kind) {
    case 'value':
      return node.value
    case 'template':
      return places[node.at]!(node.parts.map(build))
    case 'either':
      return sql.either({ sqlite: sql`${build(node.sqlite)}`, postgres: sql`${build(node.postgres)}` })
    case 'join':
      return sql.join(node.parts.map(build))
  }
}

const pattern = ['a', 'a_b', '_a_', 'a__b_c']

/** The text with each value written out between marks, as a reader would expect it. */
function expected(node: Tree, dialect: Dialect): string {
  switch (node.kind) {
    case 'value':
      return `«${String(node.value)}»`
    case 'template': {
      const pieces = pattern[node.at]!.split('_')
      return pieces
        .map((piece, i) => (i === 0 ? piece : expected(node.parts[i - 1]!, dialect) + piece))
        .join('')
    }
    case 'either':
      return expected(node[dialect], dialect)
    case 'join':
      return node.parts.map((part) => expected(part, dialect)).join(', ')
  }
}

// Our templates hold no `?` and no `$`, so every one that is rendered stands for a value.
function filled({ text, params }: Statement, dialect: Dialect): string {
  let count = 0
  const written = text.replaceAll(dialect === 'sqlite' ? /\?/g : /\$\d+/g, (mark) => {
    count++
    if (dialect === 'postgres') assert.equal(mark, `$${count}`)
    return `«${String(params[count - 1])}»`
  })
  assert.equal(count, params.length)
  return written
}

test('however pieces nest, every value stands where it was written', () => {
  fc.assert(
    fc.property(tree, (node) => {
      const query = sql`${build(node)}`
      for (const dialect of dialects) {
        assert.equal(filled(query.render(dialect), dialect), expected(node, dialect))
        assert.equal(filled(sql.flat(query, dialect).render(dialect), dialect), expected(node, dialect))
      }
    }),
    { numRuns: 2000 },
  )
})
