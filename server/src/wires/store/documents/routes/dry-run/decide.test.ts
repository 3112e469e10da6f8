import assert from 'node:assert/strict'
import { test } from 'node:test'

import { decide, Type } from '../../../../../index.ts'

const projects = {
  read: ['owner', { members: '$$user._id' }, { team: { $in: '$$user.teams' } }],
  create: { members: '$$user._id' },
  update: { before: { members: '$$user._id', locked: { $ne: true } }, after: { members: '$$user._id' } },
  delete: 'owner',
  hidden: ['cost'],
  readOnly: ['votes'],
  schema: Type.Object({ title: Type.String({ minLength: 1 }) }),
} as const
const ann = { _id: 'ann' }
const before = { _id: 'p1', title: 'Plan', members: ['ann'], votes: 3, cost: 7 }

/** The step that refuses, with the status; or yes. */
const outcome = (...args: Parameters<typeof decide>): string => {
  const decision = decide(...args)
  return decision.allowed ? 'yes' : `${decision.step} ${decision.status}`
}

test('decide names the step that refuses, and what the route answers', () => {
  const update = (after: object, of: object = before) =>
    outcome(projects, {
      user: ann,
      action: 'update',
      before: { ...before, ...of },
      after: { ...before, ...of, ...after },
    })
  assert.equal(update({ title: 'New' }), 'yes')
  assert.equal(update({ title: 'New' }, { members: [] }), 'readable 404')
  assert.equal(update({ title: 'New' }, { locked: true }), 'before 403')
  assert.equal(update({ votes: 4 }), 'fields 400')
  assert.equal(update({ cost: 8 }), 'fields 400')
  assert.equal(update({ title: '' }), 'schema 400')
  assert.equal(update({ members: ['bob'] }), 'after 403')
  assert.equal(update({ $set: 1 }), 'document 400')
  assert.equal(
    outcome(projects, { user: undefined, action: 'update', before, after: before }),
    'audience 401',
  )
  assert.deepEqual(decide(projects, { user: ann, action: 'create', after: { members: ['ann'] } }), {
    allowed: false,
    step: 'schema',
    status: 400,
    code: 'VALIDATION_ERROR',
    message: '/body/title: is required',
    issues: [{ path: '/body/title', message: 'is required' }],
  })
})

test('a word is what it means under the policy, for owners, others, administrators and strangers', () => {
  const read = (user: Parameters<typeof decide>[1]['user'], owner?: string) =>
    outcome('owner', { user, action: 'read', before, ...(owner !== undefined && { owner }) })
  assert.equal(read(ann, 'ann'), 'yes')
  assert.equal(read(ann, 'bob'), 'readable 404')
  assert.equal(read(ann), 'readable 404')
  assert.equal(read({ _id: 'root', role: 'admin' }, 'bob'), 'yes')
  assert.equal(read(undefined, 'bob'), 'audience 401')
  assert.equal(outcome('admin', { user: ann, action: 'create', after: {} }), 'audience 403')
  const others = { user: ann, action: 'delete', before, owner: 'bob' } as const
  assert.equal(outcome({}, others), 'yes')
  assert.equal(outcome({}, { ...others, policy: 'guarded' }), 'readable 404')
})

test('values of the user are resolved as the server resolves them', () => {
  const ofTeam = { ...before, members: [], team: 'red' }
  const read = (
    user: Parameters<typeof decide>[1]['user'],
    collection: Parameters<typeof decide>[0] = projects,
  ) => outcome(collection, { user, action: 'read', before: ofTeam })
  assert.equal(read({ ...ann, teams: ['blue', 'red'] }), 'yes')
  assert.equal(read({ ...ann, teams: 'red' }), 'yes')
  assert.equal(read({ ...ann, teams: [] }), 'readable 404')
  assert.equal(read(ann), 'readable 404')
  const notMine = { read: { $nor: [{ contact: '$$user.email' }] } }
  const email = 'ann@example.com'
  assert.equal(read({ ...ann, email }, notMine), 'yes')
  // What is not resolved denies, also under a negation.
  assert.equal(read({ ...ann, email, emailVerified: false }, notMine), 'readable 404')
  assert.equal(read(ann, notMine), 'readable 404')
})

test('a collection with which no server starts is refused with the same line', () => {
  assert.throws(
    () => decide({ create: 'public' }, { user: ann, action: 'create', after: {} }),
    /create: nobody creates documents without signing in/,
  )
  assert.throws(
    () => decide({ read: { _id: '$$me' } }, { user: ann, action: 'read', before }),
    /\$\$me is not known/,
  )
})
