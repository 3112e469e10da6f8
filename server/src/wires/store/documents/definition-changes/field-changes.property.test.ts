import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'

import { registerAs } from '../../../../testing/administration.ts'
import { startApp } from '../../../../testing/app.ts'
import { eachEngine } from '../../../../testing/engines.ts'
import { collectionOf, fieldsOf, type Fields } from './field-changes.fixture.ts'
import { changeFields, checkChanges, undoFields, type FieldMigration } from './field-changes.ts'

const NAMES = ['a', 'b', 'c', 'd', '0']
const name = fc.constantFrom(...NAMES)
const value = fc.oneof(
  fc.constantFrom(null, 0, 1, '', 'text', true),
  fc.array(fc.integer(), { maxLength: 2 }),
)
const document: fc.Arbitrary<Fields> = fc
  .uniqueArray(fc.tuple(name, value), { selector: ([key]) => key, maxLength: NAMES.length })
  .map((entries) => Object.fromEntries(entries))
const change: fc.Arbitrary<FieldMigration> = fc.oneof(
  fc.record({ rename: fc.record({ from: name, to: name }) }),
  fc.record({ drop: name }),
  fc.record({ default: fc.record({ field: name, value }) }),
)
const changes = fc.array(change, { minLength: 1, maxLength: 5 }).filter((list) => {
  try {
    checkChanges(list, null)
    return true
  } catch {
    return false
  }
})

/** What becomes of a document, said another way. */
function modelled(fields: Fields, list: readonly FieldMigration[]): Map<string, unknown> {
  const next = new Map(Object.entries(fields))
  for (const one of list)
    if ('rename' in one && next.has(one.rename.from)) {
      next.set(one.rename.to, next.get(one.rename.from))
      next.delete(one.rename.from)
    } else if ('drop' in one) next.delete(one.drop)
  for (const one of list)
    if ('default' in one && !next.has(one.default.field)) next.set(one.default.field, one.default.value)
  return next
}
const mapOf = (fields: Fields): Map<string, unknown> => new Map(Object.entries(fields))

test('changes are as in a model, twice as once, and an undo gives the document back', () => {
  fc.assert(
    fc.property(document, changes, (fields, list) => {
      const { fields: next, kept } = changeFields(fields, list)
      assert.deepEqual(mapOf(next), modelled(fields, list))
      const again = changeFields(next, list, kept)
      assert.equal(again.fields, next)
      assert.deepEqual(again.kept, kept)
      const stored = JSON.parse(JSON.stringify(kept)) as typeof kept
      assert.deepEqual(mapOf(undoFields(next, list, stored)), mapOf(fields))
    }),
    { numRuns: 1_000 },
  )
})

test('what was written in between stays after an undo', () => {
  fc.assert(
    fc.property(document, changes, (fields, list) => {
      const { fields: next, kept } = changeFields(fields, list)
      const undone = undoFields({ ...next, other: 'written' }, list, kept)
      assert.deepEqual(mapOf(undone), mapOf({ ...fields, other: 'written' }))
    }),
    { numRuns: 300 },
  )
})

eachEngine((engine) => {
  test('documents of a server are as in the model, and as before after an undo', async (t) => {
    const seed = Date.now() % 2 ** 31
    t.diagnostic(`seed ${seed}`)
    const app = await startApp(t, engine)
    const { token } = await registerAs(app, 'admin')
    const [[documents, list]] = fc.sample(
      fc.tuple(
        fc.array(document, { minLength: 120, maxLength: 120 }),
        changes.filter((one) => one.length > 2),
      ),
      { seed, numRuns: 1 },
    ) as [[Fields[], FieldMigration[]]]
    const books = collectionOf(app, token)
    await books.create(documents)
    const [, stopping] = (await books.create([{ stop: 1 }, { stops: 1 }])).data
    const all = [...documents, { stop: 1 }, { stops: 1 }]
    const body = { unique: ['stop'], documents: [...list, { rename: { from: 'stops', to: 'stop' } }] }
    assert.equal((await books.put(body)).status, 409)
    const read = async () => (await books.list('?sort=_id&limit=200')).map((one) => mapOf(fieldsOf(one)))
    assert.notDeepEqual(await read(), all.map(mapOf), 'it has stopped in the middle')
    assert.equal((await books.remove('"0"')).status, 200)
    assert.deepEqual(await read(), all.map(mapOf))
    assert.equal((await books.patch(stopping._id, { stops: 2 })).status, 200)
    const done = await books.put(body)
    assert.equal(done.status, 200, done.text)
    const models = all.map((one, i) => modelled(i === all.length - 1 ? { stops: 2 } : one, body.documents))
    assert.deepEqual(await read(), models)
  })
})
