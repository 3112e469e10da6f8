import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { sql } from '../../../db/sql.ts'
import { startApp } from '../../../testing/app.ts'
import { login, me, PASSWORD, send, statuses, times } from '../../../testing/auth.ts'
import { eachEngine, testOnOne } from '../../../testing/engines.ts'
import { appWithMailbox, quietQueue, startMailbox, tokenOf, withMail } from '../../../testing/mailbox.ts'
import { startReceiver, webhookSecret } from '../../../testing/webhook-receiver.ts'

const HOUR_MS = 3_600_000

describe('a change of address', () => {
  eachEngine((engine) => {
    const testOnce = testOnOne(engine)
    const started = appWithMailbox(engine)
    const app = () => started().app
    const next = (to: string) => started().mailbox.next(to)
    let people = 0
    const newAddress = () => `moved${++people}@example.com`

    const request = (token: string, email: string) =>
      send(app(), 'POST /auth/change-email', { token, body: { email } })
    const verify = (token: string) => send(app(), 'POST /auth/verify-email-change', { body: { token } })
    const mailsTo = (address: string) =>
      started()
        .mailbox.mails.filter(({ to }) => to.includes(address))
        .map(({ parsed }) => parsed.subject!)

    /** An account with a verified address, signed in. */
    async function someone() {
      const person = await app().register()
      const token = tokenOf(await next(person.email), 'verify')
      assert.equal((await send(app(), 'POST /auth/verify-email', { body: { token } })).status, 200)
      return person
    }
    /** The token of the link to a new address, after the mail to the old one. */
    async function linkTo(email: string, { token, email: old }: { token: string; email: string }) {
      assert.equal((await request(token, email)).status, 200)
      assert.match((await next(old)).parsed.subject!, /^Another email address was given/)
      return tokenOf(await next(email), 'change-email')
    }

    testOnce('moves the account, keeps its sessions, and tells the old address twice', async () => {
      const { email: old, token, _id } = await someone()
      const email = newAddress()
      const link = await linkTo(email, { token, email: old })
      assert.equal((await me(app(), token)).body.user.email, old)
      assert.equal((await verify(link)).status, 200)
      const { user } = (await me(app(), token)).body
      assert.deepEqual([user._id, user.email, user.emailVerified], [_id, email, true])
      assert.equal((await login(app(), email)).status, 200)
      assert.equal((await login(app(), old)).code, 'INVALID_CREDENTIALS')
      const { parsed } = await next(old)
      assert.match(parsed.subject!, /^The email address of your account .* was changed$/)
      assert.doesNotMatch(parsed.text!, new RegExp(email))
      await quietQueue(app())
      assert.equal(mailsTo(email).length, 1)
    })

    test('voids what was sent to the old address', async () => {
      const { email: old, token } = await someone()
      await send(app(), 'POST /auth/forgot-password', { body: { email: old } })
      const reset = tokenOf(await next(old), 'reset')
      await send(app(), 'POST /auth/magic-link', { body: { email: old } })
      const magic = tokenOf(await next(old), 'magic-link')
      assert.equal((await verify(await linkTo(newAddress(), { token, email: old }))).status, 200)
      for (const [route, given] of [
        ['POST /auth/reset-password', reset],
        ['POST /auth/verify-magic-link', magic],
      ] as const) {
        const body = { token: given, password: 'another horse battery' }
        assert.equal((await send(app(), route, { body })).code, 'INVALID_TOKEN', route)
      }
    })

    test('works once, for 24 hours, and only with the newest link', async () => {
      const person = await someone()
      const first = await linkTo(newAddress(), person)
      const second = await linkTo(newAddress(), person)
      assert.equal((await verify(first)).code, 'INVALID_TOKEN')
      assert.deepEqual(statuses(await Promise.all(times(5, () => verify(second)))), { 200: 1, 400: 4 })
      const other = await someone()
      const late = await linkTo(newAddress(), other)
      app().clock.advance(24 * HOUR_MS)
      assert.equal((await verify(late)).code, 'INVALID_TOKEN')
      assert.equal((await verify('x'.repeat(43))).code, 'INVALID_TOKEN')
    })

    testOnce('fails if the password was changed since it was asked for', async () => {
      const person = await someone()
      const link = await linkTo(newAddress(), person)
      const body = { currentPassword: PASSWORD, newPassword: 'another horse battery' }
      const changed = await send(app(), 'POST /auth/change-password', { token: person.token, body })
      assert.equal(changed.status, 200)
      assert.equal((await verify(link)).code, 'INVALID_TOKEN')
    })

    testOnce('is answered alike for an address that has an account, which gets no mail', async () => {
      const person = await someone()
      const owner = await someone()
      const unused = newAddress()
      const [free, taken] = [await request(person.token, unused), await request(person.token, owner.email)]
      assert.deepEqual([free.status, taken.status], [200, 200])
      assert.equal(taken.text.replace(owner.email, unused), free.text)
      await quietQueue(app())
      assert.equal(mailsTo(owner.email).length, 1) // of its registration
      assert.equal(mailsTo(person.email).length, 3) // and the owner of the session can't tell either
      assert.equal((await verify(tokenOf(await next(unused), 'change-email'))).code, 'INVALID_TOKEN')
    })

    test('finds the address taken if it was registered meanwhile, and the link is not used', async () => {
      const person = await someone()
      const email = newAddress()
      const link = await linkTo(email, person)
      const rival = await app().register(email)
      const refused = await verify(link)
      assert.deepEqual([refused.status, refused.code], [409, 'EMAIL_TAKEN'])
      assert.equal((await me(app(), person.token)).body.user.email, person.email)
      const removed = await send(app(), 'DELETE /auth/me', {
        token: rival.token,
        body: { password: PASSWORD },
      })
      assert.equal(removed.status, 200)
      assert.equal((await verify(link)).status, 200)
    })

    test('of a change and registrations at the same moment, one gets the new address and none the old one', async () => {
      for (let round = 0; round < 5; round++) {
        const person = await someone()
        const email = newAddress()
        const link = await linkTo(email, person)
        const register = (address: string) =>
          send(app(), 'POST /auth/register', { body: { email: address, password: PASSWORD } })
        const [changed, ...registered] = await Promise.all([
          verify(link),
          ...times(3, () => register(email)),
          ...times(3, () => register(person.email)),
        ])
        const won = registered.slice(0, 3).filter(({ status }) => status === 201).length
        assert.deepEqual([changed.status, won], won === 0 ? [200, 0] : [409, 1])
        assert.deepEqual(statuses(registered.slice(3)), { 409: 3 })
      }
    })

    test('that is committed while a registration of the old address waits for it has reserved the address', async () => {
      const { _id, email: old } = await someone()
      const { db } = app().app
      const now = app().clock.now()
      const registered = await db.transaction(async (tx) => {
        await tx.write(sql`update auth_users set email = 'x@x.example', email_key = ${_id} where id = ${_id}`)
        await tx.write(sql`
          insert into auth_address_changes (id, user_id, credentials_version, hash, email, email_key, expires_at,
            changed_at, old_email, old_email_key, old_verified_at, undo_until)
          values (${_id}, ${_id}, 1, ${_id}, 'x@x.example', ${_id}, ${now}, ${now}, ${old}, ${old}, ${now}, ${now + HOUR_MS})`)
        const body = { email: old, password: PASSWORD }
        const answer = send(app(), 'POST /auth/register', { body })
        // Long enough for its insertion to wait for this transaction; if it is later, it sees the reservation anyway.
        await delay(300)
        return { answer }
      })
      assert.equal((await registered.answer).code, 'EMAIL_TAKEN')
    })

    test('reserves the old address for 72 hours, or until the account is deleted', async () => {
      const stays = await someone()
      assert.equal((await verify(await linkTo(newAddress(), stays))).status, 200)
      const goes = await someone()
      assert.equal((await verify(await linkTo(newAddress(), goes))).status, 200)
      const register = (email: string) =>
        send(app(), 'POST /auth/register', { body: { email, password: PASSWORD } })
      assert.equal((await register(stays.email)).code, 'EMAIL_TAKEN')

      const other = await someone()
      assert.equal((await request(other.token, stays.email)).status, 200)
      await send(app(), 'POST /auth/magic-link', { body: { email: stays.email } })
      await quietQueue(app())
      assert.deepEqual(mailsTo(stays.email).slice(2).length, 1) // that the address was changed

      await send(app(), 'DELETE /auth/me', { token: goes.token, body: { password: PASSWORD } })
      assert.equal((await register(goes.email)).status, 201)
      app().clock.advance(72 * HOUR_MS)
      assert.equal((await register(stays.email)).status, 201)
    })

    testOnce('lets an account go back to its old address meanwhile', async () => {
      const { email: old, token } = await someone()
      const email = newAddress()
      assert.equal((await verify(await linkTo(email, { token, email: old }))).status, 200)
      await next(old)
      assert.equal((await verify(await linkTo(old, { token, email }))).status, 200)
      assert.equal((await me(app(), token)).body.user.email, old)
    })

    testOnce('of an account whose address is not verified tells and reserves nothing', async () => {
      const { email: old, token } = await app().register()
      const email = newAddress()
      assert.equal((await request(token, email)).status, 200)
      assert.equal((await verify(tokenOf(await next(email), 'change-email'))).status, 200)
      assert.equal((await me(app(), token)).body.user.emailVerified, true)
      await quietQueue(app())
      assert.equal(mailsTo(old).length, 1) // of its registration
      await app().register(old)
    })

    testOnce('does not inherit a lock that strangers have put on the new address', async () => {
      const person = await someone()
      const email = newAddress()
      const link = await linkTo(email, person)
      await Promise.all(times(5, () => login(app(), email, 'wrong horse battery')))
      assert.equal((await login(app(), email)).code, 'ACCOUNT_LOCKED')
      assert.equal((await verify(link)).status, 200)
      assert.equal((await login(app(), email)).status, 200)
    })

    testOnce('requires a session and a recent proof', async () => {
      const { token } = await someone()
      app().clock.advance(10 * 60_000)
      const refused = await request(token, newAddress())
      assert.deepEqual([refused.status, refused.code], [403, 'RECENT_SIGN_IN_REQUIRED'])
      const body = { email: newAddress() }
      assert.equal((await send(app(), 'POST /auth/change-email', { body })).status, 401)
    })

    testOnce('sends five mails an hour at most to an address, and for an account', async () => {
      const [person, other] = [await someone(), await someone()]
      const [email, further] = [newAddress(), newAddress()]
      for (let i = 0; i < 5; i++) assert.equal((await request(person.token, email)).status, 200)
      await quietQueue(app())
      assert.equal((await request(person.token, further)).status, 200)
      assert.equal((await request(other.token, email)).status, 200)
      await quietQueue(app())
      assert.deepEqual([mailsTo(email).length, mailsTo(further).length], [5, 0])
    })

    testOnce('is published as another change of the account', async (t) => {
      const [receiver, mailbox] = [await startReceiver(t), await startMailbox(t)]
      const webhook = {
        name: 'shop',
        url: receiver.url,
        secret: webhookSecret(),
        events: ['auth.user.updated'],
      }
      const one = await startApp(t, engine, withMail(mailbox, { config: { webhooks: [webhook] } }))
      const { token } = await one.register()
      const email = newAddress()
      await send(one, 'POST /auth/change-email', { token, body: { email } })
      const body = { token: tokenOf(await mailbox.next(email), 'change-email') }
      assert.equal((await send(one, 'POST /auth/verify-email-change', { body })).status, 200)
      await receiver.arrived(1)
      const { data } = receiver.events[0]!
      assert.deepEqual([data['email'], data['emailVerified']], [email, true])
    })

    testOnce('to an address that SIXWIRE_ADMINS names takes the session of the account', async (t) => {
      const mailbox = await startMailbox(t)
      const named = 'boss@example.com'
      const environment = { SIXWIRE_ADMINS: named }
      const one = await startApp(t, engine, withMail(mailbox, { environment }))
      const ask = (token: string, email: string) =>
        send(one, 'POST /auth/change-email', { token, body: { email } })
      const linkTo = async (token: string, email: string) => {
        assert.equal((await ask(token, email)).status, 200)
        return { token: tokenOf(await mailbox.next(email), 'change-email') }
      }
      const follow = (body: { token: string }, token?: string) =>
        send(one, 'POST /auth/verify-email-change', { body, ...(token !== undefined && { token }) })
      const { token } = await one.register()
      const link = await linkTo(token, named)
      for (const other of [undefined, (await one.register()).token]) {
        const refused = await follow(link, other)
        assert.deepEqual([refused.status, refused.code], [401, 'UNAUTHORIZED'])
      }
      assert.equal((await follow(link, token)).status, 200)
      assert.equal((await me(one, token)).body.user.role, 'admin')

      // And an administrator by name is none under another name.
      assert.equal((await follow(await linkTo(token, 'retired@example.com'))).status, 200)
      assert.equal((await me(one, token)).body.user.role, 'user')
    })

    testOnce('needs a provider of email', async (t) => {
      const mute = await startApp(t, engine)
      const { token } = await mute.register()
      const refused = await send(mute, 'POST /auth/change-email', { token, body: { email: newAddress() } })
      assert.deepEqual([refused.status, refused.code], [400, 'PROVIDER_NOT_CONFIGURED'])
    })
  })
})
