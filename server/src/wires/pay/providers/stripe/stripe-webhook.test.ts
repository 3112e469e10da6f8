import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { stillClock } from '../../../../testing/clock.ts'
import type { PaymentSubject } from '../provider.ts'
import {
  charge,
  dispute,
  event,
  KEY,
  open,
  ORDER,
  payment,
  refund,
  SECRET,
  session,
} from '../stripe.fixture.ts'
import { signed } from './stripe-signed.fixture.ts'

const NOW = Date.UTC(2026, 0, 1)
const at = (seconds: number): number => NOW + seconds * 1000
const EVENT = event(session({ metadata: { transaction_id: ORDER.id, note: 'Grüße 🎁' } }))
const isForged = { code: 'INVALID_SIGNATURE', status: 400 }

const receiver = (more: Parameters<typeof open>[0] = {}) => open(more, stillClock(NOW))
const signatureOf = (options: Parameters<typeof signed>[1]): string =>
  String(signed(EVENT, { at: NOW, ...options }).headers['stripe-signature'])
const v1 = (options: Parameters<typeof signed>[1]): string => signatureOf(options).split(',')[1]!

describe('the signature of a webhook', () => {
  for (const [what, seconds] of [
    ['now', 0],
    ['300 s ago', -300],
    ['in 300 s', 300],
  ] as const)
    test(`is accepted if it was made ${what}`, async () => {
      const [read] = await receiver().receive(signed(EVENT, { at: at(seconds) }))
      assert.equal(read?.id, 'evt_1')
    })

  for (const [what, seconds] of [
    ['301 s ago', -301],
    ['in 301 s', 301],
    ['in 1970', -NOW / 1000],
    ['in the year 9999', 251_000_000_000],
  ] as const)
    test(`is refused if it was made ${what}`, () =>
      assert.rejects(receiver().receive(signed(EVENT, { at: at(seconds) })), isForged))

  for (const [what, header] of [
    ['of which one is of another secret', (text: string) => `${text},${v1({ secret: 'whsec_old' })}`],
    [
      'of which the first is of another secret',
      (text: string) => text.replace(',', `,${v1({ secret: 'whsec_old' })},`),
    ],
    ['with one of another scheme', (text: string) => `${text},v0=${'0'.repeat(64)}`],
    ['with spaces between', (text: string) => text.replaceAll(',', ' , ')],
  ] as const)
    test(`is accepted in a list ${what}`, async () => {
      assert.equal((await receiver().receive(signed(EVENT, { at: NOW, header }))).length, 1)
    })

  for (const [what, header] of [
    ['in upper case', (text: string) => text.replace(/v1=.*/, (one) => `v1=${one.slice(3).toUpperCase()}`)],
    ['cut short', (text: string) => text.slice(0, -1)],
    ['longer', (text: string) => `${text}0`],
    ['empty', (text: string) => text.replace(/v1=.*/, 'v1=')],
    ['of another scheme', (text: string) => text.replace('v1=', 'v0=')],
    ['without a time', (text: string) => text.replace(/^t=\d+,/, '')],
    ['with two times', (text: string) => `t=${NOW / 1000 - 1},${text}`],
    ['with another time', (text: string) => text.replace(/^t=\d+/, `t=${NOW / 1000 + 1}`)],
    ['with a time that is no number', (text: string) => text.replace(/^t=/, 't=x')],
    ['with a time and more', (text: string) => text.replace(',', '.0,')],
    ['of garbage', () => '🎁=,=,,t=,v1'],
    ['of nothing but commas', () => ','.repeat(8000)],
    // Each would be compared: 13 ms a webhook.
    ['behind thousands of others', (text: string) => text.replace('v1=', 'v1=x,'.repeat(2000) + 'v1=')],
  ] as const)
    test(`is refused ${what}`, () =>
      assert.rejects(receiver().receive(signed(EVENT, { at: NOW, header })), isForged))

  for (const [what, change] of [
    ['with a space more', (text: string) => `${text} `],
    ['with a byte order mark', (text: string) => `\u{FEFF}${text}`],
    ['with other amounts', (text: string) => text.replace('3599', '3600')],
    ['written again', (text: string) => JSON.stringify(JSON.parse(text), null, 1)],
    ['empty', () => ''],
  ] as const)
    test(`is refused for bytes ${what}`, async () => {
      const webhook = signed(EVENT, { at: NOW })
      const bytes = Buffer.from(change(webhook.bytes.toString()))
      await assert.rejects(receiver().receive({ ...webhook, bytes }), isForged)
    })

  test('is refused for bytes that only decode to what was signed', async () => {
    // U+FFFD stands for any byte that is not UTF-8.
    const webhook = signed({ ...EVENT, note: '\u{FFFD}' }, { at: NOW })
    const bytes = Buffer.from(webhook.bytes.toString('latin1').replace('\xef\xbf\xbd', '\xff'), 'latin1')
    assert.equal(bytes.toString(), webhook.bytes.toString())
    await assert.rejects(receiver().receive({ ...webhook, bytes }), isForged)
  })

  test('is required before the body is read', () => {
    const one = receiver()
    assert.throws(() => one.authorize!({}), isForged)
    assert.throws(() => one.authorize!({ 'stripe-signature': '' }), isForged)
    one.authorize!({ 'stripe-signature': 'x' })
  })

  for (const [what, webhookSecret] of [
    ['without a secret', undefined],
    ['with an empty secret', ''],
    ['with a blank secret', ' \n'],
  ] as const)
    test(`is never accepted ${what}`, async () => {
      // `undefined` replaces the secret of the fixture.
      const one = open({ webhookSecret }, stillClock(NOW))
      const isMissing = { code: 'PROVIDER_NOT_CONFIGURED', message: /STRIPE_WEBHOOK_SECRET/ }
      const webhook = signed(EVENT, { at: NOW, secret: webhookSecret || 'x' })
      assert.throws(() => one.authorize!(webhook.headers), isMissing)
      await assert.rejects(one.receive(webhook), isMissing)
    })
})

describe('the subject of a webhook', () => {
  const ours = { transactionId: ORDER.id }
  const subjectOf = async (content: unknown, secretKey = KEY): Promise<PaymentSubject | undefined> => {
    const events = await receiver({ secretKey }).receive(signed(content, { at: NOW }))
    assert.equal(events.length, 1)
    return events[0]!.subject
  }

  for (const [what, object, subject] of [
    ['a session', session(), { reference: 'cs_1', ...ours }],
    [
      'a session that is paid',
      session({ payment_intent: 'pi_1' }),
      { reference: 'cs_1', paymentId: 'pi_1', ...ours },
    ],
    ["another integration's session", session({ metadata: {} }), { reference: 'cs_1' }],
    ['a payment intent', payment(), { paymentId: 'pi_1', ...ours }],
    ['a charge', charge(), { paymentId: 'pi_1', ...ours }],
    ['a charge without a payment intent', charge({ payment_intent: null }), undefined],
    ['a refund', refund(), { paymentId: 'pi_1', ...ours, objects: [{ kind: 'refund', id: 're_1' }] }],
    [
      "a refund in Stripe's dashboard",
      refund({ metadata: {} }),
      { paymentId: 'pi_1', objects: [{ kind: 'refund', id: 're_1' }] },
    ],
    ['a dispute', dispute(), { paymentId: 'pi_1', objects: [{ kind: 'dispute', id: 'dp_1' }] }],
    ['a dispute of a charge of old', dispute({ payment_intent: null }), undefined],
    ['a customer', { id: 'cus_1', object: 'customer', metadata: { transaction_id: ORDER.id } }, undefined],
    ['an object without an id', { object: 'payment_intent' }, undefined],
    ['nothing', null, undefined],
  ] as const)
    test(`is read of ${what}`, async () => {
      assert.deepEqual(await subjectOf(event(object as object)), subject)
    })

  test('is absent for events of another mode than the key', async () => {
    const live = event(session(), { livemode: true })
    const testing = event(session())
    const isUsed = async (content: unknown, key: string): Promise<boolean> =>
      (await subjectOf(content, key)) !== undefined
    for (const key of ['sk_live_1', 'rk_live_1']) {
      assert.equal(await isUsed(live, key), true)
      assert.equal(await isUsed(testing, key), false)
    }
    for (const key of ['sk_test_1', 'rk_test_1', 'sandbox']) {
      assert.equal(await isUsed(live, key), false)
      assert.equal(await isUsed(testing, key), true)
    }
    assert.equal(await isUsed(event(session(), { livemode: undefined }), KEY), false)
  })

  test('is absent for events of the second API', async () => {
    const thin = {
      id: 'evt_test_65R9',
      object: 'v2.core.event',
      type: 'v2.core.account.updated',
      livemode: false,
      created: '2026-01-01T00:00:00.000Z',
      related_object: { id: 'acct_1', type: 'account', url: '/v2/accounts/acct_1' },
    }
    assert.deepEqual(await receiver().receive(signed(thin, { at: NOW })), [
      { id: 'evt_test_65R9', type: 'v2.core.account.updated', payload: thin },
    ])
  })
})

test('the secret of the webhook is used as it is, without what a file adds', async () => {
  const webhook = signed(EVENT, { at: NOW })
  assert.equal((await receiver({ webhookSecret: `${SECRET}\n` }).receive(webhook)).length, 1)
})
