// Every change of credentials, and what must have ended after each of them.
import assert from 'node:assert/strict'
import { readFileSync, globSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'

import { startApp, type TestApp } from '../../testing/app.ts'
import { login, me, PASSWORD, refresh, send } from '../../testing/auth.ts'
import { eachEngine, endOfSuite, testOnOne } from '../../testing/engines.ts'
import { startMailbox, tokenOf, withMail, type TestMailbox } from '../../testing/mailbox.ts'
import { startOidcIssuer, type OidcIssuer } from '../../testing/oidc-issuer.ts'
import { browserOf, callbackOf, CLIENT, PUBLIC_URL, startOf } from '../../testing/provider-login.ts'

type Tokens = { token: string; refreshToken: string }

/** An account with two sessions, and every link that was sent to it. */
type Case = {
  email: string
  current: Tokens
  other: Tokens
  links: { reset: string; 'magic-link': string; verify: string }
  /** Sends the registration again, as a client does whose answer was lost. */
  registerAgain: () => ReturnType<typeof send>
}

// Before the registration, the link names no account; after it, the account and its version.
const LINK_SENT = ['before', 'after'] as const

describe('credentials', () => {
  test('are changed in one file', () => {
    const root = join(import.meta.dirname, '../..')
    const writersOf = (statement: RegExp) =>
      globSync('**/*.ts', {
        cwd: root,
        exclude: ['testing/**', '**/*.test.ts', '**/*.long.ts', '**/*.fixture.ts'],
      })
        .filter((file) => statement.test(readFileSync(join(root, file), 'utf8')))
        .map((file) => file.replaceAll('\\', '/'))
        .toSorted()
    assert.deepEqual(writersOf(/(update|insert into|delete from) auth_users\b/i), [
      'wires/auth/accounts/user-changes.ts',
    ])
    assert.deepEqual(writersOf(/delete from auth_sessions\b/i), [
      'wires/auth/accounts/user-changes.ts',
      'wires/auth/sessions/refresh-tokens.ts',
      'wires/auth/sessions/session-list.ts',
    ])
  })

  eachEngine((engine) => {
    const ending = endOfSuite()
    let app: TestApp
    let issuer: OidcIssuer
    let mailbox: TestMailbox
    before(async () => {
      issuer = await startOidcIssuer(ending, { redirectUris: [callbackOf('idpa')] })
      mailbox = await startMailbox(ending)
      const environment = {
        PUBLIC_URL,
        SIXWIRE_ADMINS: LINK_SENT.map((sent) => `verify-admin-${sent}@example.com`).join(),
        IDPA_ISSUER: issuer.url,
        IDPA_CLIENT_ID: CLIENT.id,
        IDPA_CLIENT_SECRET: CLIENT.secret,
      }
      app = await startApp(ending, engine, withMail(mailbox, { environment }))
      await app.register() // The first account is an administrator.
    })

    const users = () => app.app.service('auth').users

    async function link(page: keyof Case['links'], email: string): Promise<string> {
      const route = page === 'reset' ? 'POST /auth/forgot-password' : 'POST /auth/magic-link'
      assert.equal((await send(app, route, { body: { email } })).status, 200)
      return tokenOf(await mailbox.next(email), page)
    }

    async function viaProvider(email: string): Promise<Tokens> {
      const browser = browserOf(app)
      const { fragment } = await issuer.consent(browser, await browser.visit(startOf('idpa')), email)
      assert.equal(fragment['error'], undefined)
      return { token: fragment['token']!, refreshToken: fragment['refreshToken']! }
    }

    async function start(
      name: string,
      linkSent: (typeof LINK_SENT)[number],
      origin: 'password' | 'provider',
    ) {
      const email = `${name}-${linkSent}@example.com`
      const early = linkSent === 'before' ? await link('magic-link', email) : undefined
      const registerAgain = () =>
        send(app, 'POST /auth/register', {
          body: { email, password: PASSWORD },
          headers: { 'idempotency-key': `register-${email}` },
        })
      let current: Tokens
      if (origin === 'password') {
        current = (await registerAgain()).body
        assert.equal((await registerAgain()).body.token, current.token)
      } else {
        issuer.people.set(email, { email, email_verified: false })
        current = await viaProvider(email)
      }
      const verify = tokenOf(await mailbox.next(email), 'verify')
      const other = origin === 'password' ? (await login(app, email)).body : await viaProvider(email)
      const links = {
        reset: await link('reset', email),
        'magic-link': early ?? (await link('magic-link', email)),
        verify,
      }
      for (const { token } of [current, other]) assert.equal((await me(app, token)).status, 200)
      return { email, current, other, links, registerAgain } satisfies Case
    }

    const CHANGES: Record<
      string,
      { origin?: 'provider'; keepsCurrent?: true; change: (account: Case) => Promise<unknown> }
    > = {
      'change-password': {
        keepsCurrent: true,
        change: ({ current: { token } }) =>
          send(app, 'POST /auth/change-password', {
            token,
            body: { currentPassword: PASSWORD, newPassword: 'another correct horse' },
          }),
      },
      'change-password-verified': {
        keepsCurrent: true,
        async change({ current: { token }, links }) {
          await send(app, 'POST /auth/verify-email', { body: { token: links.verify } })
          return send(app, 'POST /auth/change-password', {
            token,
            body: { currentPassword: PASSWORD, newPassword: 'another correct horse' },
          })
        },
      },
      'reset-password': {
        change: ({ links }) =>
          send(app, 'POST /auth/reset-password', {
            body: { token: links.reset, password: 'another correct horse' },
          }),
      },
      'magic-link': {
        change: ({ links }) =>
          send(app, 'POST /auth/verify-magic-link', { body: { token: links['magic-link'] } }),
      },
      'verify-admin': {
        change: ({ links }) => send(app, 'POST /auth/verify-email', { body: { token: links.verify } }),
      },
      'verified-by-provider': {
        origin: 'provider',
        async change({ email }) {
          issuer.people.set(email, { email, email_verified: true })
          await viaProvider(email)
          return { status: 200 }
        },
      },
      disable: {
        async change({ email }) {
          await users().disable(email)
          await users().enable(email)
          return { status: 200 }
        },
      },
      delete: {
        change: ({ current: { token } }) =>
          send(app, 'DELETE /auth/me', { token, body: { password: PASSWORD } }),
      },
    }

    const testOnce = testOnOne(engine)
    const testOf = (linkSent: (typeof LINK_SENT)[number]) => (linkSent === 'after' ? test : testOnce)
    for (const [name, { change, origin = 'password', keepsCurrent }] of Object.entries(CHANGES))
      for (const linkSent of LINK_SENT)
        testOf(linkSent)(
          `${name} ends sessions and voids links, with a magic link sent ${linkSent} the account existed`,
          async () => {
            const account = await start(name, linkSent, origin)
            const { email, current, other, links } = account
            assert.equal(((await change(account)) as { status: number }).status, 200)

            const revokedSessions = keepsCurrent ? [other] : [current, other]
            for (const { token, refreshToken } of revokedSessions) {
              assert.equal((await me(app, token)).status, 401)
              assert.equal((await refresh(app, refreshToken)).status, 401)
            }
            if (keepsCurrent) {
              assert.equal((await me(app, current.token)).status, 200)
              assert.equal((await refresh(app, current.refreshToken)).status, 200)
            }
            for (const [route, body] of [
              ['POST /auth/reset-password', { token: links.reset, password: 'a password of a stranger' }],
              ['POST /auth/verify-magic-link', { token: links['magic-link'] }],
            ] as const)
              assert.equal((await send(app, route, { body })).code, 'INVALID_TOKEN', route)
            if (origin === 'password') {
              // Only enabling the account again makes its password valid again.
              const old = await login(app, email)
              assert.equal(old.code, name === 'disable' ? undefined : 'INVALID_CREDENTIALS')
              const again = await account.registerAgain()
              if (name === 'delete') assert.notEqual(again.body.token, current.token)
              else assert.equal(again.code, 'EMAIL_TAKEN')
            }
          },
        )
  })
})
