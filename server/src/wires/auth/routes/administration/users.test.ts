// The routes by which administrators list, create, change and delete accounts.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { sql } from '../../../../db/sql.ts'
import { as, auditOf, codeOf, registerAs } from '../../../../testing/administration.ts'
import { addFactor, appForAll, login, me, PASSWORD, send, times } from '../../../../testing/auth.ts'
import { eachEngine, someEngine, testOnOne } from '../../../../testing/engines.ts'
import { appWithMailbox, nextAbout, nextToken, tokenOf } from '../../../../testing/mailbox.ts'

type Listed = { _id: string; email: string; role: string; locked: boolean; lastSignInAt?: string }
type Page = { users: Listed[]; total?: number; nextCursor?: string }

/** Accounts that are newer than all others. */
const haySql = (count: number) => sql`
  insert into auth_users (id, email, email_key, metadata, role, credentials_version, created_at, updated_at)
  select 'zzzz' || n.value, 'hay' || n.value, 'hay' || n.value, '{}', 'user', 1, 9000000000000, 1
  from ${sql.either({
    sqlite: sql`json_each(${JSON.stringify(times(count, (n) => String(10_000 + n)))}) n`,
    postgres: sql`json_array_elements_text(${JSON.stringify(times(count, (n) => String(10_000 + n)))}::json) n`,
  })}`

describe('the list of users', () => {
  eachEngine((engine) => {
    const app = appForAll(engine)
    const list = async (query: string) => {
      const { status, body, text } = await as(app(), await admin(), `GET /auth/users?${query}`)
      assert.equal(status, 200, text)
      return body as Page
    }
    let lister: Promise<{ _id: string; email: string; token: string }> | undefined
    const admin = () => (lister ??= registerAs(app(), 'admin'))
    const emails = async (query: string) => (await list(query)).users.map(({ email }) => email)

    test('finds a part of the address or the name, whatever its case and accents', async () => {
      const { users } = app().app.service('auth')
      const people = [
        ['ada.lovelace@example.com', 'Ada King'],
        ['g%_hopper@example.com', 'Grace Höpper'],
        ['lin@example.org', '李小龙'],
      ] as const
      for (const [email, name] of people) await users.create({ email, name, password: PASSWORD })
      const emailsByQuery: Record<string, string[]> = {
        LOVE: ['ada.lovelace@example.com'],
        'ada k': ['ada.lovelace@example.com'],
        'hopper@': ['g%_hopper@example.com'],
        HÖPPER: ['g%_hopper@example.com'],
        'grace hop': ['g%_hopper@example.com'],
        '%_': ['g%_hopper@example.com'],
        '%': ['g%_hopper@example.com'],
        小龙: ['lin@example.org'],
        李小龙: ['lin@example.org'],
        '"lin"': [],
        'lovelace ada': [],
      }
      for (const [q, expected] of Object.entries(emailsByQuery))
        assert.deepEqual(await emails(`q=${encodeURIComponent(q)}`), expected, q)
    })

    test('finds by the index what is beyond the newest accounts, and follows every change', async () => {
      const { _id, email } = await app().register('needle-in-the-hay@example.com')
      // More than are looked at without the index.
      await app().app.db.write(haySql(2_100))
      assert.deepEqual(await emails('q=needle-in'), [email])
      assert.equal((await list('q=needle&total=none')).total, undefined)
      await app().app.service('auth').users.update({ id: _id }, { name: 'Zoë Quux' })
      assert.deepEqual(await emails('q=zoe%20qu'), [email])
      await app().app.service('auth').users.update({ id: _id }, { name: null })
      assert.deepEqual(await emails('q=zoe%20qu'), [])
      await app().app.service('auth').users.delete({ id: _id })
      assert.deepEqual(await emails('q=needle-in'), [])
      await app().app.db.write(sql`delete from auth_users where email_key like 'hay%'`)
    })

    test('has pages by a cursor, newest first, with a total unless told otherwise', async () => {
      const newestFirst = []
      for (let i = 0; i < 5; i++) newestFirst.unshift((await app().register(`paged${i}@example.com`)).email)
      const first = await list('q=paged&limit=2')
      assert.equal(first.total, 5)
      const second = await list(`q=paged&limit=2&cursor=${first.nextCursor}`)
      const third = await list(`q=paged&limit=2&cursor=${second.nextCursor}&total=none`)
      assert.deepEqual(
        [first, second, third].flatMap(({ users }) => users.map(({ email }) => email)),
        newestFirst,
      )
      assert.deepEqual([third.total, third.nextCursor], [undefined, undefined])
    })

    test('is filtered by the time of creation, and by when users were active', async () => {
      const hour = 3_600_000
      const begin = Math.floor(Date.UTC(2001, 0, 1) / hour) * hour
      const created = await Promise.all(
        times(4, (n) =>
          app()
            .app.service('auth')
            .users.create({ email: `old${n}@example.com`, password: PASSWORD }),
        ),
      )
      await app().app.db.batch(
        created.flatMap(({ id }, n) => [
          sql`update auth_users set created_at = ${begin + n * hour} where id = ${id}`,
          sql`insert into auth_active_hours (user_id, hour) values (${id}, ${begin / hour + 2 * n})`,
        ]),
      )
      const at = (hours: number) => new Date(begin + hours * hour).toISOString()
      const expected: Record<string, number[]> = {
        [`until=${at(2)}`]: [1, 0],
        [`since=${at(1)}&until=${at(3)}`]: [2, 1],
        [`since=${at(1)}&until=${at(3)}&q=old2`]: [2],
        ['until=2001-01-01']: [3, 2, 1, 0],
        [`activeUntil=${at(3)}`]: [1, 0],
        [`activeSince=${at(2)}&activeUntil=${at(5)}`]: [2, 1],
      }
      for (const [query, numbers] of Object.entries(expected)) {
        const { users, total } = await list(query)
        assert.deepEqual(
          users.map(({ email }) => email),
          numbers.map((n) => `old${n}@example.com`),
          query,
        )
        assert.equal(total, numbers.length, query)
      }
    })

    test('is filtered by role and state', async () => {
      const viewer = await registerAs(app(), 'viewer')
      const other = await registerAs(app(), 'admin')
      const disabled = await app().register()
      const locked = await app().register()
      const { users } = app().app.service('auth')
      await users.disable(disabled.email)
      await users.verify(other.email)
      for (let i = 0; i < 5; i++) await login(app(), locked.email, 'a wrong password')
      assert.deepEqual(await emails('role=viewer'), [viewer.email])
      const admins = await emails('role=admin')
      assert.ok(admins.includes(other.email) && !admins.includes(viewer.email))
      assert.ok(
        !(await emails('role=user&limit=1000')).some((one) => [viewer.email, other.email].includes(one)),
      )
      assert.deepEqual(await emails('state=disabled'), [disabled.email])
      const [one] = (await list('state=locked')).users
      assert.deepEqual([one!.email, one!.locked, one!.lastSignInAt !== undefined], [locked.email, true, true])
      const active = await emails('state=active&limit=1000')
      assert.ok(active.includes(other.email) && !active.includes(viewer.email))
      const unverified = await emails('state=unverified&limit=1000')
      assert.ok(unverified.includes(viewer.email) && !unverified.includes(disabled.email))
      assert.equal(codeOf(await as(app(), await admin(), 'GET /auth/users?state=asleep')), 'VALIDATION_ERROR')
    })
  })
})

describe('administration of a user', () => {
  eachEngine((engine) => {
    const testOnce = testOnOne(engine)
    const started = appWithMailbox(engine)
    const app = () => started().app
    const admin = () => registerAs(app(), 'admin')

    testOnce('shows the account with what it signs in with, and nothing that opens it', async () => {
      const by = await admin()
      const { _id, email } = await app().register()
      await addFactor(app(), _id)
      const { status, body, text } = await as(app(), by, `GET /auth/users/${_id}`)
      assert.equal(status, 200, text)
      const { createdAt, lastSignInAt, ...user } = (body as { user: Record<string, unknown> }).user
      assert.ok(createdAt && lastSignInAt)
      assert.deepEqual(user, {
        _id,
        email,
        role: 'user',
        emailVerified: false,
        disabled: false,
        locked: false,
        metadata: {},
        hasPassword: true,
        factors: { passkeys: 0, totp: true, recoveryCodes: 0 },
        identities: [],
        sessions: 1,
      })
      assert.equal((await as(app(), by, 'GET /auth/users/nobody')).status, 404)
    })

    testOnce('creates one by an invitation, which sets the password and verifies the address', async () => {
      const by = await admin()
      const email = 'invited@example.com'
      const created = await as(app(), by, 'POST /auth/users', { email, name: 'Ida' })
      assert.equal(created.status, 201, created.text)
      const { user } = created.body as {
        user: { _id: string; hasPassword: boolean; emailVerified: boolean }
      }
      assert.deepEqual([user.hasPassword, user.emailVerified], [false, false])
      const first = tokenOf(await nextAbout(started().mailbox, email, /^Your account/), 'reset')
      assert.equal((await as(app(), by, `POST /auth/users/${user._id}/invite`)).status, 202)
      const second = tokenOf(await nextAbout(started().mailbox, email, /^Your account/), 'reset')
      const reset = (token: string) =>
        send(app(), 'POST /auth/reset-password', { body: { token, password: PASSWORD } })
      assert.equal((await reset(first)).code, 'INVALID_TOKEN')
      app().clock.advance(6 * 86_400_000)
      assert.equal((await reset(second)).status, 200)
      const signedIn = await login(app(), email)
      assert.equal((await me(app(), signedIn.body.token)).body.user.emailVerified, true)
      assert.equal(codeOf(await as(app(), await admin(), `POST /auth/users/${user._id}/invite`)), 'CONFLICT')
      assert.deepEqual(
        (await auditOf(app(), await admin(), `user:${user._id}`))
          .filter(({ actor }) => actor.id === by._id)
          .map(({ action }) => action),
        ['user.created', 'user.invited'],
      )
    })

    testOnce('creates one with a password, once for an Idempotency-Key', async () => {
      const by = await admin()
      const body = { email: 'made@example.com', password: PASSWORD, role: 'viewer' }
      const create = () =>
        app().request('POST', '/auth/users', {
          token: by.token,
          body,
          headers: { 'idempotency-key': 'make-one-user' },
        })
      const [one, again] = [await create(), await create()]
      assert.deepEqual([one.status, again.text], [201, one.text])
      assert.equal((await login(app(), body.email)).status, 200)
      assert.equal(codeOf(await as(app(), by, 'POST /auth/users', body)), 'EMAIL_TAKEN')
    })

    testOnce('changes name, metadata, role and state, each with an entry of what it was', async () => {
      const by = await admin()
      const { _id, token } = await app().register()
      const patch = (body: object) => as(app(), by, `PATCH /auth/users/${_id}`, body)
      await patch({ name: 'Ada', metadata: { plan: 'pro', seats: 3 } })
      await patch({ metadata: { plan: null }, role: 'viewer' })
      assert.equal((await me(app(), token)).body.user.role, 'viewer')
      const { body } = await patch({ role: 'user', disabled: true })
      const { user } = body as { user: Record<string, unknown> }
      assert.deepEqual(
        [user['name'], user['metadata'], user['role'], user['disabled'], user['sessions']],
        ['Ada', { seats: 3 }, 'user', true, 0],
      )
      assert.equal((await me(app(), token)).status, 401)
      await patch({ disabled: false })
      await patch({ disabled: false }) // changes nothing
      const entries = await auditOf(app(), by, `user:${_id}`)
      assert.deepEqual(
        entries.map(({ action, before, after }) => [action, before, after]),
        [
          ['user.profile-changed', { name: null }, { name: 'Ada' }],
          ['user.profile-changed', undefined, { metadata: ['plan', 'seats'] }],
          ['user.profile-changed', undefined, { metadata: ['plan'] }],
          ['user.role-changed', { role: 'user' }, { role: 'viewer' }],
          ['user.role-changed', { role: 'viewer' }, { role: 'user' }],
          ['user.disabled', { disabled: false }, { disabled: true }],
          ['user.enabled', { disabled: true }, { disabled: false }],
        ],
      )
      assert.ok(entries.every(({ actor }) => actor.id === by._id))
    })

    testOnce('unlocks, verifies, and sends a link to reset the password', async () => {
      const by = await admin()
      const { _id, email } = await app().register()
      for (let i = 0; i < 5; i++) await login(app(), email, 'a wrong password')
      assert.equal((await login(app(), email)).code, 'ACCOUNT_LOCKED')
      assert.equal((await as(app(), by, `POST /auth/users/${_id}/unlock`)).status, 200)
      assert.equal((await login(app(), email)).status, 200)
      assert.equal((await as(app(), by, `POST /auth/users/${_id}/verify`)).status, 200)
      assert.equal((await as(app(), by, `POST /auth/users/${_id}/reset`)).status, 202)
      const token = await nextToken(started().mailbox, email, 'reset')
      const body = { token, password: 'another passphrase' }
      assert.equal((await send(app(), 'POST /auth/reset-password', { body })).status, 200)
      assert.deepEqual(
        (await auditOf(app(), by, `user:${_id}`))
          .filter(({ actor }) => actor.id === by._id)
          .map(({ action }) => action),
        ['user.unlocked', 'user.verified', 'user.reset-sent'],
      )
    })

    test('lists the sessions of a user, and ends one or all of them', async () => {
      const by = await admin()
      const { _id, email, token } = await app().register()
      const second = (await login(app(), email)).body.token
      const { body } = await as(app(), by, `GET /auth/users/${_id}/sessions`)
      const [newest] = (body as { sessions: { _id: string; current: boolean }[] }).sessions
      assert.equal(newest!.current, false)
      const path = `/auth/users/${_id}/sessions`
      assert.equal((await as(app(), by, `DELETE ${path}/${newest!._id}`)).status, 200)
      assert.equal((await as(app(), by, `DELETE ${path}/${newest!._id}`)).status, 404)
      assert.deepEqual([(await me(app(), second)).status, (await me(app(), token)).status], [401, 200])
      assert.equal((await as(app(), by, `DELETE ${path}`)).status, 200)
      assert.equal((await me(app(), token)).status, 401)
    })

    test('deletes an account with its sessions, and not the own one', async () => {
      const by = await admin()
      const { _id, email, token } = await app().register()
      assert.equal((await as(app(), by, `DELETE /auth/users/${_id}`)).status, 200)
      assert.equal((await me(app(), token)).status, 401)
      assert.equal((await login(app(), email)).status, 401)
      assert.equal((await as(app(), by, `DELETE /auth/users/${_id}`)).status, 404)
      assert.equal(codeOf(await as(app(), by, `DELETE /auth/users/${by._id}`)), 'CONFLICT')
      assert.equal(codeOf(await as(app(), by, `PATCH /auth/users/${by._id}`, { disabled: true })), 'CONFLICT')
      const entries = await auditOf(app(), by, `user:${_id}`)
      // Without the address, which is erased with the account.
      assert.deepEqual([entries.at(-1)!.action, entries.at(-1)!.before], ['user.deleted', undefined])
    })

    testOnce('asks for a proof where it is dangerous, and leaves roles to administrators', async () => {
      const by = await admin()
      const { _id } = await app().register()
      const key = await app().app.service('auth').keys.create('support', ['auth'])
      const service = { token: key.key }
      assert.equal((await as(app(), service, `PATCH /auth/users/${_id}`, { name: 'Ada' })).status, 200)
      for (const [route, body] of [
        [`PATCH /auth/users/${_id}`, { role: 'admin' }],
        ['POST /auth/users', { email: 'new@example.com', password: PASSWORD, role: 'admin' }],
        ['POST /auth/keys', { name: 'more', scopes: ['*'] }],
        [`POST /auth/users/${_id}/impersonate`, { reason: 'to look' }],
      ] as const)
        assert.equal(codeOf(await as(app(), service, route, body)), 'FORBIDDEN', route)
      app().clock.advance(600_000)
      for (const [route, body] of [
        [`PATCH /auth/users/${_id}`, { role: 'viewer' }],
        ['POST /auth/users', { email: 'new@example.com', password: PASSWORD, role: 'viewer' }],
        [`DELETE /auth/users/${_id}`, undefined],
        ['POST /auth/keys', { name: 'backend', scopes: ['store'] }],
        [`DELETE /auth/keys/${key.id}`, undefined],
        [`POST /auth/users/${_id}/impersonate`, { reason: 'to look' }],
      ] as const)
        assert.equal(codeOf(await as(app(), by, route, body)), 'RECENT_SIGN_IN_REQUIRED', route)
      assert.equal((await as(app(), by, `PATCH /auth/users/${_id}`, { disabled: true })).status, 200)
    })
  })
})

describe('the last administrator', () => {
  eachEngine((engine) => {
    const app = appForAll(engine)

    test('keeps the role, also if two take it from each other at the same moment', async () => {
      const pair = [await registerAs(app(), 'admin'), await registerAs(app(), 'admin')] as const
      const { users } = app().app.service('auth')
      for (let round = 0; round < 5; round++) {
        const [one, two] = pair
        const answers = await Promise.all([
          as(app(), one, `PATCH /auth/users/${two._id}`, { role: 'user' }),
          as(app(), two, `PATCH /auth/users/${one._id}`, { role: 'viewer' }),
        ])
        const statuses = answers.map(({ status }) => status)
        const administrators = (await users.list({ role: 'admin' })).accounts
        assert.equal(administrators.length, 1, statuses.join())
        assert.ok(statuses.includes(200))
        for (const { _id } of pair) await users.promote({ id: _id })
      }
    })

    test('is not deleted, disabled or demoted', async () => {
      const { users } = app().app.service('auth')
      const other = await registerAs(app(), 'admin')
      for (const { id } of (await users.list({ role: 'admin' })).accounts)
        if (id !== other._id) await users.demote({ id })
      const { key } = await app().app.service('auth').keys.create('operator', ['auth'])
      const answers = [
        await as(app(), { token: key }, `DELETE /auth/users/${other._id}`),
        await as(app(), { token: key }, `PATCH /auth/users/${other._id}`, { disabled: true }),
        await as(app(), other, `PATCH /auth/users/${other._id}`, { role: 'user' }),
      ]
      assert.deepEqual(answers.map(codeOf), ['CONFLICT', 'CONFLICT', 'CONFLICT'])
      await assert.rejects(users.demote(other.email), { code: 'CONFLICT', message: /last administrator/ })
      assert.equal((await me(app(), other.token)).body.user.role, 'admin')
      // At the command line it can be disabled: it may be in the wrong hands.
      assert.equal((await users.disable(other.email)).disabled, true)
    })
  })
})

describe('who may administrate users', () => {
  someEngine((engine) => {
    const app = appForAll(engine)

    test('is an administrator, a key of the wire, and for reading a viewer, with both policies', async () => {
      const admin = await registerAs(app(), 'admin')
      const viewer = await registerAs(app(), 'viewer')
      const user = await app().register()
      const { keys } = app().app.service('auth')
      const own = { token: (await keys.create('own', ['auth'])).key }
      const reads = { token: (await keys.create('reads', ['auth:read'])).key }
      const other = { token: (await keys.create('other', ['store'])).key }
      const id = (await app().register())._id
      const routes = [
        'GET /auth/users',
        `GET /auth/users/${id}`,
        `GET /auth/users/${id}/sessions`,
        'GET /auth/keys',
        `PATCH /auth/users/${id}`,
        `POST /auth/users/${id}/unlock`,
        `DELETE /auth/users/${id}/sessions`,
      ]
      const statuses = []
      for (const who of [user, viewer, admin, own, reads, other])
        statuses.push(
          await Promise.all(
            routes.map(
              async (route) =>
                (await as(app(), who, route, route.startsWith('PATCH') ? {} : undefined)).status,
            ),
          ),
        )
      const [none, reading, all] = [
        times(7, () => 403),
        [200, 200, 200, 200, 403, 403, 403],
        times(7, () => 200),
      ]
      assert.deepEqual(statuses, [none, reading, all, all, reading, none])
      for (const route of routes) {
        const [method = '', path = ''] = route.split(' ')
        assert.equal(
          (await app().request(method, path, { body: method === 'PATCH' ? {} : undefined })).status,
          401,
        )
      }
    })
  })
})
