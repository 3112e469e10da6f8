import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { sql } from '../../db/sql.ts'
import { startApp } from '../../testing/app.ts'
import { appForAll, login, me, PASSWORD, send, statuses, times } from '../../testing/auth.ts'
import { eachEngine } from '../../testing/engines.ts'
import { appWithMailbox, quietQueue, startMailbox, tokenOf, withMail } from '../../testing/mailbox.ts'

describe('the verification of an address', () => {
  eachEngine((engine) => {
    const started = appWithMailbox(engine)
    const app = () => started().app
    const verify = (token: string) => send(app(), 'POST /auth/verify-email', { body: { token } })
    const resend = (token: string) => send(app(), 'POST /auth/resend-verification', { token })
    const isVerified = async (token: string) => (await me(app(), token)).body.user.emailVerified
    const arrived = (email: string) => started().mailbox.mails.filter(({ to }) => to.includes(email))
    const verificationToken = async (email: string) => tokenOf(await started().mailbox.next(email), 'verify')

    test('comes by mail at registration, and ends no session', async () => {
      const { email, token } = await app().register()
      assert.equal(await isVerified(token), false)
      assert.equal((await verify(await verificationToken(email))).status, 200)
      assert.equal(await isVerified(token), true)
      assert.equal((await login(app(), email)).status, 200)
    })

    test('is not sent to whoever has the address where somebody registers it again', async () => {
      const { email } = await app().register()
      await quietQueue(app())
      const again = await send(app(), 'POST /auth/register', {
        body: { email, password: 'another horse battery' },
      })
      assert.equal(again.code, 'EMAIL_TAKEN')
      await quietQueue(app())
      assert.equal(arrived(email).length, 1)
    })

    test('works once, also of ten at the same moment', async () => {
      const { email } = await app().register()
      const token = await verificationToken(email)
      assert.deepEqual(statuses(await Promise.all(times(10, () => verify(token)))), { 200: 1, 400: 9 })
      assert.equal((await verify(token)).code, 'INVALID_TOKEN')
    })

    test('is good for a day, and until a newer one', async () => {
      const one = await app().register()
      const older = await verificationToken(one.email)
      assert.equal((await resend(one.token)).status, 200)
      const newer = await verificationToken(one.email)
      assert.equal((await verify(older)).code, 'INVALID_TOKEN')
      app().clock.advance(86_400_000 - 60_000)
      assert.equal((await verify(newer)).status, 200)
      const two = await app().register()
      const late = await verificationToken(two.email)
      app().clock.advance(86_400_000)
      assert.equal((await verify(late)).code, 'INVALID_TOKEN')
    })

    test('is not sent again to a verified address, and the answer says so', async () => {
      const { email, token } = await app().register()
      await verify(await verificationToken(email))
      const answered = await resend(token)
      assert.equal(answered.status, 200)
      assert.equal(answered.body.message, `${email} is verified already.`)
      await quietQueue(app())
      assert.equal(arrived(email).length, 1)
    })

    test('is sent again to somebody signed in only, within the limit of the address', async () => {
      assert.equal((await send(app(), 'POST /auth/resend-verification')).status, 401)
      const { email, token } = await app().register()
      assert.deepEqual(statuses(await Promise.all(times(8, () => resend(token)))), { 200: 8 })
      await quietQueue(app())
      assert.equal(arrived(email).length, 5)
    })

    test('does nothing for a disabled account', async () => {
      const { email } = await app().register()
      const token = await verificationToken(email)
      await app().app.service('auth').users.disable(email)
      assert.equal((await verify(token)).code, 'INVALID_TOKEN')
    })

    test('leaves the notice of another password to the mail as well', async () => {
      const { email, token } = await app().register()
      await verificationToken(email)
      const change = (currentPassword: string) =>
        send(app(), 'POST /auth/change-password', {
          token,
          body: { currentPassword, newPassword: 'another horse battery' },
        })
      assert.equal((await change('wrong')).status, 401)
      assert.equal((await change(PASSWORD)).status, 200)
      const { parsed } = await started().mailbox.next(email)
      assert.match(parsed.subject!, /password/i)
      await quietQueue(app())
      assert.equal(arrived(email).length, 2)
    })

    test('tells that links are a way in', async () => {
      assert.ok((await send(app(), 'GET /auth/health')).body.providers.includes('magic-link'))
    })

    test('has tokens that are refused at every other door', async () => {
      const { email, token, refreshToken } = await app().register()
      const next = (page: 'reset' | 'magic-link' | 'verify') =>
        started()
          .mailbox.next(email)
          .then((mail) => tokenOf(mail, page))
      const verification = await next('verify')
      await send(app(), 'POST /auth/forgot-password', { body: { email } })
      const resetting = await next('reset')
      await send(app(), 'POST /auth/magic-link', { body: { email } })
      const magic = await next('magic-link')

      const doors = {
        verification: 'POST /auth/verify-email',
        resetting: 'POST /auth/reset-password',
        magic: 'POST /auth/verify-magic-link',
      }
      const kinds = { verification, resetting, magic, token, refreshToken }
      for (const [own, route] of Object.entries(doors))
        for (const [kind, given] of Object.entries(kinds))
          if (kind !== own) {
            const body = { token: given, password: 'another horse battery' }
            const answered = await send(app(), route, { body })
            assert.deepEqual([answered.status, answered.code], [400, 'INVALID_TOKEN'], `${kind} at ${route}`)
          }
      for (const given of [verification, resetting, magic]) {
        assert.equal((await me(app(), given)).status, 401)
        assert.equal((await send(app(), 'POST /auth/refresh', { body: { refreshToken: given } })).status, 401)
      }
      // Nothing of all that used one up.
      assert.equal((await verify(verification)).status, 200)
      assert.equal((await send(app(), doors.magic, { body: { token: magic } })).status, 200)
      const body = { token: resetting, password: 'another horse battery' }
      assert.equal((await send(app(), doors.resetting, { body })).status, 200)
    })

    test('is work that can be done again without a second mail or another token', async () => {
      const { _id, email } = await app().register()
      const token = await verificationToken(email)
      await quietQueue(app())
      const { db } = app().app
      const [sent] = await db.all<{ id: string }>(sql`select id from auth_mail_tokens where user_id = ${_id}`)
      await db.write(sql`
        insert into sixwire_jobs (id, kind, payload, state, run_at, attempts, created_at)
        values (${sent!.id}, 'auth.verification-mail', ${JSON.stringify({ userId: _id })}, 'ready', 0, 0, 0)`)
      await quietQueue(app())
      assert.equal(arrived(email).length, 1)
      assert.equal((await verify(token)).status, 200)
    })

    test('forgets old tokens', async () => {
      const { email } = await app().register()
      await verificationToken(email)
      const { db } = app().app
      const held = () => db.all(sql`select id from auth_mail_tokens where email_key = ${email}`)
      assert.equal((await held()).length, 1)
      app().clock.advance(3 * 86_400_000)
      while ((await held()).length > 0) await new Promise((resolve) => setTimeout(resolve, 50))
    })
  })

  eachEngine((engine) => {
    const app = appForAll(engine)

    test('is not asked for where no mail can be sent: what needs one says so, and the rest works', async () => {
      const { token, email } = await app().register()
      for (const [route, options] of [
        ['POST /auth/forgot-password', { body: { email } }],
        ['POST /auth/magic-link', { body: { email } }],
        ['POST /auth/resend-verification', { token }],
      ] as const) {
        const answered = await send(app(), route, options)
        assert.deepEqual([answered.status, answered.code], [400, 'PROVIDER_NOT_CONFIGURED'], route)
      }
      for (const route of ['POST /auth/verify-magic-link', 'POST /auth/verify-email'])
        assert.equal((await send(app(), route, { body: { token: 'x' } })).code, 'INVALID_TOKEN')
      const body = { currentPassword: PASSWORD, newPassword: 'another horse battery' }
      assert.equal((await send(app(), 'POST /auth/change-password', { token, body })).status, 200)
      assert.deepEqual((await send(app(), 'GET /auth/health')).body.providers, ['local'])
      const waiting = await app().app.db.all(sql`select id from sixwire_jobs where id not like 'every-%'`)
      assert.deepEqual(waiting, [])
    })

    test('needs no messaging wire', async (t) => {
      const alone = await startApp(t, engine, { environment: { SIXWIRE_WIRES: 'auth' } })
      const { email } = await alone.register()
      assert.equal((await login(alone, email)).status, 200)
      const answered = await send(alone, 'POST /auth/forgot-password', { body: { email } })
      assert.equal(answered.code, 'PROVIDER_NOT_CONFIGURED')
    })

    test('goes by the lifetimes of the configuration', async (t) => {
      const mailbox = await startMailbox(t)
      const auth = { verificationTokenSeconds: 60, resetTokenSeconds: 60, magicLinkSeconds: 60 }
      const one = await startApp(t, engine, withMail(mailbox, { config: { auth } }))
      const { email } = await one.register()
      const verification = tokenOf(await mailbox.next(email), 'verify')
      await send(one, 'POST /auth/forgot-password', { body: { email } })
      const resetting = tokenOf(await mailbox.next(email), 'reset')
      await send(one, 'POST /auth/magic-link', { body: { email } })
      const magic = tokenOf(await mailbox.next(email), 'magic-link')
      one.clock.advance(60_000)
      for (const [route, token] of [
        ['POST /auth/verify-email', verification],
        ['POST /auth/reset-password', resetting],
        ['POST /auth/verify-magic-link', magic],
      ] as const) {
        const answered = await send(one, route, { body: { token, password: 'another horse battery' } })
        assert.equal(answered.code, 'INVALID_TOKEN', route)
      }
    })
  })
})
