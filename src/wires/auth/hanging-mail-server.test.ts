// Nobody who asks waits for the mail server: it may take the connection and say nothing.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { describe, test } from 'node:test'

import { startApp } from '../../testing/app.ts'
import { PASSWORD, send } from '../../testing/auth.ts'
import { eachEngine, type Ending } from '../../testing/engines.ts'
import { startMailbox, tokenOf, withMail, type Mailbox } from '../../testing/mailbox.ts'

/** Takes connections on the mailbox's behalf, and is silent until it is told to answer. */
async function startSilence(ending: Ending, mailbox: Mailbox) {
  const held = new Set<Socket>()
  const { port: answering } = new URL(mailbox.url)
  let isSilent = true
  let givenUp = 0
  let taking = Promise.withResolvers<void>()
  const server = createServer((socket) => {
    held.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => {
      held.delete(socket)
      givenUp++
    })
    if (isSilent) {
      socket.resume()
      taking.resolve()
      taking = Promise.withResolvers()
      return
    }
    const onward = connect(Number(answering), '127.0.0.1')
    socket.pipe(onward).pipe(socket)
    socket.on('close', () => onward.destroy())
    onward.on('error', () => socket.destroy())
  })
  const hangUp = () => {
    for (const socket of held) socket.destroy()
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  ending.after(async () => {
    hangUp()
    server.close()
    await once(server, 'close')
  })
  return {
    url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** What was answered while a connection stood that nobody gave up meanwhile: who waits for the mail never gets there. */
    async during<T>(ask: () => Promise<T>): Promise<T> {
      for (;;) {
        if (held.size === 0) await taking.promise
        const before = givenUp
        const answered = await ask()
        if (givenUp === before) return answered
      }
    },
    answer() {
      isSilent = false
      hangUp()
    },
  }
}

describe('a mail server that takes the connection and says nothing', () => {
  eachEngine((engine) => {
    test('keeps nobody waiting, and has each mail once it answers', async (t) => {
      const mailbox = await startMailbox(t)
      const silence = await startSilence(t, mailbox)
      const app = await startApp(t, engine, withMail({ ...mailbox, url: silence.url }))
      const owner = await app.register('owner@example.com') // and the first mail takes a connection
      let people = 0

      const { newcomer, visitor } = await silence.during(async () => {
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
      assert.deepEqual(mailbox.mails, [])

      silence.answer()
      const uses = async (route: string, token: string, more: object = {}) =>
        assert.equal((await send(app, route, { body: { token, ...more } })).status, 200, route)
      await uses('POST /auth/verify-email', tokenOf(await mailbox.next(newcomer), 'verify'))
      await uses('POST /auth/verify-magic-link', tokenOf(await mailbox.next(visitor), 'magic-link'))
      const tokens = new Map<string, string>()
      while (tokens.size < 2) {
        const mail = await mailbox.next(owner.email)
        const page = mail.parsed.text!.includes('/auth/reset#') ? 'reset' : 'verify'
        tokens.set(page, tokenOf(mail, page))
      }
      await uses('POST /auth/reset-password', tokens.get('reset')!, { password: 'another horse battery' })
    })
  })
})
