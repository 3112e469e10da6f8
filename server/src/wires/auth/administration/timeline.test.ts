import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { startApp, type TestApp } from '../../../testing/app.ts'
import { eachEngine, endOfSuite } from '../../../testing/engines.ts'
import { until } from '../../../testing/until.ts'

type Entry = {
  part: string
  at: string
  text: string
  detail?: string
  state?: string
  by?: string
  opens?: string
}

describe('the timeline of a user', () => {
  eachEngine((engine) => {
    const end = endOfSuite()
    let app: TestApp
    let admin: { _id: string; token: string }
    let user: { _id: string; token: string; email: string }

    const call = async (method: string, path: string, body?: object, token = user.token) => {
      const answer = await app.request(method, path, { token, body })
      assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`)
      return answer.body
    }
    const timeline = (query = '', token = admin.token) =>
      call('GET', `/auth/users/${user._id}/timeline${query}`, undefined, token)

    before(async () => {
      app = await startApp(end, engine, { sandbox: true })
      admin = await app.register()
      user = await app.register()
    })

    test('has what all wires know, newest first, with what opens each', async () => {
      const { _id: document } = await call('POST', '/store/notes', { text: 'one' })
      await call('PATCH', `/store/notes/${document}`, { text: 'two' })
      await call('DELETE', `/store/notes/${document}`)
      const { _id: wallet } = await call('POST', '/onchain/wallets', {})
      const { sessionId, transactionId } = await call('POST', '/pay/cardpay/checkout', {
        items: [{ name: 'Tea', amount: 1250, currency: 'eur' }],
        successUrl: 'https://shop.example/paid',
        cancelUrl: 'https://shop.example/',
      })
      await call('POST', `/sandbox/api/cardpay/sessions/${sessionId}/pay`)
      await until(
        async () => (await call('GET', `/pay/transactions/${transactionId}`)).status === 'completed',
      )
      await call('POST', '/pay/cardpay/refund', { transactionId, amount: 250 }, admin.token)
      const message = await call(
        'POST',
        '/messaging/email',
        { to: user.email, subject: 'Your tea', body: 'It is on its way.' },
        admin.token,
      )
      await app.app.service('auth').users.verify(user.email)
      const note = await call('POST', `/auth/users/${user._id}/notes`, { text: 'Likes tea.' }, admin.token)

      const { entries } = (await timeline('?limit=100')) as { entries: Entry[] }
      const times = entries.map(({ at }) => at)
      assert.deepEqual(times, times.toSorted().toReversed())
      const shown = (part: string) =>
        entries
          .filter((entry) => entry.part === part)
          .map(({ text, detail, state, by, opens }) => [text, detail, state, by, opens])
      assert.deepEqual(shown('documents'), [
        ['Document in notes', document, 'deleted', undefined, 'data/notes'],
        ['Document in notes', document, 'changed', undefined, `data/notes/${document}`],
        ['Document in notes', document, 'created', undefined, `data/notes/${document}`],
      ])
      assert.equal(shown('wallets')[0]![4], `wallets/${wallet}`)
      assert.deepEqual(shown('payments'), [
        ['Payment of 12.50 EUR', undefined, 'partially_refunded', undefined, `payments/${transactionId}`],
      ])
      assert.deepEqual(shown('refunds'), [
        ['Refund of 2.50 EUR', undefined, 'completed', undefined, `payments/${transactionId}`],
      ])
      const mail = shown('messages').find(([, subject]) => subject === 'Your tea')
      assert.equal(mail?.[4], `messages/${message.messageId.split('@')[0]}`)
      assert.deepEqual(shown('notes'), [['Note', 'Likes tea.', undefined, admin._id, undefined]])
      assert.deepEqual(
        shown('audit')
          .map(([text]) => text)
          .filter((text) => /^(note|user)/.test(text!)),
        ['note.created', 'user.verified'],
      )
      assert.equal(shown('sign-ins').length, 1)
      assert.deepEqual(shown('account').length, 1)

      // All of it by pages, each from where the one before ended.
      const paged: Entry[] = []
      for (let query = '?limit=3'; ;) {
        const page = await timeline(query)
        paged.push(...page.entries)
        if (page.nextCursor === undefined) break
        query = `?limit=3&cursor=${page.nextCursor}`
      }
      assert.deepEqual(paged, entries)

      // The user is told of no note.
      assert.equal(
        (await app.request('GET', `/auth/users/${user._id}/notes`, { token: user.token })).status,
        403,
      )
      await call('DELETE', `/auth/users/${user._id}/notes/${note._id}`, undefined, admin.token)
      assert.deepEqual((await call('GET', `/auth/users/${user._id}/notes`, undefined, admin.token)).notes, [])
    })

    test('is of nobody without an account, by a key of one wire, or behind a cursor that was made up', async () => {
      const { key } = await app.app.service('auth').keys.create('crm', ['auth'])
      const codeOf = async (path: string, token: string) => {
        const { status, body } = await app.request('GET', path, { token })
        return [status, body.error.code]
      }
      const at = `/auth/users/${user._id}/timeline`
      assert.deepEqual(await codeOf(at, key), [403, 'FORBIDDEN'])
      assert.deepEqual(await codeOf('/auth/users/nobody/timeline', admin.token), [404, 'NOT_FOUND'])
      assert.deepEqual(await codeOf('/auth/users/nobody/notes', admin.token), [404, 'NOT_FOUND'])
      for (const text of ['', ' ', 'a'.repeat(5_001), 'a\0b', '\ud800']) {
        const path = `/auth/users/${user._id}/notes`
        const { status } = await app.request('POST', path, { token: admin.token, body: { text } })
        assert.equal(status, 400, JSON.stringify(text.slice(0, 5)))
      }
      for (const cursor of [
        'x',
        Buffer.from('{"documents":"x y"}').toString('base64url'),
        Buffer.from('{"payments":1}').toString('base64url'),
      ])
        assert.deepEqual(await codeOf(`${at}?cursor=${cursor}`, admin.token), [400, 'VALIDATION_ERROR'])
      for (const place of ['1e999:x', '1.5:x', '99999999999999999999:x'])
        await timeline(`?cursor=${Buffer.from(JSON.stringify({ 'sign-ins': place })).toString('base64url')}`)
    })
  })
})
