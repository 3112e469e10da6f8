// The table of fields of a definition, without a browser: what it reads and writes.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import fc from 'fast-check'

import { changesOf, originsOf } from '../src/screens/data/definition/field-changes.ts'
import { fieldsOf, moved, withFields } from '../src/screens/data/definition/field-table.ts'
import {
  isFieldName,
  TYPES,
  typeOf,
  withKeyword,
  withType,
  type DefinitionValue,
  type TableField,
  type FieldType,
} from '../src/screens/data/definition/field-types.ts'

const name = fc.oneof(
  fc.constantFrom('a', 'b', 'c', 'a.b', 'b.c', 'a b', 'constructor', '0', '$x', '__proto__'),
  fc.string({ maxLength: 4 }),
)
const schemaOf = fc.oneof(
  fc.constantFrom(
    { type: 'string' },
    { type: 'string', enum: ['x', 'y'] },
    { type: 'string', format: 'date', default: '2026-01-01' },
    { type: 'string', format: 'email', maxLength: 9 },
    { type: 'array', items: { type: 'string' } },
    { type: 'array', items: { type: 'object' } },
    { type: ['string', 'null'] },
    { anyOf: [{ type: 'integer' }, { const: 'x' }] },
    { minimum: 3, type: 'integer' },
    { 'x-long': true, type: 'string', description: 'What it says' },
    {},
    true,
  ),
  fc.jsonValue({ maxDepth: 2 }),
)
const names = fc.uniqueArray(name, { maxLength: 4 })
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 2 })
const byName = <T>(value: fc.Arbitrary<T>) =>
  fc.dictionary(name, value, { maxKeys: 4, noNullPrototype: true })
const rule = fc.constantFrom('public', 'owner', { a: '$$user._id' }, [{ $or: [{ 'a.b': 1 }, { b: 2 }] }])
const group = fc.oneof(
  name,
  fc.uniqueArray(name, { minLength: 1, maxLength: 2 }),
  fc.record({ fields: fc.uniqueArray(name, { minLength: 1, maxLength: 2 }), ignoreCase: fc.boolean() }),
)
const definition: fc.Arbitrary<DefinitionValue> = fc
  .record({
    read: maybe(rule),
    update: maybe(fc.oneof(rule, fc.record({ before: rule, after: rule }))),
    schema: maybe(
      fc.record(
        {
          properties: byName(schemaOf),
          required: names,
          allOf: fc.jsonValue(),
          additionalProperties: fc.boolean(),
        },
        { requiredKeys: [] },
      ),
    ),
    unique: maybe(fc.array(group, { maxLength: 3 })),
    search: maybe(names),
    hidden: maybe(names),
    readOnly: maybe(names),
    showTo: maybe(byName(rule)),
    relations: maybe(byName(fc.record({ to: name, onDelete: fc.constantFrom('unset', 'cascade') }))),
    files: maybe(byName(fc.record({ max: fc.integer(), access: fc.constant('public') }))),
  })
  // As it comes over HTTP.
  .map((one) => JSON.parse(JSON.stringify(one)) as DefinitionValue)

const text = (value: unknown): string => JSON.stringify(value)
const type = fc.constantFrom(...(Object.keys(TYPES) as FieldType[]))
const change: fc.Arbitrary<(field: TableField) => TableField> = fc.oneof(
  type.map((one) => (field: TableField) => withType(field, one)),
  fc.constantFrom('default', 'description').map((key) => (field: TableField) => withKeyword(field, key, 'x')),
  fc
    .constantFrom('isRequired', 'isUnique', 'isSearchable', 'isHidden', 'isReadOnly')
    .map((key) => (field: TableField) => ({ ...field, [key as 'isHidden']: !field[key as 'isHidden'] })),
)

describe('the table of fields', () => {
  test('keeps every definition that is read and written', () => {
    fc.assert(
      fc.property(definition, (one) => {
        assert.equal(text(withFields(one, fieldsOf(one))), text(one))
      }),
    )
  })

  test('changes only what the definition says of the field', () => {
    fc.assert(
      fc.property(definition, fc.nat(), change, (one, nth, changed) => {
        const fields = fieldsOf(one)
        fc.pre(fields.length > 0)
        const at = nth % fields.length
        const { name: of } = fields[at]!
        const wanted = changed(fields[at]!)
        const next = withFields(one, fields.with(at, wanted))
        const found = fieldsOf(next)
        const others = (list: readonly TableField[]) => list.filter((field) => field.name !== of)
        // The order may be another if a field has become one of the schema.
        const sorted = (list: readonly TableField[]) => list.map(text).toSorted()
        assert.deepEqual(sorted(others(found)), sorted(others(fields)))
        const { origin: _, ignoresCase: __, ...expected } = wanted
        const { origin: ___, ignoresCase: ____, ...got } = found.find((field) => field.name === of) ?? wanted
        if (isSaid(wanted)) assert.equal(text(sortedKeys(got)), text(sortedKeys(expected)))
        for (const option of ['read', 'update', 'showTo'])
          assert.equal(text(next[option]), text(one[option]), option)
      }),
    )
  })

  test('removes a field with all that is said of it, and puts it back', () => {
    fc.assert(
      fc.property(definition, fc.nat(), (one, nth) => {
        const fields = fieldsOf(one)
        fc.pre(fields.length > 0)
        const at = nth % fields.length
        const { name: gone } = fields[at]!
        const next = withFields(one, fields.toSpliced(at, 1))
        const paths = fieldsOf(next).map((field) => field.name)
        assert.deepEqual(
          paths.toSorted(),
          fields
            .map((field) => field.name)
            .filter((other) => other !== gone && paths.includes(other))
            .toSorted(),
        )
        assert.ok(!paths.includes(gone))
      }),
    )
  })

  test('renames a field in every option that names it, rules as well', () => {
    const before = {
      read: ['owner', { $or: [{ members: '$$user._id' }, { 'members.x': { $in: ['members'] } }] }],
      update: { before: { members: '$$user._id' }, after: 'user' },
      schema: {
        type: 'object',
        properties: { title: {}, members: { type: 'array' } },
        required: ['members'],
      },
      unique: ['members', ['title', 'members'], { fields: ['members.x'], ignoreCase: true }],
      hidden: ['members.secret'],
      showTo: { 'members.phone': 'owner' },
      relations: { members: { to: 'people' } },
    }
    const fields = fieldsOf(before).map((field) =>
      field.name === 'members' ? { ...field, name: 'staff' } : field,
    )
    assert.deepEqual(withFields(before, fields), {
      read: ['owner', { $or: [{ staff: '$$user._id' }, { 'staff.x': { $in: ['members'] } }] }],
      update: { before: { staff: '$$user._id' }, after: 'user' },
      schema: { type: 'object', properties: { title: {}, staff: { type: 'array' } }, required: ['staff'] },
      unique: ['staff', ['title', 'staff'], { fields: ['staff.x'], ignoreCase: true }],
      hidden: ['staff.secret'],
      showTo: { 'staff.phone': 'owner' },
      relations: { staff: { to: 'people' } },
    })
  })

  test('moves fields in the order of the schema, and shows what it does not know as JSON', () => {
    const before = {
      schema: { properties: { a: { type: 'string' }, b: { oneOf: [] }, c: { type: 'integer' } } },
    }
    const fields = fieldsOf(before)
    assert.deepEqual(fields.map(typeOf), ['text', 'json', 'integer'])
    const next = withFields(before, moved(fields, 2, -1))
    assert.equal(
      text(next),
      text({ schema: { properties: { a: { type: 'string' }, c: { type: 'integer' }, b: { oneOf: [] } } } }),
    )
    for (const one of Object.keys(TYPES) as FieldType[])
      assert.equal(typeOf(withType(fields[0]!, one)), one, 'a type that is chosen is the one that is shown')
    assert.ok(!isFieldName('a.b'))
  })

  test('a renamed field is the same one, however often it is renamed, and another of its old name is not', () => {
    const base = {
      schema: { properties: { a: { type: 'string' }, b: { type: 'integer' }, c: {} }, required: ['c'] },
    }
    const named = (of: DefinitionValue, from: string, to: string) =>
      fieldsOf(of).map((field) => (field.name === from ? { ...field, name: to } : field))
    const first = named(base, 'a', 'x')
    const origins = originsOf(new Map(), first)
    // The table is left, and opened again.
    const later = named(withFields(base, first), 'x', 'y')
    const required = later.map((field) => ({ ...field, isRequired: true })).filter(({ name }) => name !== 'b')
    const definition = withFields(withFields(base, first), required)
    assert.deepEqual(changesOf(base, definition, originsOf(origins, required)), [
      { rename: { from: 'a', to: 'y' } },
      { drop: 'b' },
      { default: { field: 'y', value: '' } },
    ])
    const back = named(withFields(base, first), 'x', 'a')
    assert.deepEqual(changesOf(base, withFields(base, back), originsOf(origins, back)), [])
    const taken = named(withFields(base, first), 'b', 'a')
    assert.deepEqual(changesOf(base, withFields(withFields(base, first), taken), originsOf(origins, taken)), [
      { drop: 'b' },
    ])
  })
})

/** Whether a definition says anything of the field: else it is no field. */
const isSaid = (field: TableField): boolean =>
  fieldsOf(withFields({}, [{ ...field, origin: undefined }])).length > 0
const sortedKeys = (value: object): object =>
  Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
