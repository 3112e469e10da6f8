import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { startApp, type TestApp } from '../../../../testing/app.ts'
import { login, me, PASSWORD } from '../../../../testing/auth.ts'
import { endOfSuite, someEngine } from '../../../../testing/engines.ts'
import { quietQueue, startMailbox, tokenOf, withMail, type TestMailbox } from '../../../../testing/mailbox.ts'
import { startOidcIssuer, type OidcIssuer } from '../../../../testing/oidc-issuer.ts'
import {
  browserOf,
  callbackOf,
  CLIENT,
  personOf,
  PUBLIC_URL,
  startOf,
} from '../../../../testing/provider-login.ts'

describe('mails of sign-ins through a provider', () => {
  someEngine((engine) => {
    const ending = endOfSuite()
    let issuer: OidcIssuer
    let mailbox: TestMailbox
    let app: TestApp
    before(async () => {
      issuer = await startOidcIssuer(ending, { redirectUris: [callbackOf('idpa')] })
      mailbox = await startMailbox(ending)
      const environment = {
        PUBLIC_URL,
        IDPA_ISSUER: issuer.url,
        IDPA_CLIENT_ID: CLIENT.id,
        IDPA_CLIENT_SECRET: CLIENT.secret,
      }
      app = await startApp(ending, engine, withMail(mailbox, { environment }))
    })

    async function signIn(who: string) {
      const browser = browserOf(app)
      return issuer.consent(browser, await browser.visit(startOf('idpa')), who)
    }
    const mailsTo = (address: string) => mailbox.mails.filter(({ to }) => to.includes(address))

    test('tell the owner of an account of the first one, and of no further one', async () => {
      const { email } = await app.register('owner@example.com')
      await mailbox.next(email) // the link that a registration sends
      await app.app.service('auth').users.verify(email)
      issuer.people.set('owner', { email: 'OWNER@example.com', email_verified: true })
      assert.ok((await signIn('owner')).fragment['token'])
      const { parsed } = await mailbox.next(email)
      assert.match(parsed.subject!, /^New sign-in to /)
      assert.match(parsed.text!, new RegExp(new URL(issuer.url).host))
      assert.match(parsed.text!, /127\.0\.0\.1/)
      for (let i = 0; i < 3; i++) assert.ok((await signIn('owner')).fragment['token'])
      await quietQueue(app)
      assert.equal(mailsTo(email).length, 2)
    })

    test('are one where the device is new too', async () => {
      const body = { email: 'both@example.com', password: PASSWORD }
      const headers = { 'user-agent': 'another browser' }
      assert.equal((await app.request('POST', '/auth/register', { body, headers })).status, 201)
      await mailbox.next(body.email)
      await app.app.service('auth').users.verify(body.email)
      issuer.people.set('both', { email: body.email, email_verified: true })
      assert.ok((await signIn('both')).fragment['token'])
      await quietQueue(app)
      const [, notice, ...more] = mailsTo(body.email)
      assert.match(notice!.parsed.subject!, /^New sign-in to /)
      assert.deepEqual(more, [])
    })

    test('tell the address of an account that a provider made', async () => {
      issuer.people.set('new', { email: 'new@example.com', email_verified: true, name: '<b>Noor</b>' })
      await signIn('new')
      const { parsed } = await mailbox.next('new@example.com')
      assert.match(parsed.subject!, /^New sign-in to /)
      assert.match(parsed.html!, /&lt;b&gt;Noor/)
    })

    test('ask an address that nobody has verified, and go on with the provider then', async () => {
      issuer.people.set('unsure', { email: 'unsure@example.com', email_verified: false })
      const { _id } = await personOf(app, await signIn('unsure'))
      const token = tokenOf(await mailbox.next('unsure@example.com'), 'verify')
      assert.equal((await app.request('POST', '/auth/verify-email', { body: { token } })).status, 200)
      const person = await personOf(app, await signIn('unsure'))
      assert.deepEqual([person._id, person.emailVerified], [_id, true])
      await quietQueue(app)
      assert.equal(mailsTo('unsure@example.com').length, 1)
    })

    for (const way of ['magic link', 'reset'] as const)
      test(`let the owner of an address in by a ${way}, and shut out the person who claimed it at a provider`, async () => {
        const who = way.replace(' ', '')
        const email = `${who}@example.com`
        issuer.people.set(who, { email, email_verified: false })
        const lurking = await signIn(who)
        const { _id } = await personOf(app, lurking)
        await mailbox.next(email)
        if (way === 'reset') {
          await app.request('POST', '/auth/forgot-password', { body: { email } })
          const body = {
            token: tokenOf(await mailbox.next(email), 'reset'),
            password: 'a password of the owner',
          }
          assert.equal((await app.request('POST', '/auth/reset-password', { body })).status, 200)
        } else {
          await app.request('POST', '/auth/magic-link', { body: { email } })
          const body = { token: tokenOf(await mailbox.next(email), 'magic-link') }
          const owner = await app.request('POST', '/auth/verify-magic-link', { body })
          assert.deepEqual([owner.status, owner.body.user._id], [200, _id])
        }
        assert.equal((await me(app, lurking.fragment['token']!)).status, 401)
        assert.deepEqual((await signIn(who)).fragment, { error: 'account_exists' })

        // Once the provider says that the address is theirs, it was the owner's all along, and stays connected.
        issuer.people.set(who, { email, email_verified: true })
        for (let i = 0; i < 2; i++) assert.equal((await personOf(app, await signIn(who)))._id, _id)
        if (way === 'reset') assert.equal((await login(app, email, 'a password of the owner')).status, 200)
        issuer.people.set(who, { email, email_verified: false })
        assert.equal((await personOf(app, await signIn(who)))._id, _id)
      })
  })
})
