import assert from 'node:assert/strict'
import { test } from 'node:test'

import { accessOf } from './access.ts'

test('what class permissions do not give to all is for administrators', () => {
  const everybody = { '*': true }
  const users = { requiresAuthentication: true }
  const open = { find: everybody, get: everybody, create: everybody, update: everybody, delete: everybody }
  const own = { create: 'user', update: 'owner', delete: 'owner' }
  for (const [permissions, access] of [
    [undefined, { ...own, read: 'public' }],
    [open, { ...own, read: 'public' }],
    [
      { ...open, find: users },
      { ...own, read: 'user' },
    ],
    [
      { ...open, get: {} },
      { ...own, read: 'admin' },
    ],
    [
      { ...open, create: {}, update: { 'role:x': true }, delete: users },
      { read: 'public', create: 'admin', update: 'admin', delete: 'owner' },
    ],
    // Parse Server gives what is not named to nobody.
    [{}, { read: 'admin', create: 'admin', update: 'admin', delete: 'admin' }],
    [
      { ...open, protectedFields: { '*': ['phone'] } },
      { ...own, read: 'public', hidden: ['phone'] },
    ],
  ] as const)
    assert.deepEqual(accessOf('public-read', permissions), access)
  assert.equal(accessOf('owner', { ...open, find: users }).read, 'owner')
})
