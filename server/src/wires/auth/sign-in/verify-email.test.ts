import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { sql } from '../../../db/sql.ts'
import { startApp } from '../../../testing/app.ts'
import { appForAll, login, me, PASSWORD, refresh, send, statuses, times } from '../../../testing/auth.ts'
import { eachEngine, someEngine, testOnOne } from '../../../testing/engines.ts'
import { appWithMailbox, quietQueue, startMailbox, tokenOf, withMail } from '../../../testing/mailbox.ts'

describe('the verification of an address', () => {
  eachEngine((engine) => {
    const testOnce = testOnOne(engine)
    const started = appWithMailbox(engine)
    const app = () => started().app
    const verify = (token: string) => send(app(), 'POST /auth/verify-email', { body: { token } })
    const resend = (token: string) => send(app(), 'POST /auth/resend-verification', { token })
    const isVerified = async (token: string) => (await me(app(), token)).body.user.emailVerified
    const arrived = (email: string) => started().mailbox.mails.filter(({ to }) => to.includes(email))
    const verificationToken = async (email: string) => tokenOf(await started().mailbox.next(email), 'verify')

    testOnce('comes by mail at registration, and ends no session', async () => {
      const { email, token } = await app().register()
      assert.equal(await isVerified(token), false)
      const answered = await verify(await verificationToken(email))
      assert.deepEqual([answered.status, answered.body.message], [200, 'The address is verified.'])
      assert.equal(await isVerified(token), true)
      assert.equal((await login(app(), email)).status, 200)
    })

    testOnce('is not sent for a second registration of the same address', async () => {
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

    testOnce('is not of another address that the account has since', async () => {
      const { _id, email, token } = await app().register()
      const link = await verificationToken(email)
      // As if a job had read the address before the change, and had stored the link after it.
      const moved = `moved.${email}`
      await app().app.db.write(
        sql`update auth_users set email = ${moved}, email_key = ${moved} where id = ${_id}`,
      )
      assert.equal((await verify(link)).code, 'INVALID_TOKEN')
      assert.equal(await isVerified(token), false)
    })

    testOnce('is good for a day, and until a newer one', async () => {
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

    testOnce('is not sent again to a verified address, and the answer says so', async () => {
      const { email, token } = await app().register()
      await verify(await verificationToken(email))
      const answered = await resend(token)
      assert.equal(answered.status, 200)
      assert.equal(answered.body.message, `${email} is verified already.`)
      await quietQueue(app())
      assert.equal(arrived(email).length, 1)
    })

    testOnce('is sent again only to a signed-in user, within the limit of the address', async () => {
      assert.equal((await send(app(), 'POST /auth/resend-verification')).status, 401)
      const { email, token } = await app().register()
      assert.deepEqual(statuses(await Promise.all(times(8, () => resend(token)))), { 200: 8 })
      await quietQueue(app())
      assert.equal(arrived(email).length, 6) // with that of the registration
    })

    testOnce('is sent five times an hour at most, also if the account is deleted in between', async () => {
      const email = 'again.and.again@example.com'
      for (let i = 0; i < 7; i++) {
        const { token, password } = await app().register(email)
        await quietQueue(app())
        assert.equal((await send(app(), 'DELETE /auth/me', { token, body: { password } })).status, 200)
      }
      assert.equal(arrived(email).length, 5)
      // The owner of the address can still have one by asking for it.
      const owner = await app().register(email)
      await quietQueue(app())
      await resend(owner.token)
      await quietQueue(app())
      assert.equal(arrived(email).length, 6)
      assert.equal((await verify(tokenOf(arrived(email).at(-1)!, 'verify'))).status, 200)
    })

    test('leaves one link that works where one is asked for right at the registration', async () => {
      for (let round = 0; round < 5; round++) {
        const { email, token } = await app().register()
        await Promise.all(times(2, () => resend(token)))
        await quietQueue(app())
        const tokens = arrived(email).map((mail) => tokenOf(mail, 'verify'))
        assert.equal(tokens.length, 3)
        const answered = []
        for (const one of tokens) answered.push(await verify(one))
        assert.deepEqual(statuses(answered), { 200: 1, 400: 2 })
      }
    })

    testOnce('does nothing for a disabled account', async () => {
      const { email } = await app().register()
      const token = await verificationToken(email)
      await app().app.service('auth').users.disable(email)
      assert.equal((await verify(token)).code, 'INVALID_TOKEN')
    })

    testOnce('leaves the notice of another password to the mail as well', async () => {
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

    testOnce('makes GET /auth/health list magic links', async () => {
      assert.ok((await send(app(), 'GET /auth/health')).body.providers.includes('magic-link'))
    })

    testOnce('has tokens that every other route refuses', async () => {
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

    test('deletes old tokens in the background', async () => {
      const { email } = await app().register()
      await verificationToken(email)
      const { db } = app().app
      const storedTokens = () => db.all(sql`select id from auth_mail_tokens where email_key = ${email}`)
      assert.equal((await storedTokens()).length, 1)
      app().clock.advance(3 * 86_400_000)
      while ((await storedTokens()).length > 0) await new Promise((resolve) => setTimeout(resolve, 50))
    })
  })

  eachEngine((engine) => {
    const testOnce = testOnOne(engine)

    describe('of an administrator', () => {
      const started = appWithMailbox(engine, {
        environment: { SIXWIRE_ADMINS: times(9, (at) => `boss${at}@EXAMPLE.com`).join(', ') },
      })
      let admins = 0
      /** A stranger registers an address of SIXWIRE_ADMINS: its owner is sent the link. */
      async function registered() {
        const { app: one, mailbox } = started()
        const email = `Boss${admins++}@example.com`
        const account = await one.register(email)
        const token = tokenOf(await mailbox.next(email), 'verify')
        const verify = (options: { token?: string; headers?: Record<string, string> } = {}) =>
          send(one, 'POST /auth/verify-email', { body: { token }, ...options })
        return { app: one, mailbox, email, account, verify }
      }

      test('removes the password and sessions of the person who registered it, and a reset gives the owner access', async () => {
        const { app: one, mailbox, email, account, verify } = await registered()
        const answered = await verify()
        assert.equal(answered.status, 200)
        assert.equal(
          answered.body.message,
          'The address is verified. The account has no password: request a link to set one.',
        )
        assert.equal((await login(one, email)).code, 'INVALID_CREDENTIALS')
        assert.equal((await me(one, account.token)).status, 401)
        assert.equal((await refresh(one, account.refreshToken)).status, 401)

        await send(one, 'POST /auth/forgot-password', { body: { email } })
        const password = 'a password of the owner'
        const resetting = { token: tokenOf(await mailbox.next(email), 'reset'), password }
        assert.equal((await send(one, 'POST /auth/reset-password', { body: resetting })).status, 200)
        const { user } = (await me(one, (await login(one, email, password)).body.token)).body
        assert.deepEqual([user._id, user.emailVerified, user.role], [account._id, true, 'admin'])
      })

      testOnce('removes nothing if the caller is signed in to that account', async () => {
        const { app: one, email, account, verify } = await registered()
        const answered = await verify({ token: account.token })
        assert.deepEqual([answered.status, answered.body.message], [200, 'The address is verified.'])
        assert.equal((await me(one, account.token)).body.user.role, 'admin')
        assert.equal((await login(one, email)).status, 200)
      })

      for (const what of ['another', 'an ended', 'a broken', 'a bare'] as const)
        testOnce(`goes by ${what} session as by none`, async () => {
          const { app: one, email, account, verify } = await registered()
          const session = {
            another: async () => ({ token: (await one.register()).token }),
            'an ended': async () => {
              await send(one, 'POST /auth/logout', { token: account.token })
              return { token: account.token }
            },
            'a broken': async () => ({ headers: { authorization: 'Bearer of good news' } }),
            'a bare': async () => ({ headers: { authorization: account.token } }), // without "Bearer"
          }
          const answered = await verify(await session[what]())
          assert.match(answered.body.message, /has no password/)
          assert.equal((await login(one, email)).code, 'INVALID_CREDENTIALS')
        })

      testOnce('takes nothing where the address was proven before', async () => {
        const { app: one, mailbox, email, verify } = await registered()
        await send(one, 'POST /auth/forgot-password', { body: { email } })
        const password = 'a password of the owner'
        const resetting = { token: tokenOf(await mailbox.next(email), 'reset'), password }
        await send(one, 'POST /auth/reset-password', { body: resetting })
        assert.equal((await verify()).body.message, 'The address is verified.')
        assert.equal((await login(one, email, password)).status, 200)
      })

      test('uses the link up once, also of ten at the same moment', async () => {
        const { verify } = await registered()
        assert.deepEqual(statuses(await Promise.all(times(10, () => verify()))), { 200: 1, 400: 9 })
      })
    })
  })

  someEngine((engine) => {
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
      assert.deepEqual((await send(app(), 'GET /auth/health')).body.providers, ['local', 'passkey'])
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

    test('applies the configured lifetimes of links', async (t) => {
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
