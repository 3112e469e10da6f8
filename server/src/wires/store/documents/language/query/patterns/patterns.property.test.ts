import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { ApiError } from '../../../../../../base/errors.ts'
import type { Database } from '../../../../../../db/database.ts'
import { openDatabase } from '../../../../../../db/open.ts'
import { sql } from '../../../../../../db/sql.ts'
import { isLongRun } from '../../../../../../testing/long-run.ts'
import { postgresUrl } from '../../../../../../testing/postgres.ts'
import type { Pattern } from '../filter.ts'
import { parsePattern } from '../pattern.ts'
import { matcherOf } from './pattern-matcher.ts'
import { printTree, re2 } from './print-pattern.ts'
import { readPattern } from './read-pattern.ts'
import { isFound } from './reference.fixture.ts'
import { trimEnds } from './pattern-tree.ts'

const RUNS = isLongRun ? 20_000 : 300

// Few characters, so that they meet; among them those of which one engine or another has its own idea.

const character = fc.constantFrom(
  ...Array.from('aaabcAkK\u212asſéßẞσς😀İı0_- \t\x0b\r\n\n\x85\u00a0\u2028\u0345'),
)
const ESCAPES = String.raw`\d \D \w \W \s \S \x41 \x{1F600} \n \t \. \- \^ \] \\ \pL \P{Ll} \p{Greek}`
const escape = fc.constantFrom(...ESCAPES.split(' '))
const range = fc.constantFrom('a-c', 'A-Z', '!-~', '\\n-a', 'é-ſ', 'α-ω', 'a-')
const someClass = fc
  .tuple(
    fc.constantFrom('[', '[', '[^'),
    fc.array(fc.oneof(character, escape, range), { minLength: 1, maxLength: 3 }),
  )
  .map(([opening, items]) => `${opening}${items.join('')}]`)
const assertion = fc.constantFrom('^', '$', '\\A', '\\z', '\\b', '\\B')
const quantifier = fc.constantFrom('', '', '', ...'* + ? {2} {1,2} {0,2} {2,} *? +? {0}'.split(' '))
const opening = fc.constantFrom('(', '(?:', '(?i:', '(?-i:', '(?m:', '(?s-m:', '(?x:', '(?i)(', '(?m)(')

const { source } = fc.letrec<{ atom: string; sequence: string; source: string }>((tie) => ({
  atom: fc.oneof(
    { depthSize: 'medium', withCrossShrink: true },
    { weight: 5, arbitrary: character },
    { weight: 1, arbitrary: fc.constant('.') },
    { weight: 1, arbitrary: escape },
    { weight: 1, arbitrary: someClass },
    { weight: 3, arbitrary: fc.tuple(opening, tie('source')).map((parts) => `${parts.join('')})`) },
  ),
  sequence: fc
    .array(fc.oneof({ weight: 4, arbitrary: fc.tuple(tie('atom'), quantifier) }, fc.tuple(assertion)), {
      minLength: 1,
      maxLength: 4,
    })
    .map((parts) => parts.flat().join('')),
  source: fc.oneof(
    { weight: 3, arbitrary: tie('sequence') },
    fc.tuple(tie('sequence'), tie('sequence')).map((parts) => parts.join('|')),
  ),
}))
const options = fc.subarray(['i', 'm', 's', 'x']).map((letters) => letters.join(''))
const texts = fc.array(fc.string({ unit: character, maxLength: 7 }), { minLength: 6, maxLength: 12 })

/** The pattern, unless it is refused: `$` may be where it cannot be. */
function parsed(source: string, options: string): Pattern | undefined {
  try {
    return parsePattern(source, options, '/query/filter/v/$regex')
  } catch (error) {
    if (error instanceof ApiError) return undefined
    throw error
  }
}

let db: Database
before(async () => {
  db = await openDatabase(await postgresUrl())
})
after(() => db.close())

test('any pattern finds the same in JavaScript, by RE2 and in PostgreSQL as by trying everything', async () => {
  let count = 0
  await fc.assert(
    fc.asyncProperty(source, options, texts, async (source, options, texts) => {
      const pattern = parsed(source, options)
      if (!pattern) return
      count++
      const all = ['', '\n', 'a\n', ...texts]
      const tree = readPattern(source, options)
      const expected = all.map((text) => isFound(tree, text))
      assert.deepEqual(all.map(matcherOf(pattern)), expected, `${pattern.engine}: ${pattern.expression}`)
      const expression = printTree(trimEnds(tree), re2)
      const byRe2 = matcherOf({ engine: 're2', expression, cost: pattern.cost })
      assert.deepEqual(all.map(byRe2), expected, `RE2: ${expression}`)
      const printed = pattern.postgres
      const path = `$ ? (@ like_regex ${JSON.stringify(printed)} flag "s")`
      const rows = await db.all<{ found: number; by_path: number }>(
        sql`select value ~ (${printed} collate "C") as found, to_jsonb(value) @? ${path}::jsonpath as by_path
          from json_array_elements_text(${JSON.stringify(all)}::json)`,
      )
      const found = (by: 'found' | 'by_path'): boolean[] => rows.map((row) => row[by] === 1)
      assert.deepEqual(found('found'), expected, `PostgreSQL: ${printed}`)
      assert.deepEqual(found('by_path'), expected, `like_regex: ${printed}`)
    }),
    { numRuns: RUNS },
  )
  assert.ok(count > RUNS / 3, `only ${count} patterns were tried`)
})
