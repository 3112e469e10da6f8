import assert from 'node:assert/strict'
import { before, test } from 'node:test'

import { leastIdOf } from '../../../../base/ids.ts'
import { sql } from '../../../../db/sql.ts'
import { appForAll, login, PASSWORD, times } from '../../../../testing/auth.ts'
import { eachEngine, testOnOne } from '../../../../testing/engines.ts'
import { until } from '../../../../testing/until.ts'

const DAY = 86_400_000

type Entry = {
  _id: string
  action: string
  target?: string
  targetName?: string
  outcome: string
  actor: { kind: string; id?: string; name?: string; role?: string }
  route?: string
  ip?: string
  requestId?: string
  sessionId?: string
  before?: Record<string, unknown>
  after?: Record<string, unknown>
}

eachEngine((engine) => {
  const testOnce = testOnOne(engine)
  const app = appForAll(engine, { config: { auditDays: 30 } })
  const admin = { email: 'ada@example.com', token: '' }

  before(async () => {
    await app().register(admin.email)
    // Unlike a session it does not end as the days go by.
    admin.token = (await app().app.service('auth').keys.create('reader', ['*'])).key
  })

  async function entriesOf(query: Record<string, string>): Promise<Entry[]> {
    const path = `/auth/audit?${new URLSearchParams({ limit: '100', ...query }).toString()}`
    const { status, body, text } = await app().request('GET', path, { token: admin.token })
    assert.equal(status, 200, text)
    return body.entries
  }
  const actionsOf = async (query: Record<string, string>): Promise<string[]> =>
    (await entriesOf(query)).map(({ action }) => action)

  testOnce('a sign-in leaves one entry, with the method, the session and where it came from', async () => {
    const { _id, email } = await app().register()
    const headers = { 'x-request-id': 'of-the-sign-in' }
    const body = { email, password: PASSWORD }
    assert.equal((await app().request('POST', '/auth/login', { body, headers })).status, 200)
    const [signIn, registration, ...others] = await entriesOf({ target: `user:${_id}` })
    assert.deepEqual(others, [])
    assert.equal(registration!.after!['method'], 'registration')
    const { sessionId, actor, _id: id, ...rest } = signIn as Entry & Record<string, unknown>
    assert.deepEqual(actor, { kind: 'user', id: _id, name: email, role: 'user' })
    assert.ok(id > registration!._id)
    const stored = await app().app.db.all<{ id: string }>(sql`
      select id from auth_sessions where user_id = ${_id} and id = ${sessionId ?? ''}`)
    assert.equal(stored.length, 1)
    delete rest['createdAt']
    delete rest['userAgent']
    assert.deepEqual(rest, {
      action: 'session.created',
      outcome: 'done',
      target: `user:${_id}`,
      targetName: email,
      ip: '127.0.0.1',
      requestId: 'of-the-sign-in',
      route: 'POST /auth/login',
      after: { method: 'password' },
    })
  })

  testOnce('refused sign-ins leave one entry, when they lock the address', async () => {
    const { _id, email } = await app().register()
    for (let i = 0; i < 7; i++) await login(app(), email, 'a wrong password')
    assert.deepEqual(await actionsOf({ target: `user:${_id}` }), ['user.locked', 'session.created'])
    for (let i = 0; i < 7; i++) await login(app(), `nobody-${_id}@example.com`, 'a wrong password')
    const [locked] = await entriesOf({ action: 'user.locked', actor: 'stranger' })
    assert.equal(locked!.target, undefined)
  })

  testOnce('what the command line does is told apart, with what was before and after', async () => {
    const { _id, email } = await app().register()
    await app().app.service('auth').users.promote(email)
    const [entry] = await entriesOf({ actor: 'command', target: `user:${_id}` })
    assert.equal(entry!.action, 'user.role-changed')
    assert.deepEqual([entry!.before, entry!.after], [{ role: 'user' }, { role: 'admin' }])
  })

  test('a change that fails leaves no entry', async () => {
    const { users, keys } = app().app.service('auth')
    const since = new Date(app().clock.now()).toISOString()
    const count = async () => (await entriesOf({ since })).length
    const earlier = await count()
    await assert.rejects(users.create({ email: admin.email, password: PASSWORD }), { code: 'EMAIL_TAKEN' })
    await assert.rejects(keys.revoke('nothing'), { code: 'NOT_FOUND' })
    const dropped = await app().request('DELETE', '/store/books?documents=7', { token: admin.token })
    assert.equal(dropped.status, 409)
    assert.equal(await count(), earlier)
  })

  test('entries are found by action, noun, actor, target and time, page by page without a total', async () => {
    const { keys } = app().app.service('auth')
    const at = app().clock.now() + DAY
    app().clock.advance(DAY)
    const newKeys = await Promise.all(times(5, (n) => keys.create(`key ${n}`, ['store'])))
    await keys.revoke(newKeys[0]!.id)
    const since = new Date(at).toISOString()
    assert.deepEqual(await actionsOf({ since, action: 'key.*' }), [
      'key.revoked',
      ...times(5, () => 'key.created'),
    ])
    assert.deepEqual(await actionsOf({ since, action: 'key.revoked' }), ['key.revoked'])
    assert.deepEqual(await actionsOf({ action: 'key.*', until: since }), ['key.created']) // the reader’s own
    const [revoked] = await entriesOf({ target: `key:${newKeys[0]!.id}` })
    assert.deepEqual([revoked!.targetName, revoked!.before], ['key 0', { name: 'key 0', scopes: ['store'] }])

    const targets: string[] = []
    let cursor = ''
    do {
      const query = new URLSearchParams({ action: 'key.created', since, limit: '2', total: 'none' })
      if (cursor !== '') query.set('cursor', cursor)
      const { body } = await app().request('GET', `/auth/audit?${query.toString()}`, { token: admin.token })
      assert.equal(body.total, undefined)
      targets.push(...body.entries.map((entry: Entry) => entry.target))
      cursor = body.nextCursor ?? ''
    } while (cursor !== '')
    assert.deepEqual(targets.toSorted(), newKeys.map(({ id }) => `key:${id}`).toSorted())
    const counted = await app().request('GET', `/auth/audit?action=key.created&since=${since}`, {
      token: admin.token,
    })
    assert.equal(counted.body.total, 5)
    for (const query of ['since=yesterday', 'cursor=x', 'acton=key.*'])
      assert.equal(
        (await app().request('GET', `/auth/audit?${query}`, { token: admin.token })).status,
        400,
        query,
      )
  })

  testOnce('who tries what only operators may do is in it, a few times a minute', async () => {
    const { _id, token } = await app().register()
    for (let i = 0; i < 9; i++)
      assert.equal((await app().request('DELETE', '/core/jobs/a?b=c', { token })).status, 403)
    const denied = await entriesOf({ actor: _id, action: 'access.denied' })
    assert.equal(denied.length, 5)
    assert.deepEqual(
      [denied[0]!.outcome, denied[0]!.route, denied[0]!.after],
      ['denied', 'DELETE /core/jobs/:id', { path: '/core/jobs/a' }],
    )
    assert.equal((await app().request('GET', '/auth/audit')).status, 401)
    assert.equal((await app().request('GET', '/auth/audit', { token })).status, 403)
    app().clock.advance(60_000)
    assert.equal((await app().request('GET', '/auth/audit', { token })).status, 403)
    assert.equal((await entriesOf({ actor: _id, action: 'access.denied' })).length, 6)
  })

  test('no statement changes or deletes an entry', async () => {
    const { db } = app().app
    const count = async () =>
      (await db.get<{ total: number }>(sql`select count(*) as total from sixwire_audit`))!.total
    const earlier = await count()
    for (const statement of [
      sql`update sixwire_audit set action = 'nothing'`,
      sql`update sixwire_audit set reason = reason`,
      sql`delete from sixwire_audit`,
      ...(engine.name === 'postgres' ? [sql`truncate sixwire_audit`] : []),
    ])
      await assert.rejects(db.write(statement), { name: 'ConstraintError', message: /audit log/ })
    // While personal texts are taken out of entries of a deleted account, nothing else changes.
    for (const change of ["action = 'nothing'", "ip = '192.0.2.1'", "ip = null, target = 'none'"])
      await assert.rejects(
        db.batch([
          sql`update sixwire_audit_retention set is_clearing = 1`,
          sql.literal(`update sixwire_audit set ${change}`),
          sql`update sixwire_audit_retention set is_clearing = 0`,
        ]),
        { name: 'ConstraintError', message: /audit log/ },
      )
    assert.equal(await count(), earlier)
  })

  test('entries are deleted in the background once they are as old as configured, and no others', async () => {
    const { db } = app().app
    const { clock } = app()
    const old = clock.now() - 30 * DAY
    const insert = (n: number, time: number) => sql`
      insert into sixwire_audit (id, created_at, action, outcome, actor_kind)
      values (${`${leastIdOf(time)}${String(n).padStart(16, '0')}`}, ${time}, 'test.old', 'done', 'system')`
    // More than a step deletes.
    await db.batch(times(1100, (n) => insert(n, old - 1)))
    await db.batch([insert(0, old + 2 * 3_600_000)])
    clock.advance(3_600_000)
    const remaining = () => entriesOf({ action: 'test.old', limit: '1000' })
    await until(async () => (await remaining()).length === 1)
    await assert.rejects(db.write(sql`delete from sixwire_audit where action = 'test.old'`), /audit log/)
  })
})
