// Nobody who asks waits for the mail server: it may take the connection and say nothing.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { startApp } from '../../../testing/app.ts'
import { PASSWORD, send } from '../../../testing/auth.ts'
import { someEngine } from '../../../testing/engines.ts'
import { startMailServer } from '../../../testing/mail-server.ts'
import { tokenOf, withMail } from '../../../testing/mailbox.ts'

describe('a mail server that takes the connection and says nothing', () => {
  someEngine((engine) => {
    test('keeps nobody waiting, and has each mail once it answers', async (t) => {
      const mail = await startMailServer(t)
      const greeting = Promise.withResolvers<void>()
      mail.onConnect = () => greeting.promise
      /** Repeats the calls until a connection outlasts them, which it would not if they waited for their mails. */
      async function during<T>(ask: () => Promise<T>): Promise<T> {
        for (;;) {
          const { opened, closed } = mail.connections()
          if (opened === closed) await delay(5)
          else {
            const answered = await ask()
            if (mail.connections().closed === closed) return answered
          }
        }
      }
      const app = await startApp(t, engine, withMail(mail))
      const owner = await app.register('owner@example.com') // and the first mail takes a connection
      let people = 0

      const { newcomer, visitor } = await during(async () => {
        const newcomer = `newcomer${++people}@example.com`
        const visitor = `visitor${people}@example.com`
        const body = { email: newcomer, password: PASSWORD }
        assert.equal((await send(app, 'POST /auth/register', { body })).status, 201)
        for (const [route, email] of [
          ['POST /auth/forgot-password', owner.email],
          ['POST /auth/magic-link', visitor],
        ] as const)
          assert.equal((await send(app, route, { body: { email } })).status, 200, route)
        return { newcomer, visitor }
      })
      assert.deepEqual(mail.received, [])

      greeting.resolve()
      const uses = async (route: string, token: string, more: object = {}) =>
        assert.equal((await send(app, route, { body: { token, ...more } })).status, 200, route)
      await uses('POST /auth/verify-email', tokenOf(await mail.mailTo(newcomer), 'verify'))
      await uses('POST /auth/verify-magic-link', tokenOf(await mail.mailTo(visitor), 'magic-link'))
      const tokens = new Map<string, string>()
      while (tokens.size < 2) {
        const next = await mail.mailTo(owner.email)
        const page = next.parsed.text!.includes('/auth/reset#') ? 'reset' : 'verify'
        tokens.set(page, tokenOf(next, page))
      }
      await uses('POST /auth/reset-password', tokens.get('reset')!, { password: 'another horse battery' })
    })
  })
})
