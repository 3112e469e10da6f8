import assert from 'node:assert/strict'
import { test } from 'node:test'

import { accessOf } from './access-rules.ts'

const fields = [
  { name: 'author', type: 'relation', maxSelect: 1 },
  { name: 'members', type: 'relation', maxSelect: 9 },
  { name: 'open', type: 'bool' },
  { name: 'state', type: 'select', maxSelect: 1 },
  { name: 'count', type: 'number' },
]
const CALLER = '$$user._id'

const updateOf = (updateRule: string | null) =>
  accessOf({
    id: 'c',
    name: 'posts',
    type: 'base',
    system: false,
    fields,
    indexes: [],
    listRule: null,
    viewRule: null,
    createRule: null,
    deleteRule: null,
    updateRule,
    authRule: '',
  })

test('rules of PocketBase that mean the same are translated, and all others leave administrators alone', () => {
  for (const [rule, expected] of [
    [null, 'admin'],
    ['', 'public'],
    ["@request.auth.id != ''", 'user'],
    ['@request.auth.id = author', { author: CALLER }],
    ['author.id = @request.auth.id', { author: CALLER }],
    ['members ?= @request.auth.id', { members: CALLER }],
    ['@request.auth.id != "" && author = @request.auth.id', { author: CALLER }],
    ['author = @request.auth.id && state = "new"', { author: CALLER, state: 'new' }],
    ['author = @request.auth.id || count = -3', [{ author: CALLER }, { count: -3 }]],
    ['open = false', { open: false }],
  ] as const)
    assert.deepEqual([updateOf(rule).access.update, updateOf(rule).notes], [expected, []], String(rule))

  for (const rule of [
    'members = @request.auth.id', // all of them
    'members ?= @request.auth.id && members ?= author',
    '@request.auth.id != "" && open = true', // a filter alone would let strangers read
    'author.name = @request.auth.name',
    'author != @request.auth.id',
    'author = @request.auth.id && author = "x"',
    '(open = true)',
    'open = true // for all',
    'state = "a || b"',
    'state ~ "n"',
    'count = 1.5',
    'gone = true',
    '@request.auth.verified = true',
    '@request.body.open = true',
    '@collection.teams.user ?= @request.auth.id',
  ]) {
    const { access, notes } = updateOf(rule)
    assert.deepEqual(
      [access.update, notes],
      ['admin', [`updateRule is not translated, so administrators only: ${rule}`]],
    )
  }
})
