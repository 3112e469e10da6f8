// Each link voids the earlier ones of its kind, so the mail that arrives last has to hold the one that works.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import type { TestApp } from '../../../testing/app.ts'
import { send, startReplicas } from '../../../testing/auth.ts'
import { eachEngine, endOfSuite } from '../../../testing/engines.ts'
import { startMailServer, type MailServer } from '../../../testing/mail-server.ts'
import { quietQueue, tokenOf, withMail } from '../../../testing/mailbox.ts'

const MAILS = 4
const SLOWNESS_MS = 50

describe('mails to one address', () => {
  eachEngine((engine) => {
    const ending = endOfSuite()
    let mail: MailServer
    let one: TestApp
    let two: TestApp
    before(async () => {
      mail = await startMailServer(ending)
      ;[one, two] = await startReplicas(ending, engine, withMail(mail))
    })

    for (const [route, page, use] of [
      ['POST /auth/forgot-password', 'reset', 'POST /auth/reset-password'],
      ['POST /auth/magic-link', 'magic-link', 'POST /auth/verify-magic-link'],
    ] as const)
      test(`arrive in the order of ${route}, however slow the mail server is with the first of them`, async () => {
        const { email } = await one.register()
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
