// Each link voids the earlier ones of its kind, so the mail that arrives last has to hold the one that works.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { startApp } from '../../../testing/app.ts'
import { send } from '../../../testing/auth.ts'
import { eachEngine } from '../../../testing/engines.ts'
import { startMailServer } from '../../../testing/mail-server.ts'
import { quietQueue, tokenOf, withMail } from '../../../testing/mailbox.ts'

const MAILS = 4
const SLOWNESS_MS = 50

describe('mails to one address', () => {
  eachEngine((engine) => {
    for (const [route, page, use] of [
      ['POST /auth/forgot-password', 'reset', 'POST /auth/reset-password'],
      ['POST /auth/magic-link', 'magic-link', 'POST /auth/verify-magic-link'],
    ] as const)
      test(`arrive in the order of ${route}, however slow the mail server is with the first of them`, async (t) => {
        const mail = await startMailServer(t)
        const one = await startApp(t, engine, withMail(mail, { databaseUrl: await engine.migratedUrl() }))
        const two = await startApp(t, engine, withMail(mail, { databaseUrl: one.app.settings.databaseUrl }))
        const { email } = await one.register('ada@example.com')
        await quietQueue(one)
        mail.reset()
        // The later a mail is begun, the less its connection is held up.
        mail.onBegun = () => delay(Math.max(0, MAILS - mail.begun()) * SLOWNESS_MS)
        for (let n = 0; n < MAILS; n++)
          assert.equal((await send(n % 2 === 0 ? one : two, route, { body: { email } })).status, 200)
        await quietQueue(one)
        assert.equal(mail.received.length, MAILS)
        const tokens = mail.received.map((received) => tokenOf(received, page))
        for (const [at, token] of tokens.entries()) {
          const { status } = await send(one, use, { body: { token, password: 'another horse battery' } })
          assert.equal(status, at === MAILS - 1 ? 200 : 400, `mail ${at + 1} of ${MAILS}`)
        }
      })
  })
})
