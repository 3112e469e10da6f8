import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ApiError } from '../../base/errors.ts'
import { type Access, type Audience, type Caller, type UserCaller } from '../../http/access.ts'
import { createPolicy, type PolicyName } from './policy.ts'

const user: UserCaller = {
  kind: 'user',
  id: 'u1',
  email: 'ann@example.com',
  emailVerified: true,
  role: 'user',
  sessionId: 's1',
}
const key = (...scopes: string[]): Caller => ({ kind: 'key', id: 'k1', scopes })

const callers = {
  nobody: undefined,
  unverified: { ...user, emailVerified: false },
  user,
  admin: { ...user, role: 'admin' },
  'unverified admin': { ...user, role: 'admin', emailVerified: false },
  'key *': key('*'),
  'key store': key('store'),
  'key store:read': key('store:read'),
  'key messaging': key('messaging'),
  'key without scopes': key(),
} satisfies Record<string, Caller | undefined>

type CallerName = keyof typeof callers

/** What became of it: `ok`, or the code of the error. */
function outcome(work: () => void): string {
  try {
    work()
    return 'ok'
  } catch (error) {
    assert.ok(error instanceof ApiError)
    return error.code
  }
}

const OK = 'ok'
const SIGN_IN = 'UNAUTHORIZED'
const NO = 'FORBIDDEN'
const VERIFY = 'EMAIL_NOT_VERIFIED'

// Who may call a route of store: under `open`, and under `guarded` where addresses must be verified.
const routes: [
  access: Access,
  method: string,
  outcomes: Record<CallerName, [open: string, guarded: string]>,
][] = [
  [
    'public',
    'POST',
    {
      nobody: [OK, OK],
      unverified: [OK, OK],
      user: [OK, OK],
      admin: [OK, OK],
      'unverified admin': [OK, OK],
      'key *': [OK, OK],
      'key store': [OK, OK],
      'key store:read': [OK, OK],
      'key messaging': [OK, OK],
      'key without scopes': [OK, OK],
    },
  ],
  [
    'optional',
    'GET',
    {
      nobody: [OK, OK],
      unverified: [OK, VERIFY],
      user: [OK, OK],
      admin: [OK, OK],
      'unverified admin': [OK, VERIFY],
      'key *': [OK, OK],
      'key store': [OK, OK],
      'key store:read': [OK, OK],
      'key messaging': [NO, NO],
      'key without scopes': [NO, NO],
    },
  ],
  [
    'user',
    'GET',
    {
      nobody: [SIGN_IN, SIGN_IN],
      unverified: [OK, VERIFY],
      user: [OK, OK],
      admin: [OK, OK],
      'unverified admin': [OK, VERIFY],
      'key *': [OK, OK],
      'key store': [OK, OK],
      'key store:read': [OK, OK],
      'key messaging': [NO, NO],
      'key without scopes': [NO, NO],
    },
  ],
  [
    'user',
    'POST',
    {
      nobody: [SIGN_IN, SIGN_IN],
      unverified: [OK, VERIFY],
      user: [OK, OK],
      admin: [OK, OK],
      'unverified admin': [OK, VERIFY],
      'key *': [OK, OK],
      'key store': [OK, OK],
      'key store:read': [NO, NO],
      'key messaging': [NO, NO],
      'key without scopes': [NO, NO],
    },
  ],
  [
    'session',
    'GET',
    {
      nobody: [SIGN_IN, SIGN_IN],
      unverified: [OK, VERIFY],
      user: [OK, OK],
      admin: [OK, OK],
      'unverified admin': [OK, VERIFY],
      'key *': [NO, NO],
      'key store': [NO, NO],
      'key store:read': [NO, NO],
      'key messaging': [NO, NO],
      'key without scopes': [NO, NO],
    },
  ],
  [
    'operator',
    'POST',
    {
      nobody: [SIGN_IN, SIGN_IN],
      unverified: [NO, VERIFY],
      user: [NO, NO],
      admin: [OK, OK],
      'unverified admin': [OK, VERIFY],
      'key *': [OK, OK],
      'key store': [OK, OK],
      'key store:read': [NO, NO],
      'key messaging': [NO, NO],
      'key without scopes': [NO, NO],
    },
  ],
  [
    'admin',
    'DELETE',
    {
      nobody: [SIGN_IN, SIGN_IN],
      unverified: [OK, VERIFY],
      user: [OK, NO],
      admin: [OK, OK],
      'unverified admin': [OK, VERIFY],
      'key *': [OK, OK],
      'key store': [OK, OK],
      'key store:read': [NO, NO],
      'key messaging': [NO, NO],
      'key without scopes': [NO, NO],
    },
  ],
]

for (const [access, method, outcomes] of routes)
  describe(`${method} of a route for ${access}`, () => {
    for (const [name, expected] of Object.entries(outcomes) as [CallerName, [string, string]][])
      test(`${name}: ${expected[0]} under open, ${expected[1]} under guarded`, () => {
        const seen = (['open', 'guarded'] as const).map((policy) =>
          outcome(() =>
            createPolicy({ policy, production: false }, { requireVerifiedEmail: () => true }).admit(
              callers[name],
              {
                access,
                wire: 'store',
                method,
              },
            ),
          ),
        )
        assert.deepEqual(seen, expected)
      })
  })

test('an address that is not verified may still be used for /auth/*, and everywhere where that is not asked for', () => {
  const admit = (required: boolean, wire: string) =>
    outcome(() =>
      createPolicy({ policy: 'guarded', production: false }, { requireVerifiedEmail: () => required }).admit(
        callers.unverified,
        {
          access: 'user',
          wire,
          method: 'POST',
        },
      ),
    )
  assert.deepEqual([admit(true, 'auth'), admit(true, 'pay'), admit(false, 'pay')], [OK, VERIFY, OK])
  const isRequired = (policy: PolicyName, required: boolean) =>
    createPolicy(
      { policy, production: false },
      { requireVerifiedEmail: () => required },
    ).requiresVerifiedEmail()
  assert.deepEqual(
    [isRequired('guarded', true), isRequired('guarded', false), isRequired('open', true)],
    [true, false, false],
  )
})

test('a refused key is told which scope it lacks', () => {
  const refuse = (method: string) =>
    assert.throws(
      () =>
        createPolicy({ policy: 'open', production: false }, { requireVerifiedEmail: () => false }).admit(
          callers['key messaging'],
          {
            access: 'user',
            wire: 'store',
            method,
          },
        ),
      { message: `This service key lacks the scope "${method === 'GET' ? 'store:read' : 'store'}".` },
    )
  refuse('GET')
  refuse('POST')
})

// Who may call a route of store with the scope store:share.
const SHARING = key('store:share')
const scoped: [caller: Caller, access: Access, method: string, expected: string][] = [
  [SHARING, 'user', 'POST', OK],
  [SHARING, 'admin', 'GET', OK],
  [key('store:read', 'store:share'), 'admin', 'POST', OK],
  [callers['key *'], 'admin', 'POST', OK],
  [callers['key store'], 'admin', 'POST', OK],
  [callers['key store:read'], 'admin', 'GET', OK],
  [callers['key store:read'], 'admin', 'POST', NO],
  [key('store:shared'), 'admin', 'POST', NO],
  [key('messaging:share'), 'admin', 'POST', NO],
  [callers.user, 'admin', 'POST', NO],
  [callers.admin, 'admin', 'POST', OK],
]
for (const [caller, access, method, expected] of scoped)
  test(`${method} of a route for ${access} with a scope: ${expected} for ${caller.kind === 'key' ? caller.scopes.join() : caller.role}`, () => {
    const route = { access, wire: 'store', method, scope: 'store:share' }
    assert.equal(
      outcome(() =>
        createPolicy({ policy: 'guarded', production: false }, { requireVerifiedEmail: () => true }).admit(
          caller,
          route,
        ),
      ),
      expected,
    )
  })

test('who has to prove the address or to add a factor first may manage the own account, and nobody else', () => {
  const admit = (caller: Partial<UserCaller>, access: Access) =>
    outcome(() =>
      createPolicy({ policy: 'guarded', production: true }, { requireVerifiedEmail: () => true }).admit(
        { ...user, role: 'admin', ...caller },
        { access, wire: 'auth', method: 'DELETE' },
      ),
    )
  assert.deepEqual([admit({}, 'session'), admit({}, 'operator')], [OK, OK])
  const unverified = { emailVerified: false }
  assert.deepEqual([admit(unverified, 'session'), admit(unverified, 'operator')], [OK, VERIFY])
  const late = { mustAddFactor: true }
  assert.deepEqual([admit(late, 'session'), admit(late, 'operator')], [OK, 'SECOND_FACTOR_MISSING'])
})

test('a key with the scope of one route may not call a route without it, and is told the scope', () => {
  const admit = (scope?: string) => () =>
    createPolicy({ policy: 'guarded', production: false }, { requireVerifiedEmail: () => true }).admit(
      key('store:share', 'store:list'),
      {
        access: 'user',
        wire: 'store',
        method: 'POST',
        scope,
      },
    )
  assert.equal(outcome(admit()), NO)
  assert.throws(admit('store:remove'), { message: 'This service key lacks the scope "store:remove".' })
})

// A route that is irreversible, with the scope store:share.
for (const [policy, production, expected] of [
  ['open', false, { nobody: SIGN_IN, user: OK, admin: OK, 'key *': OK, 'key store:read': NO }],
  ['open', true, { nobody: SIGN_IN, user: NO, admin: OK, 'key *': OK, 'key store:read': NO }],
  ['guarded', true, { nobody: SIGN_IN, user: NO, admin: OK, 'key *': OK, 'key store:read': NO }],
] as const)
  test(`what is irreversible is for ${expected.user === OK ? 'users' : 'administrators'} under ${policy}${production ? ' in production' : ''}`, () => {
    const route = { access: 'admin', wire: 'store', method: 'POST' } as const
    const admit = (caller: Caller | undefined, irreversible: boolean) =>
      outcome(() =>
        createPolicy({ policy, production }, { requireVerifiedEmail: () => false }).admit(caller, {
          ...route,
          irreversible,
        }),
      )
    const seen = Object.keys(expected).map((name) => [name, admit(callers[name as CallerName], true)])
    assert.deepEqual(Object.fromEntries(seen), expected)
    assert.equal(admit(callers.user, false), policy === 'open' ? OK : NO)
  })

// Whose records the policy admits: everybody's, those of the caller, or an error.
const ALL = 'all'
const OWN = 'u1'
const rowFilters: [
  policy: PolicyName,
  audience: Audience | undefined,
  expected: Partial<Record<CallerName, string>>,
][] = [
  ['open', undefined, { nobody: SIGN_IN, user: ALL, admin: ALL, 'key store': ALL }],
  ['guarded', undefined, { nobody: SIGN_IN, user: OWN, admin: ALL, 'key store': ALL }],
  ['open', 'public', { nobody: ALL, user: ALL, admin: ALL, 'key store': ALL }],
  ['guarded', 'public', { nobody: ALL, user: ALL, admin: ALL, 'key store': ALL }],
  ['open', 'user', { nobody: SIGN_IN, user: ALL, admin: ALL, 'key store': ALL }],
  ['guarded', 'user', { nobody: SIGN_IN, user: ALL, admin: ALL, 'key store': ALL }],
  ['open', 'owner', { nobody: SIGN_IN, user: OWN, admin: ALL, 'key store': ALL }],
  ['guarded', 'owner', { nobody: SIGN_IN, user: OWN, admin: ALL, 'key store': ALL }],
  ['open', 'admin', { nobody: SIGN_IN, user: NO, admin: ALL, 'key store': ALL }],
  ['guarded', 'admin', { nobody: SIGN_IN, user: NO, admin: ALL, 'key store': ALL }],
]

for (const [policy, audience, expected] of rowFilters)
  test(`under ${policy} an action for ${audience ?? 'whom nothing declares'} reaches what it should`, () => {
    const seen = Object.keys(expected).map((name) => {
      let reached = ''
      const failed = outcome(() => {
        const rowFilter = createPolicy(
          { policy, production: false },
          { requireVerifiedEmail: () => false },
        ).rowFilter(callers[name as CallerName], audience)
        reached = rowFilter.rows === 'all' ? ALL : rowFilter.owner
      })
      return [name, failed === OK ? reached : failed]
    })
    assert.deepEqual(Object.fromEntries(seen), expected)
  })

test('a viewer changes nothing, in wires of the application too, but its own account', () => {
  const policy = createPolicy({ policy: 'open', production: false }, { requireVerifiedEmail: () => false })
  const viewer: UserCaller = { ...user, role: 'viewer', isReadOnly: true }
  const of = (access: Access, wire: string, method: string) =>
    outcome(() => policy.admit(viewer, { access, wire, method }))
  assert.deepEqual(
    [of('session', 'auth', 'PATCH'), of('session', 'shop', 'GET'), of('session', 'shop', 'POST')],
    [OK, OK, NO],
  )
  assert.deepEqual([of('optional', 'store', 'PUT'), of('user', 'store', 'POST')], [NO, NO])
})
