// Each configuration of collections that cannot work, and the one line that the start is refused with. Existing documents that
// are not unique: indexes/unique-start.test.ts. Other schemas: schema/schema.test.ts.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import type { Static } from 'typebox'

import { StartError } from '../../../../base/start-error.ts'
import { checkOptions } from '../../../../kernel/wire/options.ts'
import { configuredWires } from '../../../../wires.ts'
import type { StoreOptions } from '../../options.ts'
import { readCollections } from './collections.ts'

/** The line of a start that is refused, as the store and the check of its options read the configuration. */
function refusalOf(store: object): string | undefined {
  try {
    const wire = configuredWires({ store }).find(({ name }) => name === 'store')!
    const options = checkOptions([wire]).get(wire) as Static<typeof StoreOptions>
    readCollections('guarded', options)
    return undefined
  } catch (error) {
    assert.ok(error instanceof StartError, String(error))
    assert.doesNotMatch(error.message, /\n/)
    return error.message
  }
}

/** What is refused, and what is said behind the path of the option. */
type Case = readonly [value: unknown, line: string]

/** Each is the option of the collection `projects`, beside a collection `teams`. */
function refuse(option: string, cases: readonly Case[]): void {
  for (const [value, line] of cases)
    test(`${option}: ${textOf(value)}`, () => {
      const projects = { [option]: value }
      assert.equal(refusalOf({ collections: { projects, teams: {} } }), `store.collections.projects.${line}`)
    })
}

const textOf = (value: unknown): string =>
  JSON.stringify(value, (_, one: unknown) =>
    one === undefined || typeof one === 'function' || typeof one === 'bigint' || one instanceof RegExp
      ? String(one)
      : one,
  )

const KNOWN = '$$user._id, $$user.role, $$user.email. Others are declared in store.user'
const PLACES = 'only as a value, or with $eq, $ne, $in and $nin'
const JSON_ONLY = 'a filter holds texts, numbers, true, false, null, lists and objects'

describe('a rule', () => {
  refuse('read', [
    [
      'everybody',
      'read: "everybody" is no audience; these are: public, user, owner, admin. A rule may also be a filter',
    ],
    ['onwer', 'read: "onwer" is no audience: did you mean owner?'],
    [
      ['owner', 'members'],
      'read[1]: "members" is no audience; these are: public, user, owner, admin. A rule may also be a filter',
    ],
    [[], 'read: an empty list allows nobody: name admin instead'],
    [{}, 'read: an empty filter has every document: use user or public in its place'],
    [true, "read: must be a filter, such as { members: '$$user._id' }"],
    [null, "read: must be a filter, such as { members: '$$user._id' }"],
    [[['owner']], "read[0]: must be a filter, such as { members: '$$user._id' }"],
    [() => true, "read: must be a filter, such as { members: '$$user._id' }"],
    [
      { n: { $greater: 1 } },
      'read.n.$greater: The operator "$greater" is not supported here; these are: $eq $ne $gt $gte $lt $lte $in $nin $not $exists $type $regex $options $all $elemMatch $size $mod $bitsAllSet $bitsAllClear $bitsAnySet $bitsAnyClear.',
    ],
    [{ $xor: [] }, 'read.$xor: The operator "$xor" is not supported here; these are: $and $or $nor $expr.'],
    [{ n: { $in: 'a' } }, 'read.n.$in: Give an array of values.'],
    [
      { until: { $gt: new Date(0) } },
      `read.until.$gt: ${JSON_ONLY}: write the date as text, as documents have it`,
    ],
    [{ name: /^a/ }, `read.name: ${JSON_ONLY}: write { $regex: '…' }`],
    [{ a: undefined }, `read.a: ${JSON_ONLY}`],
    [{ a: [{ b: 1n }] }, `read.a.0.b: ${JSON_ONLY}`],
    [{ a: NaN }, `read.a: ${JSON_ONLY}`],
  ])
  refuse('create', [
    ['public', 'create: nobody creates documents without signing in: use user in place of public'],
    [['user', 'public'], 'create: nobody creates documents without signing in: use user in place of public'],
  ])
  const both = 'update: give before and after, both and nothing else. A filter of a field named'
  refuse('update', [
    [{ before: 'owner' }, `${both} before stands in { $and: [ … ] }`],
    [{ befor: 'owner', after: 'owner' }, `${both} after stands in { $and: [ … ] }`],
    [{ before: 'owner', after: 'owner', during: 'owner' }, `${both} before stands in { $and: [ … ] }`],
    [{ before: 'owner', after: [] }, 'update.after: an empty list allows nobody: name admin instead'],
  ])

  test('may filter by a field named before', () => {
    assert.equal(refusalOf({ collections: { projects: { update: { $and: [{ before: 1 }] } } } }), undefined)
  })
})

describe('a value of the caller in a rule', () => {
  refuse('read', [
    [{ members: '$$user.id' }, `read: $$user.id is not known; these are: ${KNOWN}`],
    [{ members: '$$user' }, `read: $$user is not known; these are: ${KNOWN}`],
    [{ team: '$$user.metadata.team' }, `read: $$user.metadata.team is not known; these are: ${KNOWN}`],
    [{ until: { $gt: '$$now' } }, `read: $$now is not known; these are: ${KNOWN}`],
    [['owner', { members: '$$user.id' }], `read[1]: $$user.id is not known; these are: ${KNOWN}`],
    [
      { name: { $regex: '^$$user.email' } },
      `read.name.$regex: a value of the caller cannot stand in a pattern: ${PLACES}`,
    ],
    [{ n: { $gt: '$$user._id' } }, `read: $$user._id cannot stand in a comparison: ${PLACES}`],
    [
      { $expr: { $eq: ['$author', '$$user._id'] } },
      `read.$expr.$eq.1: $$user._id cannot stand in $expr: ${PLACES}`,
    ],
    [{ author: { id: '$$user._id' } }, `read: $$user._id cannot stand in an object or list: ${PLACES}`],
    [{ $or: [{ authors: ['$$user._id'] }] }, `read: $$user._id cannot stand in an object or list: ${PLACES}`],
    [
      { members: { $all: ['$$user._id'] } },
      `read.members.$all.0: $$user._id cannot stand in $all: ${PLACES}`,
    ],
    [{ members: { $exists: '$$user._id' } }, 'read.members.$exists: $exists takes true or false.'],
    [
      { members: '$user._id' },
      'read.members: "$user._id" would be a plain text: a value of the caller is \'$$user._id\' alone',
    ],
    [
      { key: 'user:$$user._id' },
      'read.key: "user:$$user._id" would be a plain text: a value of the caller is \'$$user._id\' alone',
    ],
  ])

  const store = (user: object) => ({ user, collections: { projects: {}, memberships: 'admin' } })
  const teams = { collection: 'memberships', filter: { user: '$$user._id' }, value: 'team' }
  for (const [user, line] of [
    [{ 'my-teams': teams }, 'my-teams: a name is a letter, then up to 63 letters, digits and _'],
    [{ _id: teams }, '_id: a name is a letter, then up to 63 letters, digits and _'],
    [{ email: teams }, 'email: every account has $$user.email already'],
    [
      { teams: { ...teams, filter: {} } },
      'teams.filter: an empty filter has every document: use user or public in its place',
    ],
    [
      { teams: { ...teams, filter: { team: '$$user.teams' } } },
      `teams.filter: $$user.teams is not known; these are: ${KNOWN}`,
    ],
    [
      { teams: { ...teams, value: 'teams.0' } },
      'teams.value: teams.0 has a numeric part: a path has all elements of an array, so leave it out',
    ],
    [{ teams: { ...teams, value: undefined } }, 'teams.value: is required'],
    [
      { teams: { ...teams, colection: 'x' } },
      'teams.colection: there is no such option: did you mean collection?',
    ],
    [
      { teams: { ...teams, collection: 'membership' } },
      'teams: declare membership in store.collections: without rules every user could create what it is read from',
    ],
  ] as const)
    test(`store.user: ${textOf(user)}`, () => {
      assert.equal(refusalOf(store(user)), `store.user.${line}`)
    })

  test('is read from a collection that logs its changes', () => {
    const memberships = { read: 'admin', changes: false }
    assert.equal(
      refusalOf({ user: { teams }, collections: { memberships } }),
      'store.collections.memberships.changes: must not be false: store.user.teams is read from this collection, and open streams follow it by its changes',
    )
  })

  test('is known by its name in store.user', () => {
    const read = { team: { $in: '$$user.team' } }
    assert.equal(
      refusalOf({ user: { teams }, collections: { projects: { read }, memberships: 'admin' } }),
      'store.collections.projects.read: $$user.team is not known; these are: $$user._id, $$user.role, $$user.email, $$user.teams. Others are declared in store.user',
    )
    assert.equal(refusalOf(store({ teams: { ...teams, value: '_id' } })), undefined)
  })
})

describe('fields', () => {
  refuse('hidden', [
    [['_id'], 'hidden[0]: _id is set by the server'],
    [
      ['cost', 'lines.0.cost'],
      'hidden[1]: lines.0.cost has a numeric part: a path has all elements of an array, so leave it out',
    ],
    [['cost.'], 'hidden[0]: must be the path of a field, such as supplier.iban'],
    [['$cost'], 'hidden[0]: "$cost" is not a path: a field name never begins with $.'],
    [['cost', 'cost.net'], 'hidden: cost and cost.net are the same or inside of each other'],
    ['cost', 'hidden: must be array'],
  ])
  refuse('readOnly', [[['updatedAt'], 'readOnly[0]: updatedAt is set by the server']])
  refuse('showTo', [
    [
      { phone: 'me' },
      'showTo.phone: "me" is no audience; these are: public, user, owner, admin. A rule may also be a filter',
    ],
    [{ phone: { members: '$$user.id' } }, `showTo.phone: $$user.id is not known; these are: ${KNOWN}`],
    [
      { 'a.0': 'owner' },
      'showTo: a.0 has a numeric part: a path has all elements of an array, so leave it out',
    ],
  ])

  test('that are hidden cannot be unique together with others', () => {
    const projects = { hidden: ['cost'], unique: [['slug', 'cost']] }
    assert.equal(
      refusalOf({ collections: { projects } }),
      'store.collections.projects.unique[0]: cost is hidden: who changes the other fields would learn whether it is the same elsewhere',
    )
  })

  test('cannot be hidden and shown to somebody', () => {
    assert.equal(
      refusalOf({
        collections: { projects: { hidden: ['supplier'], showTo: { 'supplier.iban': 'owner' } } },
      }),
      'store.collections.projects.hidden: supplier and supplier.iban are the same or inside of each other',
    )
  })
})

describe('relations', () => {
  refuse('relations', [
    [{ team: { to: 'team' } }, 'relations.team.to: no collection team is defined: did you mean teams?'],
    [{ file: { to: 'files' } }, 'relations.file.to: no collection files is defined'],
    [
      { team: { to: 'teams', onDelete: 'delete' } },
      'relations.team.onDelete: must be one of restrict, unset, cascade',
    ],
    [
      { team: { to: 'teams', ondelete: 'unset' } },
      'relations.team.ondelete: there is no such option: did you mean onDelete?',
    ],
    [
      { 'teams.0': { to: 'teams' } },
      'relations: teams.0 has a numeric part: a path has all elements of an array, so leave it out',
    ],
    [{ _id: { to: 'teams' } }, 'relations: _id is set by the server'],
  ])

  test('cannot remove a field that the schema requires', () => {
    const projects = {
      schema: { type: 'object', required: ['team'] },
      relations: { team: { to: 'teams', onDelete: 'unset' } },
    }
    assert.equal(
      refusalOf({ collections: { projects, teams: {} } }),
      'store.collections.projects.relations.team: the schema requires this field: unset cannot remove it',
    )
  })
})

describe('fields of files', () => {
  refuse('files', [
    [
      { photo: { types: ['image'] } },
      'files.photo.types[0]: "image" is no media type, such as image/png, or image/* for all of a kind',
    ],
    [{ photo: { max: 0 } }, 'files.photo.max: must be >= 1'],
    [{ photo: { maxByte: 1 } }, 'files.photo.maxByte: there is no such option: did you mean maxBytes?'],
    [{ photo: { access: 'private' } }, 'files.photo.access: must be one of document, public'],
    [{ _id: {} }, 'files: _id is set by the server'],
    [
      { 'a.b': {}, a: {} },
      'files.a.b: a is the same or inside of it, or it is inside of that: a field holds files, or _ids of documents',
    ],
  ])

  test('hold no documents', () => {
    const projects = { relations: { team: { to: 'teams' } }, files: { team: {} } }
    assert.match(
      refusalOf({ collections: { projects, teams: {} } })!,
      /^store.collections.projects.files.team: team is/,
    )
  })
})

describe('other options', () => {
  refuse('hooks', [
    [{ beforeCraete() {} }, 'hooks.beforeCraete: no such hook: did you mean beforeCreate?'],
    [
      { save() {} },
      'hooks.save: no such hook: there are beforeCreate, beforeUpdate, beforeDelete, afterCreate, afterUpdate, afterDelete',
    ],
    [{ beforeCreate: 'total' }, 'hooks.beforeCreate: must be a function'],
  ])
  refuse('schema', [
    [{ propertis: {} }, 'schema: "propertis" is no keyword here: did you mean properties?'],
    [
      { properties: { a: { pattern: '(?=a)b' } } },
      'schema: /properties/a/pattern: "(?=a)b": The look-around "(?=" is not supported.',
    ],
    [{ type: 'array' }, 'schema: /type: a document is an object'],
  ])
  refuse('unique', [
    [['slug', 'slug'], 'unique[1]: slug is in the list already'],
    [
      [
        ['team', 'n'],
        ['n', 'team'],
      ],
      'unique[1]: n,team is in the list already',
    ],
    [['team,n'], "unique[0]: team,n is one field: write those that are unique together as ['team', 'n']"],
    [
      ['lines.0.n'],
      'unique[0]: lines.0.n has a numeric part: an index has all elements of an array, so leave it out',
    ],
    [
      [{ fields: ['a'], ignorecase: true }],
      'unique[0].ignorecase: there is no such option: did you mean ignoreCase?',
    ],
  ])
  refuse('raed', [['public', 'raed: there is no such option: did you mean read?']])
  refuse('write', [['admin', 'write: there is no such option']])

  test('a hook that is undefined is none', () => {
    assert.equal(refusalOf({ collections: { projects: { hooks: { beforeCreate: undefined } } } }), undefined)
  })
})

describe('a collection', () => {
  for (const [collections, line] of [
    [
      { notes: 'everybody' },
      'notes: "everybody" is no word for a collection; these are: owner, shared, public-read, admin. Rules for each action stand in { read: … }',
    ],
    [{ notes: 'pubic-read' }, 'notes: "pubic-read" is no word for a collection: did you mean public-read?'],
    [{ notes: ['owner'] }, 'notes: must be string or object'],
    [
      { 'my notes': 'owner' },
      'my notes: the name of a collection is a letter, then up to 63 letters, digits, _ and -',
    ],
    [{ files: 'owner' }, "files: files is a word of the store's routes: give the collection another name"],
  ] as const)
    test(textOf(collections), () => {
      assert.equal(refusalOf({ collections }), `store.collections.${line}`)
    })
})
