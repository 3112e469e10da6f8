// How an administrator changes the address of an account, with `PATCH /auth/users/:id`.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { sql } from '../../../../db/sql.ts'
import { as, auditOf, codeOf, registerAs, type TestPerson } from '../../../../testing/administration.ts'
import { startApp, type TestApp } from '../../../../testing/app.ts'
import { addFactor, login, me, PASSWORD, send, statuses, times } from '../../../../testing/auth.ts'
import { eachEngine, someEngine, testOnOne } from '../../../../testing/engines.ts'
import {
  appWithMailbox,
  codeOf as codeIn,
  nextAbout,
  nextToken,
  quietQueue,
  startMailbox,
  withMail,
} from '../../../../testing/mailbox.ts'
import { startReceiver, webhookSecret } from '../../../../testing/webhook-receiver.ts'

const ADDRESS_CHANGED = /^The email address of your account .* was changed$/
const WRONG = { body: { password: 'another horse battery' } }

/** Changes the address of an account, with the token of the caller. */
const patchAs = (app: TestApp, by: { token: string }, id: string, body: object) =>
  as(app, by, `PATCH /auth/users/${id}`, body)

describe('the address of a user that an administrator changes', () => {
  eachEngine((engine) => {
    const testOnce = testOnOne(engine)
    const started = appWithMailbox(engine)
    const app = () => started().app
    const users = () => app().app.service('auth').users
    const mailbox = () => started().mailbox
    let people = 0
    const newAddress = () => `set${++people}@example.com`
    const register = (email: string) =>
      send(app(), 'POST /auth/register', { body: { email, password: PASSWORD } })
    const patch = async (id: string, body: object) => patchAs(app(), await admin(), id, body)
    const admin = () => registerAs(app(), 'admin')
    const mailsTo = (address: string) =>
      mailbox()
        .mails.filter(({ to }) => to.includes(address))
        .map(({ parsed }) => parsed.subject!)

    /** An account with a verified address, signed in. */
    async function someone() {
      const person = await app().register()
      const body = { token: await nextToken(mailbox(), person.email, 'verify') }
      assert.equal((await send(app(), 'POST /auth/verify-email', { body })).status, 200)
      return person
    }

    testOnce('becomes the unverified address to sign in with, and the old one is told', async () => {
      const by = await admin()
      const { _id, email: old, token } = await someone()
      const email = `Set.${newAddress()}`
      const { status, body, text } = await patchAs(app(), by, _id, { email: `\t${email} ` })
      assert.equal(status, 200, text)
      assert.deepEqual([body.user.email, body.user.emailVerified, body.user.sessions], [email, false, 1])
      assert.equal((await me(app(), token)).body.user.email, email)
      assert.equal((await login(app(), email.toLowerCase())).status, 200)
      assert.equal((await login(app(), old)).code, 'INVALID_CREDENTIALS')

      const { parsed } = await nextAbout(mailbox(), old, ADDRESS_CHANGED)
      assert.match(parsed.text!, /an administrator/)
      assert.doesNotMatch(parsed.text!, new RegExp(`${email}|token=`))
      const verification = { token: await nextToken(mailbox(), email, 'verify') }
      assert.equal((await send(app(), 'POST /auth/verify-email', { body: verification })).status, 200)
      assert.equal((await me(app(), token)).body.user.emailVerified, true)
      assert.equal((await register(old)).status, 201) // no longer the address of anybody

      const changes = (await auditOf(app(), by, `user:${_id}`)).filter(({ actor }) => actor.id === by._id)
      assert.deepEqual(
        changes.map(({ action, before, after }) => [action, before, after]),
        [['user.email-changed', { email: old, emailVerified: true }, { email, emailVerified: false }]],
      )
    })

    testOnce('is checked as at a registration, and is of one account only', async () => {
      const { _id, email: old } = await someone()
      for (const email of [
        'nobody',
        'a@localhost',
        'Ada <ada@example.com>',
        'ada@exämple.com',
        '',
        7,
        null,
      ]) {
        const { status, body } = await patch(_id, { email })
        assert.deepEqual(
          [status, body.error.code, body.error.details?.issues[0]?.path],
          [400, 'VALIDATION_ERROR', '/body/email'],
          String(email),
        )
      }
      const refusal = await patch(_id, { email: (await app().register()).email.toUpperCase(), name: 'Ada' })
      assert.deepEqual([refusal.status, codeOf(refusal)], [409, 'EMAIL_TAKEN'])
      const { name, email, emailVerified } = await users().details({ id: _id })
      assert.deepEqual([name, email, emailVerified], [null, old, true])
    })

    test('can not be one that its former owner can still take back', async () => {
      const { token, email: old, _id } = await someone()
      const email = newAddress()
      await send(app(), 'POST /auth/change-email', { token, body: { email } })
      const body = { token: await nextToken(mailbox(), email, 'change-email') }
      assert.equal((await send(app(), 'POST /auth/verify-email-change', { body })).status, 200)
      assert.equal(codeOf(await patch((await someone())._id, { email: old })), 'EMAIL_TAKEN')
      assert.equal((await patch(_id, { email: old })).status, 200)
    })

    testOnce('stays verified in another spelling, which voids and tells nothing', async () => {
      const by = await admin()
      const { _id, email: old } = await someone()
      await send(app(), 'POST /auth/forgot-password', { body: { email: old } })
      const reset = await nextToken(mailbox(), old, 'reset')
      const email = old.toUpperCase()
      const { body } = await patchAs(app(), by, _id, { email })
      assert.deepEqual([body.user.email, body.user.emailVerified], [email, true])
      assert.equal((await patchAs(app(), by, _id, { email })).status, 200) // changes nothing
      await quietQueue(app())
      assert.ok(![...mailsTo(old), ...mailsTo(email)].some((subject) => ADDRESS_CHANGED.test(subject)))
      const use = { body: { ...WRONG.body, token: reset } }
      assert.equal((await send(app(), 'POST /auth/reset-password', use)).status, 200)
      const entries = await auditOf(app(), by, `user:${_id}`, 'user.email-changed')
      assert.deepEqual(
        entries.map(({ before, after }) => [before, after]),
        [
          [
            { email: old, emailVerified: true },
            { email, emailVerified: true },
          ],
        ],
      )
    })

    test('voids what was sent to the old one, and a change that the user has asked for', async () => {
      const { _id, email: old, token } = await someone()
      await send(app(), 'POST /auth/forgot-password', { body: { email: old } })
      const reset = await nextToken(mailbox(), old, 'reset')
      await send(app(), 'POST /auth/magic-link', { body: { email: old } })
      const magic = await nextAbout(mailbox(), old, /sign in/i)
      const requestedAddress = newAddress()
      await send(app(), 'POST /auth/change-email', { token, body: { email: requestedAddress } })
      const change = await nextToken(mailbox(), requestedAddress, 'change-email')
      const email = newAddress()
      assert.equal((await patch(_id, { email })).status, 200)
      const magicToken = /magic-link#token=([\w-]+)/.exec(magic.parsed.text!)![1]!
      for (const [route, given] of [
        ['POST /auth/reset-password', reset],
        ['POST /auth/verify-magic-link', magicToken],
        ['POST /auth/verify-email-change', change],
      ] as const) {
        const refused = await send(app(), route, { body: { ...WRONG.body, token: given } })
        assert.equal(refused.code, 'INVALID_TOKEN', route)
      }
      for (const address of [old, email]) {
        const code = { email: address, code: codeIn(magic) }
        assert.equal((await send(app(), 'POST /auth/verify-code', { body: code })).code, 'INVALID_CODE')
      }
      assert.equal((await me(app(), token)).body.user.email, email)
    })

    test('keeps identities at providers, but none that had lost its access before', async () => {
      const { _id } = await someone()
      const identitySql = (subject: string, version: number | null) => sql`
        insert into auth_identities (id, issuer, subject, user_id, credentials_version, created_at)
        values (${`${_id} ${subject}`}, 'https://idp.example', ${`${_id} ${subject}`}, ${_id}, cast(${version} as bigint), 1)`
      await users().setPassword({ id: _id }, PASSWORD)
      await app().app.db.batch([identitySql('proven', null), identitySql('own', 2), identitySql('lost', 1)])
      assert.equal((await patch(_id, { email: newAddress() })).status, 200)
      const identities = await app().app.db.all(
        sql<{ subject: string; credentials_version: number | null }>`
          select subject, credentials_version from auth_identities where user_id = ${_id} order by subject`,
      )
      assert.deepEqual(
        identities.map((one) => [one.subject.split(' ')[1], one.credentials_version]),
        [
          ['own', 3],
          ['proven', null],
        ],
      )
    })

    testOnce('is not locked, whatever passwords were tried for it or for the old one', async () => {
      const { _id, email: old } = await someone()
      const email = newAddress()
      for (const address of [old, email])
        await Promise.all(times(5, () => login(app(), address, WRONG.body.password)))
      assert.equal((await login(app(), email)).code, 'ACCOUNT_LOCKED')
      const { body } = await patch(_id, { email })
      assert.equal(body.user.locked, false)
      const listed = await as(app(), await admin(), `GET /auth/users?q=${email}`)
      assert.equal(listed.body.users[0].locked, false)
      assert.equal((await login(app(), email)).status, 200)
    })

    test('goes to one of all who want it at the same moment', async () => {
      const by = await admin()
      for (let round = 0; round < 3; round++) {
        const email = newAddress()
        const accounts = await Promise.all(times(3, () => app().register()))
        const answers = await Promise.all([
          ...accounts.map(({ _id }) =>
            send(app(), `PATCH /auth/users/${_id}`, { token: by.token, body: { email } }),
          ),
          register(email),
        ])
        const { 200: changed = 0, 201: registered = 0, 409: refused } = statuses(answers)
        assert.deepEqual([changed + registered, refused], [1, 3])
      }
    })

    testOnce('is invited if it had not accepted an invitation', async () => {
      const { id, email: typo } = await users().create({ email: newAddress() })
      const first = await nextToken(mailbox(), typo, 'reset')
      const email = newAddress()
      assert.equal((await patch(id, { email })).status, 200)
      const second = await nextToken(mailbox(), email, 'reset')
      const reset = (token: string) =>
        send(app(), 'POST /auth/reset-password', { body: { token, password: PASSWORD } })
      assert.equal((await reset(first)).code, 'INVALID_TOKEN')
      assert.equal((await reset(second)).status, 200)
      const { token } = (await login(app(), email)).body
      assert.equal((await me(app(), token)).body.user.emailVerified, true)
      await quietQueue(app())
      assert.equal(mailsTo(typo).length, 1)
    })

    testOnce('can be verified in the same change by the application and the command line', async () => {
      const { _id, email: old } = await app().register()
      await nextToken(mailbox(), old, 'verify')
      const email = newAddress()
      const account = await users().update(old, { email, verified: true, name: 'Ada' })
      assert.deepEqual([account.id, account.email, account.emailVerified], [_id, email, true])
      await quietQueue(app())
      assert.deepEqual(mailsTo(email), [])
      assert.equal(mailsTo(old).length, 1) // of its registration
      await assert.rejects(users().update({ id: _id }, { email: 'nobody' }), { code: 'VALIDATION_ERROR' })
    })

    testOnce('takes an administrator, and a proof of the last ten minutes', async () => {
      const by = await admin()
      const { _id } = await app().register()
      const body = { email: newAddress() }
      const { key } = await app().app.service('auth').keys.create('support', ['auth'])
      assert.equal(codeOf(await patchAs(app(), { token: key }, _id, body)), 'FORBIDDEN')
      app().clock.advance(600_000)
      assert.equal(codeOf(await patchAs(app(), by, _id, body)), 'RECENT_SIGN_IN_REQUIRED')
      const confirm = () =>
        send(app(), 'POST /auth/confirm', { token: by.token, body: { password: PASSWORD } })
      await confirm()
      assert.equal((await patchAs(app(), by, _id, body)).status, 200)
      // A password is not enough where the administrator has a second factor.
      await addFactor(app(), by._id)
      await confirm()
      assert.equal(codeOf(await patchAs(app(), by, _id, { email: newAddress() })), 'RECENT_SIGN_IN_REQUIRED')
    })

    testOnce('is published and logged as other changes of accounts', async (t) => {
      const receiver = await startReceiver(t)
      const webhook = {
        name: 'shop',
        url: receiver.url,
        secret: webhookSecret(),
        events: ['auth.user.updated'],
      }
      const one = await startApp(t, engine, { config: { webhooks: [webhook] } })
      const by = await one.register() // the first one is an administrator
      const { _id } = await one.register()
      const email = newAddress()
      assert.equal((await patchAs(one, by, _id, { email })).status, 200)
      await receiver.arrived(1)
      const { data } = receiver.events[0]!
      assert.deepEqual([data['_id'], data['email'], data['emailVerified']], [_id, email, false])
      const line = one
        .log()
        .split('\n')
        .find((text) => text.includes('"event":"address-changed"'))!
      const { account, role } = JSON.parse(line) as Record<string, string>
      assert.deepEqual([account, role], [_id, 'user'])
      assert.ok(!line.includes('@'))
    })
  })
})

describe('an address that SIXWIRE_ADMINS names', () => {
  someEngine((engine) => {
    const named = 'root@example.com'
    const start = async (ending: Parameters<typeof startApp>[0]) => {
      const mailbox = await startMailbox(ending)
      return startApp(ending, engine, withMail(mailbox, { environment: { SIXWIRE_ADMINS: named } }))
    }
    const roleOf = async (app: TestApp, { token }: TestPerson) => (await me(app, token)).body.user.role

    test('gives an account no role until it is verified, which takes a proof too', async (t) => {
      const app = await start(t)
      const by = await registerAs(app, 'admin')
      const person = await app.register()
      assert.equal((await patchAs(app, by, person._id, { email: named })).status, 200)
      assert.equal(await roleOf(app, person), 'user')
      const verify = () => as(app, by, `POST /auth/users/${person._id}/verify`)
      app.clock.advance(600_000)
      assert.equal(codeOf(await verify()), 'RECENT_SIGN_IN_REQUIRED')
      await send(app, 'POST /auth/confirm', { token: by.token, body: { password: PASSWORD } })
      assert.equal((await verify()).status, 200)
      assert.equal(await roleOf(app, person), 'admin')
    })

    test('stays with the last administrator, and takes the role along from another one', async (t) => {
      const app = await start(t)
      const { users } = app.app.service('auth')
      const root = await app.register(named)
      await users.verify(named)
      const move = (by: TestPerson, email: string) => patchAs(app, by, root._id, { email })
      const refused = await move(root, 'retired@example.com')
      assert.deepEqual([codeOf(refused), /last administrator/.test(refused.text)], ['CONFLICT', true])
      assert.equal((await move(root, 'Root@example.com')).status, 200)
      await assert.rejects(users.update(named, { email: 'x@example.com', role: 'user' }), {
        code: 'CONFLICT',
      })
      // With a role of its own it needs no address.
      assert.equal((await users.update(named, { email: 'own@example.com', role: 'admin' })).role, 'admin')
      await users.update({ id: root._id }, { email: named, verified: true })
      await users.verify({ id: root._id })

      const other = await registerAs(app, 'admin')
      await assert.rejects(users.demote(named), { code: 'CONFLICT', message: /SIXWIRE_ADMINS/ })
      assert.equal((await users.update(named, { email: 'new@example.com', role: 'user' })).role, 'user')
      assert.equal(await roleOf(app, root), 'user')
      const actions = (await auditOf(app, other, `user:${root._id}`)).map(({ action }) => action)
      assert.deepEqual(actions.slice(-2), ['user.email-changed', 'user.role-changed'])
    })
  })
})
