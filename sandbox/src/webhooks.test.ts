// What becomes of a webhook, and what can be done with it by hand.
import assert from 'node:assert/strict'
import { before, beforeEach, test } from 'node:test'

import { endOfSuite, someEngine } from '../../server/src/testing/engines.ts'
import type { LoggedWebhook } from './webhook-rows.ts'
import { signatureOf, startReceiver, startSandbox } from './webhooks.fixture.ts'
import { until } from '../../server/src/testing/until.ts'

const statusesOf = (webhooks: readonly LoggedWebhook[]) => webhooks.map(({ status }) => status)

someEngine((engine) => {
  const ending = endOfSuite()
  let receiver: Awaited<ReturnType<typeof startReceiver>>
  let sandbox: Awaited<ReturnType<typeof startSandbox>>
  before(async () => {
    receiver = await startReceiver(ending)
    sandbox = await startSandbox(ending, engine, receiver)
  })
  // Tests that leave attempts under way have a server of their own.
  beforeEach(async () => {
    assert.equal((await sandbox.call('DELETE', '')).status, 200)
    receiver.deliveries.length = 0
    receiver.answer = () => ({ status: 200 })
  })

  test('a webhook is sent once, signed, and stays in the log', async () => {
    await sandbox.report(['evt_1'])
    await until(async () => (await sandbox.onlyWebhook()).status === 'delivered')
    const [{ body, headers }] = receiver.deliveries as [(typeof receiver.deliveries)[0]]
    assert.equal(headers['test-signature'], signatureOf('evt_1', body))
    assert.equal(headers['content-type'], 'application/json')
    const { id, createdAt, dueAt, deliveredAt, ...rest } = await sandbox.onlyWebhook()
    assert.match(id, /^[0-9a-z]{26}$/)
    assert.ok(createdAt <= dueAt && dueAt <= deliveredAt!)
    assert.deepEqual(rest, {
      provider: 'cardpay',
      eventId: 'evt_1',
      type: 'charge.succeeded',
      objectId: 'ch_evt_1',
      status: 'delivered',
      attempts: 1,
      lastStatus: 200,
      lastError: null,
      url: receiver.url,
      headers: { 'content-type': 'application/json', 'test-signature': signatureOf('evt_1', body) },
      body,
    })
    assert.equal(receiver.deliveries.length, 1)
  })

  test('the log lists the newest first, of one provider or of all', async () => {
    await sandbox.report(['evt_1', 'evt_2'], { fault: 'held' })
    await sandbox.report(['WH-3'], { fault: 'held', provider: 'walletpay' })
    const ids = async (query: string) => (await sandbox.logged(query)).map(({ eventId }) => eventId)
    assert.deepEqual(await ids(''), ['WH-3', 'evt_2', 'evt_1'])
    assert.deepEqual(await ids('?limit=2'), ['WH-3', 'evt_2'])
    assert.deepEqual(await ids('?provider=cardpay'), ['evt_2', 'evt_1'])
    assert.deepEqual(await ids('?provider=walletpay'), ['WH-3'])
    assert.deepEqual(await ids('?provider=pigeon'), [])
    const webhooks = await sandbox.counts()
    assert.deepEqual([webhooks.held, webhooks.waiting, webhooks.delivered], [3, 0, 0])
  })

  test('a webhook that is refused is sent again with growing pauses, and fails after eight attempts', async () => {
    receiver.answer = () => ({ status: 503, body: 'not\n\0now\u001b[2J '.repeat(1_000) })
    let attemptedFrom = sandbox.clock.now()
    await sandbox.report(['evt_1'])
    for (let attempts = 1; attempts <= 8; attempts++) {
      await until(async () => (await sandbox.onlyWebhook()).attempts === attempts)
      const { status, lastStatus, lastError, dueAt } = await sandbox.onlyWebhook()
      assert.equal(status, attempts < 8 ? 'waiting' : 'failed')
      assert.equal(lastStatus, 503)
      assert.match(lastError!, /^not now \[2J not now/)
      assert.ok(lastError!.length <= 300)
      if (attempts === 8) break
      const due = Date.parse(dueAt)
      const attemptedAt = due - 1_000 * 2 ** (attempts - 1)
      assert.ok(
        attemptedFrom <= attemptedAt && attemptedAt <= sandbox.clock.now(),
        `after attempt ${attempts}`,
      )
      attemptedFrom = due
      sandbox.clock.advance(due - sandbox.clock.now())
    }
    assert.equal(receiver.deliveries.length, 8)
    assert.equal(new Set(receiver.deliveries.map(({ body }) => body)).size, 1)
    assert.equal(await sandbox.webhooks('cardpay').waiting(), 0)
    assert.match(sandbox.log(), /"level":40.*a webhook of the sandbox failed/)

    // Sending it by hand resets its attempts.
    receiver.answer = ({ eventId }) =>
      receiver.deliveries.length < 10 ? { status: 500, body: eventId } : { status: 204 }
    const { id } = await sandbox.onlyWebhook()
    const resent = await sandbox.call('POST', `/webhooks/${id}/resend`)
    assert.deepEqual([resent.status, resent.body.status], [200, 'waiting'])
    await until(
      async () => (sandbox.clock.advance(1_000), (await sandbox.onlyWebhook()).status === 'delivered'),
    )
    const { attempts, lastStatus, lastError } = await sandbox.onlyWebhook()
    assert.deepEqual([attempts, lastStatus, lastError], [10, 204, null])
  })

  test('answers that are no delivery: redirections, no connection, an answer that breaks off', async (t) => {
    const receiver = await startReceiver(t)
    const sandbox = await startSandbox(t, engine, receiver)
    receiver.answer = () => ({ status: 302, headers: { location: '/elsewhere' } })
    await sandbox.report(['evt_1'])
    await until(async () => (await sandbox.onlyWebhook()).attempts === 1)
    const redirected = await sandbox.onlyWebhook()
    assert.deepEqual([redirected.lastStatus, redirected.lastError], [302, 'It was answered with 302.'])
    receiver.answer = () => ({ status: 200, breaksOff: true })
    await sandbox.call('POST', `/webhooks/${redirected.id}/drop`)
    await sandbox.report(['evt_2'])
    await until(async () => (await sandbox.logged())[0]!.attempts === 1)
    const [brokenOff] = await sandbox.logged()
    assert.deepEqual([brokenOff!.status, brokenOff!.lastStatus], ['waiting', null])
    assert.ok(brokenOff!.lastError)

    const deaf = await startSandbox(t, engine, { url: 'http://127.0.0.1:9/webhook' })
    await deaf.report(['evt_1'])
    await until(async () => (await deaf.onlyWebhook()).attempts === 1)
    const { status, lastStatus, lastError } = await deaf.onlyWebhook()
    assert.deepEqual([status, lastStatus], ['waiting', null])
    assert.match(lastError!, /ECONNREFUSED|bad port/)
  })

  test('webhooks that nobody answers hold up no others', async (t) => {
    const receiver = await startReceiver(t)
    receiver.answer = ({ eventId }) => (eventId === 'evt_1' ? undefined : { status: 200 })
    const sandbox = await startSandbox(t, engine, receiver)
    await sandbox.report(['evt_1', 'evt_2'])
    await until(async () => (await sandbox.logged())[0]!.status === 'delivered')
    assert.deepEqual(statusesOf(await sandbox.logged()), ['delivered', 'waiting'])
  })

  test('faults: webhooks that are lost, held, doubled or late', async () => {
    for (const provider of ['cardpay', 'walletpay'])
      for (const callback of ['lost', 'held', 'doubled', 'late'])
        assert.equal((await sandbox.call('PUT', `/faults/${provider}`, { callback })).status, 200)
    await sandbox.report(['evt_lost'], { fault: 'lost' })
    await sandbox.report(['evt_held'], { fault: 'held' })
    await sandbox.report(['evt_late'], { fault: 'late' })
    await sandbox.report(['evt_doubled'], { fault: 'doubled' })
    await until(() => receiver.deliveries.length === 2)
    await until(async () => (await sandbox.webhooks('cardpay').waiting()) === 1)
    assert.deepEqual(receiver.eventIds(), ['evt_doubled', 'evt_doubled'])
    assert.deepEqual(statusesOf(await sandbox.logged()), [
      'delivered',
      'delivered',
      'waiting',
      'held',
      'lost',
    ])
    sandbox.clock.advance(29_000)
    await sandbox.report(['evt_now'])
    await until(() => receiver.deliveries.length === 3)
    sandbox.clock.advance(1_000)
    await until(() => receiver.deliveries.length === 4)
    assert.deepEqual(receiver.eventIds().slice(2), ['evt_now', 'evt_late'])

    const ofEvent = async (eventId: string) =>
      (await sandbox.logged()).find((one) => one.eventId === eventId)!
    for (const eventId of ['evt_lost', 'evt_held']) {
      const sent = await sandbox.call('POST', `/webhooks/${(await ofEvent(eventId)).id}/resend`)
      assert.equal(sent.body.status, 'waiting')
      await until(async () => (await ofEvent(eventId)).status === 'delivered')
    }
    assert.deepEqual(receiver.eventIds().slice(4), ['evt_lost', 'evt_held'])
  })

  test('a webhook that was delivered can be sent again: the same event, and the same bytes', async () => {
    await sandbox.report(['evt_1'])
    await until(async () => (await sandbox.onlyWebhook()).status === 'delivered')
    const { id, deliveredAt } = await sandbox.onlyWebhook()
    sandbox.clock.advance(5_000)
    await sandbox.call('POST', `/webhooks/${id}/resend`)
    await until(async () => (await sandbox.onlyWebhook()).attempts === 2)
    const [first, second] = receiver.deliveries
    assert.equal(second!.body, first!.body)
    const again = await sandbox.onlyWebhook()
    assert.deepEqual([again.status, again.id], ['delivered', id])
    assert.ok(again.deliveredAt! > deliveredAt!)
  })

  test('a webhook that waits or is held can be delayed, and dropped', async () => {
    await sandbox.report(['evt_1'], { fault: 'held' })
    await sandbox.report(['evt_2'], { fault: 'late' })
    const [second, first] = (await sandbox.logged()) as [LoggedWebhook, LoggedWebhook]
    const before = sandbox.clock.now()
    const delayed = await sandbox.call('POST', `/webhooks/${first.id}/delay`, { ms: 3_600_000 })
    assert.deepEqual([delayed.status, delayed.body.status], [200, 'waiting'])
    assert.ok(Date.parse(delayed.body.dueAt) >= before + 3_600_000)
    await sandbox.call('POST', `/webhooks/${second.id}/delay`, { ms: 3_600_000 })
    // The job that it had is due by now, and does nothing.
    sandbox.clock.advance(40_000)
    await sandbox.report(['evt_3'])
    await until(async () => (await sandbox.logged())[0]!.status === 'delivered')
    const dropped = await sandbox.call('POST', `/webhooks/${second.id}/drop`)
    assert.deepEqual([dropped.status, dropped.body.status], [200, 'dropped'])
    sandbox.clock.advance(3_600_000)
    await until(async () => (await sandbox.webhooks('cardpay').waiting()) === 0)
    assert.deepEqual(receiver.eventIds(), ['evt_3', 'evt_1'])
    assert.deepEqual(statusesOf(await sandbox.logged()), ['delivered', 'dropped', 'delivered'])

    for (const [id, path, body] of [
      [first.id, 'delay', { ms: 0 }],
      [first.id, 'drop', undefined],
      [second.id, 'delay', { ms: 0 }],
      [second.id, 'drop', undefined],
    ] as [string, string, unknown][]) {
      const refused = await sandbox.call('POST', `/webhooks/${id}/${path}`, body)
      assert.deepEqual([refused.status, refused.body.error.code], [409, 'CONFLICT'])
      assert.match(refused.body.error.message, /^This webhook is (delivered|dropped): /)
    }
    assert.deepEqual(statusesOf(await sandbox.logged()), ['delivered', 'dropped', 'delivered'])
  })

  test('a webhook that is dropped while it is sent stays dropped, and shows the answer', async () => {
    const drop = Promise.withResolvers<void>()
    receiver.answer = () => {
      void (async () => {
        await sandbox.call('POST', `/webhooks/${(await sandbox.onlyWebhook()).id}/drop`)
        drop.resolve()
      })()
      return { status: 500, headers: { connection: 'close' } }
    }
    await sandbox.report(['evt_1'])
    await drop.promise
    await until(async () => (await sandbox.onlyWebhook()).attempts === 1)
    sandbox.clock.advance(10_000)
    await until(async () => (await sandbox.onlyWebhook()).status === 'dropped')
    assert.deepEqual([receiver.deliveries.length, (await sandbox.onlyWebhook()).lastStatus], [1, 500])
  })

  test('requests that mean nothing are refused', async () => {
    await sandbox.report(['evt_1'], { fault: 'held' })
    const { id } = await sandbox.onlyWebhook()
    for (const [method, path, body, status] of [
      ['GET', '/webhooks?limit=0', undefined, 400],
      ['GET', '/webhooks?limit=1001', undefined, 400],
      ['POST', '/webhooks/unknown/resend', undefined, 404],
      ['POST', '/webhooks/unknown/drop', undefined, 404],
      ['POST', '/webhooks/unknown/delay', { ms: 1 }, 404],
      ['POST', '/webhooks/%00/resend', undefined, 400],
      ['POST', `/webhooks/${id}/delay`, undefined, 400],
      ['POST', `/webhooks/${id}/delay`, { ms: -1 }, 400],
      ['POST', `/webhooks/${id}/delay`, { ms: 86_400_001 }, 400],
      ['POST', `/webhooks/${id}/delay`, { ms: 'soon' }, 400],
      ['POST', `/webhooks/${id}/lose`, undefined, 404],
    ] as [string, string, unknown, number][])
      assert.equal((await sandbox.call(method, path, body)).status, status, `${method} ${path}`)
    assert.equal((await sandbox.onlyWebhook()).status, 'held')
  })

  test('a restart loses none, and what ends with the server is no attempt', async (t) => {
    const receiver = await startReceiver(t)
    receiver.answer = ({ eventId }) => (eventId === 'evt_silent' ? undefined : { status: 503 })
    const databaseUrl = await engine.migratedUrl()
    const first = await startSandbox(t, engine, { ...receiver, databaseUrl })
    await first.report(['evt_silent', 'evt_refused'])
    await first.report(['evt_held'], { fault: 'held' })
    await until(async () => (await first.logged())[1]!.attempts === 1 && receiver.deliveries.length === 2)
    await first.stop()
    receiver.answer = () => ({ status: 200 })
    const second = await startSandbox(t, engine, { ...receiver, databaseUrl, clock: first.clock })
    const [held, refused, silent] = await second.logged()
    // On a slow machine the retry may be over already.
    const { attempts } = refused!
    assert.deepEqual([held!.status, attempts > 0, silent!.eventId], ['held', true, 'evt_silent'])
    second.clock.advance(1_000)
    await until(async () => (await second.webhooks('cardpay').waiting()) === 0)
    const after = await second.logged()
    assert.deepEqual(
      after.map(({ status, attempts }) => [status, attempts]),
      [
        ['held', 0],
        ['delivered', refused!.status === 'delivered' ? attempts : attempts + 1],
        ['delivered', 1],
      ],
    )
  })

  test('two servers on one database send each webhook once', async (t) => {
    const receiver = await startReceiver(t)
    const databaseUrl = await engine.migratedUrl()
    const one = await startSandbox(t, engine, { ...receiver, databaseUrl })
    const two = await startSandbox(t, engine, { ...receiver, databaseUrl, clock: one.clock })
    const ids = Array.from({ length: 40 }, (_, at) => `evt_${at}`)
    await Promise.all([one.report(ids.slice(0, 20)), two.report(ids.slice(20), { provider: 'walletpay' })])
    await until(
      async () =>
        (await one.webhooks('cardpay').waiting()) + (await two.webhooks('walletpay').waiting()) === 0,
    )
    assert.deepEqual(receiver.eventIds().toSorted(), ids.toSorted())
    const [{ id }] = (await two.logged()) as [LoggedWebhook]
    await one.call('POST', `/webhooks/${id}/resend`)
    await until(async () => (await two.logged()).every(({ status }) => status === 'delivered'))
    await until(() => receiver.deliveries.length === 41)
  })

  test('the newest 1,000 of a provider are kept, and those that wait', async () => {
    await sandbox.report(['evt_held'], { fault: 'held' })
    await sandbox.report(['evt_oldest'], { fault: 'lost' })
    await sandbox.report(['WH-1'], { fault: 'lost', provider: 'walletpay' })
    const ids = Array.from({ length: 1_000 }, (_, at) => `evt_${at}`)
    await sandbox.report(ids, { fault: 'lost' })
    const webhooks = await sandbox.counts()
    assert.deepEqual([webhooks.lost, webhooks.held], [1_001, 1])
    const found = await sandbox.logged('?provider=cardpay')
    assert.deepEqual([found.length, found[0]!.eventId], [1_000, 'evt_999'])
  })

  test('a reset deletes them, and sends none of those that waited', async () => {
    await sandbox.report(['evt_1'], { fault: 'late' })
    await sandbox.report(['WH-1'], { fault: 'late', provider: 'walletpay' })
    await sandbox.app.db.write(sandbox.webhooks('cardpay').deleteSql())
    assert.deepEqual(
      (await sandbox.logged()).map(({ eventId }) => eventId),
      ['WH-1'],
    )
    assert.equal((await sandbox.call('DELETE', '')).status, 200)
    assert.deepEqual(await sandbox.logged(), [])
    sandbox.clock.advance(60_000)
    await sandbox.report(['evt_2'])
    await until(async () => (await sandbox.onlyWebhook()).status === 'delivered')
    assert.deepEqual(receiver.eventIds(), ['evt_2'])
  })

  test('each change is announced to pages', async (t) => {
    const gone = new AbortController()
    const response = await fetch(`${sandbox.url}/sandbox/api/events`, { signal: gone.signal })
    t.after(async () => gone.abort())
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
    async function change(): Promise<void> {
      let text = ''
      while (!text.includes('data: webhooks\n')) {
        const read = reader.read()
        sandbox.clock.advance(500)
        text += (await read).value
      }
    }
    await reader.read()
    await sandbox.report(['evt_1'], { fault: 'held' })
    await change()
    const { id } = await sandbox.onlyWebhook()
    await sandbox.call('POST', `/webhooks/${id}/delay`, { ms: 60_000 })
    await change()
    await sandbox.call('POST', `/webhooks/${id}/delay`, { ms: 70_000 })
    await change()
    await sandbox.call('POST', `/webhooks/${id}/drop`)
    await change()
  })
})
