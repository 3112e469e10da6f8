// The table of fields of a definition, without a browser: what it reads and writes.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import fc from 'fast-check'

import { changesOf, originsOf } from '../src/screens/data/definition/field-changes.ts'
import { fieldsIn, moved, rowsOf } from '../src/screens/data/definition/field-rows.ts'
import { fieldsOf, othersOf } from '../src/screens/data/definition/field-table.ts'
import { withFields } from '../src/screens/data/definition/written-fields.ts'
import { groupsOf, withGroup, withoutGroup } from '../src/screens/data/definition/unique-groups.ts'
import {
  isFieldName,
  newField,
  TYPES,
  typeOf,
  withKeyword,
  withType,
  type DefinitionValue,
  type TableField,
  type FieldType,
} from '../src/screens/data/definition/field-types.ts'

const name = fc.oneof(
  fc.constantFrom('a', 'b', 'c', 'a.b', 'b.c', 'a.b.c', 'a b', 'constructor', '0', '$x', '__proto__'),
  fc.string({ maxLength: 4 }),
)
const leaf = fc.oneof(
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
const objectOf = (inner: fc.Arbitrary<unknown>): fc.Arbitrary<object> =>
  fc.record(
    {
      type: fc.constant('object'),
      description: fc.constant('What it is'),
      required: names,
      properties: byName(inner),
      additionalProperties: fc.boolean(),
      minProperties: fc.option(fc.constant(1), { nil: undefined, freq: 5 }),
    },
    { requiredKeys: ['type'] },
  )
const containerOf = (inner: fc.Arbitrary<unknown>): fc.Arbitrary<object> =>
  fc.oneof(
    objectOf(inner),
    fc.record(
      { type: fc.constant('array'), items: objectOf(inner), maxItems: fc.constant(3) },
      { requiredKeys: ['type', 'items'] },
    ),
  )
const schemaOf = fc.oneof(leaf, containerOf(fc.oneof(leaf, containerOf(leaf))))
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
    .constantFrom('owner', { a: 1 }, undefined)
    .map((showTo) => (field: TableField) => ({ ...field, showTo })),
  fc.constant((field: TableField) => ({
    ...field,
    ...(field.fields && { fields: [...field.fields, { ...newField('added'), isHidden: true }] }),
  })),
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
        const rows = rowsIn(fields)
        fc.pre(rows.length > 0)
        const { path: of, field } = rows[nth % rows.length]!
        const wanted = changed(field)
        const next = withFields(one, replaced(fields, of, [wanted]))
        const found = rowsIn(fieldsOf(next))
        const others = (list: readonly ShownRow[]) =>
          list.filter(({ path }) => path !== of && !path.startsWith(`${of}.`)).map(aloneOf)
        // The order may be another if a field has become one of the schema.
        assert.deepEqual(others(found).toSorted(), others(rows).toSorted())
        const got = found.find(({ path }) => path === of)
        if (got && isSaid(wanted)) assert.equal(aloneOf(got), aloneOf({ path: of, field: wanted }))
        const inside = (list: readonly ShownRow[]) =>
          list.flatMap(({ path, field: { name } }) => (path.startsWith(`${of}.`) ? [name] : [])).toSorted()
        if (got && wanted.fields && got.field.fields)
          assert.deepEqual(inside(found), inside(rowsIn([wanted], of.split('.').slice(0, -1))))
        for (const option of ['read', 'update']) assert.equal(text(next[option]), text(one[option]), option)
      }),
    )
  })

  test('removes a field with all that is said of it, and puts it back', () => {
    fc.assert(
      fc.property(definition, fc.nat(), (one, nth) => {
        const fields = fieldsOf(one)
        const rows = rowsIn(fields)
        fc.pre(rows.length > 0)
        const { path: gone } = rows[nth % rows.length]!
        const next = withFields(one, replaced(fields, gone, []))
        const left = rows.filter(({ path }) => path !== gone && !path.startsWith(`${gone}.`))
        const found = rowsIn(fieldsOf(next))
        const names = (list: readonly ShownRow[]) => list.map(({ path }) => path)
        assert.deepEqual(names(found).toSorted(), names(left).toSorted())
        const other = found.find(({ path }) => path === gone.split('.').slice(0, -1).join('.'))
        if (other) assert.ok(other.field.fields, 'the object that had it is one still')
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

  test('reads objects and lists of objects at any depth, and renames inside of them', () => {
    const before = {
      read: [{ 'lines.owner': '$$user._id' }, { lines: 1 }],
      schema: {
        type: 'object',
        properties: {
          lines: {
            type: 'array',
            maxItems: 9,
            items: {
              type: 'object',
              properties: {
                owner: { type: 'string' },
                part: { type: 'object', properties: { iban: { type: 'string' } } },
              },
              required: ['owner'],
              additionalProperties: false,
            },
          },
          free: { type: 'object', minProperties: 1 },
        },
      },
      hidden: ['lines.part.iban', 'free.x'],
      showTo: { 'lines.part': 'owner' },
      relations: { 'lines.owner': { to: 'people' } },
    }
    const fields = fieldsOf(before)
    assert.deepEqual(
      rowsIn(fields).map(({ path, field }) => `${path}: ${typeOf(field)}`),
      [
        'lines: objects',
        'lines.owner: relation',
        'lines.part: object',
        'lines.part.iban: text',
        'free: json',
      ],
    )
    assert.deepEqual(othersOf(before), ['free.x'])
    const [lines] = fields
    const [owner, part] = lines!.fields!
    const next = withFields(before, [
      {
        ...lines!,
        name: 'rows',
        fields: [
          { ...owner!, name: 'by' },
          { ...part!, name: 'bank' },
        ],
      },
      fields[1]!,
    ])
    assert.equal(
      text(next),
      text(before)
        .replaceAll('lines', 'rows')
        .replaceAll('rows.owner', 'rows.by')
        .replaceAll('rows.part', 'rows.bank')
        .replace('"owner":{', '"by":{')
        .replace('"part":{', '"bank":{')
        .replace('["owner"]', '["by"]'),
    )
    const flat = withFields(before, [withType(lines!, 'object'), withType(fields[1]!, 'text')])
    assert.equal(typeOf(fieldsOf(flat)[0]!), 'object')
    assert.deepEqual(
      rowsIn(fieldsOf(flat)).map(({ path }) => path),
      ['lines', 'lines.owner', 'lines.part', 'lines.part.iban', 'free'],
    )
    const plain = withFields(before, [withType(lines!, 'text'), fields[1]!])
    assert.deepEqual(
      [plain['hidden'], plain['showTo'], plain['relations']],
      [['free.x'], undefined, undefined],
    )
  })

  test('adds, shows and removes fields that are unique together, beside those that are alone', () => {
    const before = { read: 'owner', unique: ['a', ['b', 'c.d'], { fields: ['e', 'f'], ignoreCase: true }] }
    assert.deepEqual(groupsOf(before), [
      { at: 1, paths: ['b', 'c.d'], ignoresCase: false },
      { at: 2, paths: ['e', 'f'], ignoresCase: true },
    ])
    const added = withGroup(before, { paths: ['g', 'h'], ignoresCase: true })
    assert.deepEqual(groupsOf(added).at(-1), { at: 3, paths: ['g', 'h'], ignoresCase: true })
    assert.equal(text(withoutGroup(added, 3)), text(before))
    assert.equal(text(withoutGroup({ unique: [['a', 'b']] }, 0)), '{}')
  })

  test('moves fields in the order of the schema, and shows what it does not know as JSON', () => {
    const before = {
      schema: { properties: { a: { type: 'string' }, b: { oneOf: [] }, c: { type: 'integer' } } },
    }
    const fields = fieldsOf(before)
    assert.deepEqual(fields.map(typeOf), ['text', 'json', 'integer'])
    const next = withFields(before, fieldsIn(moved(rowsOf(fields), 2, -1)))
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

  test('a renamed object is the same one with its fields; those inside of it are changed in no document', () => {
    const inner = { type: 'object', properties: { x: { type: 'string' }, y: {} } }
    const base = { schema: { properties: { a: inner } } }
    const rows = rowsOf(fieldsOf(base)).map(({ key, field, rows: [x, y] }) => ({
      key,
      field: { ...field, name: 'b', isRequired: true },
      rows: [y!, { ...x!, field: { ...x!.field, name: 'z' } }],
    }))
    const fields = fieldsIn(rows)
    const definition = withFields(base, fields)
    assert.deepEqual(definition['schema'], {
      properties: { b: { ...inner, properties: { y: {}, z: { type: 'string' } } } },
      required: ['b'],
    })
    assert.deepEqual(changesOf(base, definition, originsOf(new Map(), fields)), [
      { rename: { from: 'a', to: 'b' } },
      { default: { field: 'b', value: {} } },
    ])
  })
})

/** Whether a definition says anything of the field: else it is no field. */
const isSaid = (field: TableField): boolean =>
  fieldsOf(withFields({}, [{ ...field, origin: undefined }])).length > 0
type ShownRow = { readonly path: string; readonly field: TableField }
const rowsIn = (fields: readonly TableField[], at: readonly string[] = []): ShownRow[] =>
  fields.flatMap((field) => {
    const path = [...at, field.name]
    return [{ path: path.join('.'), field }, ...rowsIn(field.fields ?? [], path)]
  })
/** What a row says without the rows inside of it. */
const aloneOf = ({ path, field }: ShownRow): string => {
  const { fields, origin: _, ignoresCase, ...rest } = field
  return text([path, fields !== undefined, field.isUnique && ignoresCase, sortedKeys(rest)])
}
/** The rows with others in place of one. */
const replaced = (fields: readonly TableField[], path: string, by: readonly TableField[]): TableField[] => {
  const [first, ...rest] = path.split('.')
  return fields.flatMap((field) => {
    if (field.name !== first) return field
    return rest.length === 0 ? by : { ...field, fields: replaced(field.fields!, rest.join('.'), by) }
  })
}
const sortedKeys = (value: object): object =>
  Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
