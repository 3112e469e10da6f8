import assert from 'node:assert/strict'
import { test } from 'node:test'

import { createCollections } from './collections.ts'

const created = (collection: string) =>
  createCollections(
    {
      collections: { memberships: 'admin' },
      user: { teams: { collection, filter: { user: '$$user._id' }, value: 'team' } },
    },
    'guarded',
    async () => [],
  )

test('values of $$user come from declared collections: every user creates documents in any other', () => {
  assert.throws(() => created('members'), {
    name: 'StartError',
    message: /^store\.user\.teams: declare members in store\.collections/,
  })
  assert.ok(created('memberships').declared.has('memberships'))
})
