// Each route × each kind of caller × both policies: who is let in, and who is refused.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { sql } from '../db/sql.ts'
import type { Access } from '../http/access.ts'
import type { Route } from '../http/route.ts'
import { appForAll, login } from '../testing/auth.ts'
import { anyEngine } from '../testing/engines.ts'
import { ROUTES } from './permissions.fixture.ts'

const CALLERS = [
  'nobody',
  'user',
  'viewer',
  'admin',
  'key of the wire',
  'key that reads',
  'key of another wire',
  'admin who looks at a user',
] as const
type CallerName = (typeof CALLERS)[number]

const reads = 'reads'

/**
 * Who is let in to routes of an access. `in`: whatever the handler then finds; `reads`: if the route changes nothing; `handler`:
 * the handler decides.
 */
type Rule = 'in' | 401 | 403 | typeof reads | 'handler' | { open: Rule; guarded: Rule }
const KEYS = { 'key of the wire': 'in', 'key that reads': reads, 'key of another wire': 403 } as const

const RULES: Readonly<Record<Exclude<Access, 'public'>, Readonly<Record<CallerName, Rule>>>> = {
  optional: {
    nobody: 'handler',
    user: 'in',
    viewer: reads,
    admin: 'in',
    ...KEYS,
    'admin who looks at a user': reads,
  },
  session: {
    nobody: 401,
    user: 'in',
    viewer: 'in',
    admin: 'in',
    'key of the wire': 403,
    'key that reads': 403,
    'key of another wire': 403,
    'admin who looks at a user': reads,
  },
  user: {
    nobody: 401,
    user: 'in',
    viewer: reads,
    admin: 'in',
    ...KEYS,
    'admin who looks at a user': reads,
  },
  admin: {
    nobody: 401,
    user: { open: 'in', guarded: 403 },
    viewer: reads,
    admin: 'in',
    ...KEYS,
    'admin who looks at a user': { open: reads, guarded: 403 },
  },
  operator: {
    nobody: 401,
    user: 403,
    viewer: reads,
    admin: 'in',
    ...KEYS,
    'admin who looks at a user': 403,
  },
}

function expectedFor(rule: Rule, policy: 'open' | 'guarded', route: Route, caller: CallerName): Rule {
  if (typeof rule === 'object') return expectedFor(rule[policy], policy, route, caller)
  if (rule !== reads) return rule
  const { changesNothing = route.method === 'GET', sealed = false } = route.spec
  // What is sealed is not for viewers.
  return changesNothing && (!sealed || caller === 'key that reads') ? 'in' : 403
}

/** What would end the session of the caller is called last. */
const LAST = ['POST /auth/logout']

anyEngine((engine) => {
  for (const policy of ['open', 'guarded'] as const)
    describe(`under the policy ${policy}`, () => {
      const app = appForAll(engine, {
        environment: { SIXWIRE_POLICY: policy, SIXWIRE_ADMINS: 'admin@example.com' },
      })
      const tokens = new Map<string, string | undefined>()

      before(async () => {
        const { users, keys } = app().app.service('auth')
        const admin = await app().register('admin@example.com')
        await users.verify(admin.email)
        const [user, viewer, seen] = [await app().register(), await app().register(), await app().register()]
        await users.makeViewer(viewer.email)
        const body = { reason: 'the test of permissions' }
        const path = `/auth/users/${seen._id}/impersonate`
        const adminToken = (await login(app(), admin.email, admin.password)).body.token
        // A second administrator: the first one ends its other sessions, and those in which it acts as a user.
        const boss = await app().register()
        await users.verify(boss.email)
        await users.promote(boss.email)
        const impersonated = await app().request('POST', path, { token: boss.token, body })
        assert.equal(impersonated.status, 201, impersonated.text)
        tokens.set('user', user.token)
        tokens.set('viewer', viewer.token)
        tokens.set('admin', adminToken)
        tokens.set('admin who looks at a user', impersonated.body.token)
        for (const wire of app().app.wires) {
          tokens.set(`key of the wire ${wire}`, (await keys.create('of', [wire])).key)
          tokens.set(`key that reads ${wire}`, (await keys.create('reads', [`${wire}:read`])).key)
        }
        const other = await keys.create('other', ['core'])
        // As if it were made while another wire was loaded.
        await app().app.db.write(sql`update auth_service_keys set scopes = 'nothing' where id = ${other.id}`)
        tokens.set('key of another wire', other.key)
      })

      test('every route is named with its access', () => {
        for (const [access, named] of Object.entries(ROUTES))
          assert.deepEqual(
            routesOf()
              .filter(({ route }) => route.spec.access === access)
              .map(({ route }) => route.key)
              .toSorted(),
            named.toSorted(),
            access,
          )
      })

      const routesOf = (): { wire: string; route: Route }[] =>
        app()
          .app.routes.flatMap(({ wire, routes }) => routes.map((route) => ({ wire, route })))
          .toSorted((a, b) => LAST.indexOf(a.route.key) - LAST.indexOf(b.route.key))

      for (const caller of CALLERS)
        test(`${caller}: is let in where it may be, and nowhere else`, async () => {
          const wrong: string[] = []
          for (const { wire, route } of routesOf()) {
            const { access } = route.spec
            if (access === 'public') continue
            const expected = expectedFor(RULES[access][caller], policy, route, caller)
            if (expected === 'handler') continue
            const token = tokens.get(caller) ?? tokens.get(`${caller} ${wire}`)
            const found = await admission(route, token)
            if (found !== expected)
              wrong.push(`${route.key}: ${found} in place of ${JSON.stringify(expected)}`)
          }
          assert.deepEqual(wrong, [])
        })

      /** Calls a route in a way that changes nothing: with ids that nothing has, and a body that cannot be read. */
      async function admission(route: Route, token: string | undefined): Promise<'in' | 401 | 403> {
        const method = route.spec.stream ? 'HEAD' : route.method
        const path = route.path.replaceAll(/:\w+/g, 'zzz')
        const raw = route.spec.body && method !== 'HEAD' ? { raw: '{' } : {}
        const { status, body } = await app().request(method, path, { token, ...raw })
        if (status === 401) return 401
        const isRefused = status === 403 && (method === 'HEAD' || body.error.code === 'FORBIDDEN')
        return isRefused ? 403 : 'in'
      }
    })
})
