// Transactions as CSV, with what the providers took of them.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { sql } from '../../../db/sql.ts'
import { startApp } from '../../../testing/app.ts'
import { eachEngine, someEngine } from '../../../testing/engines.ts'
import { RETURN_URLS, startTill, URLS } from '../pay.fixture.ts'

const HEADER =
  'id,createdAt,updatedAt,provider,status,currency,amount,refundedAmount,fee,net,feeCurrency,reference,paymentId,merchantReference,email,userId,metadata'

const manySql = (count: number) => sql`
  insert into pay_transactions (id, owner, provider, status, amount, currency, exponent, captured, refunded, reserved, is_settled,
    version, created_at, updated_at)
  with recursive numbers (i) as (select 1 union all select i + 1 from numbers where i < ${count})
  select 'many-' || (100000 + i), 'somebody', 'walletpay', 'pending', '100', 'EUR', 2, '0', '0', '0', 1, 0, 0, 0 from numbers`

describe('the export of transactions', () => {
  eachEngine((engine) => {
    test('has what meets the filters, safe for spreadsheets, whatever the number', async (t) => {
      const till = await startTill(t, engine, {
        environment: { SIXWIRE_POLICY: 'guarded', SIXWIRE_ADMINS: 'boss@example.com' },
      })
      const ada = await till.app.register()
      await till.call('POST /pay/cardpay/checkout', {
        items: [{ name: 'Book', amount: 123_456, currency: 'eur' }],
        ...URLS,
        merchantReference: '=HYPERLINK("https://evil.example","x")',
        metadata: { note: 'a "b", c' },
        email: 'ada@example.com',
        userId: ada._id,
      })
      // More than a page.
      for (let count = 0; count < 3; count++) await till.order(count + 1)
      await till.app.app.db.write(manySql(1_200))
      const read = async (query = '', token?: string) => {
        const { status, text, headers } = await till.call(
          `GET /pay/transactions.csv${query}`,
          undefined,
          token === undefined ? {} : { token },
        )
        assert.equal(status, 200, text)
        assert.match(headers.get('content-type')!, /^text\/csv; charset=utf-8/)
        const [header, ...lines] = text.trimEnd().split('\r\n')
        // The byte order mark is for spreadsheets.
        assert.equal(header, `\ufeff${HEADER}`)
        return lines
      }
      const all = await read()
      assert.equal(all.length, 1_204)
      assert.equal(new Set(all.map((line) => line.split(',', 1)[0])).size, 1_204)
      assert.equal((await read('?provider=walletpay')).length, 3 + 1_200)
      const [mine, ...others] = await read('', ada.token)
      assert.deepEqual(others, [])
      assert.deepEqual(await read('?email=ADA@example.com&status=pending'), [mine])
      assert.match(mine!, /,cardpay,pending,EUR,1234\.56,0\.00,,,,cs_\d+,,/)
      assert.ok(
        mine!.includes(`"'=HYPERLINK(""https://evil.example"",""x"")",ada@example.com,${ada._id}`),
        mine!,
      )
      assert.ok(mine!.endsWith('"{""note"":""a \\""b\\"", c""}"'), mine!)
    })
  })

  someEngine((engine) => {
    test('has the fees of Stripe and PayPal', async (t) => {
      const app = await startApp(t, engine, { sandbox: true })
      const { token } = await app.register()
      const post = async (path: string, body?: unknown) => {
        const answered = await app.request('POST', path, { token, body })
        assert.equal(answered.status, 200, answered.text)
        return answered.body
      }
      const items = [{ name: 'Book', amount: 5_000, currency: 'eur' }]
      const { sessionId, transactionId } = await post('/pay/cardpay/checkout', {
        items,
        ...URLS,
        email: 'ada@example.com',
      })
      await post(`/sandbox/api/cardpay/sessions/${sessionId}/pay`)
      const order = await post('/pay/walletpay/order', {
        amount: 20,
        currency: 'EUR',
        ...RETURN_URLS,
        email: 'ada@example.com',
      })
      await post(`/sandbox/api/walletpay/orders/${order.orderId}/approve`)
      await post(`/pay/walletpay/capture/${order.orderId}`)
      for (const id of [transactionId, order.transactionId]) {
        const read = async () => (await app.request('GET', `/pay/transactions/${id}`, { token })).body
        // The webhook comes after the payment.
        while ((await read()).status === 'pending') await app.app.service('pay').retrieve(id)
        const { fee, net, feeCurrency, displayAmount } = await read()
        assert.match(fee, /^\d+\.\d\d$/)
        assert.equal(feeCurrency, 'EUR')
        assert.equal((Number(fee) + Number(net)).toFixed(2), displayAmount)
        const { text } = await app.request('GET', '/pay/transactions.csv', { token })
        assert.ok(text.includes(`,EUR,${displayAmount},0.00,${fee},${net},EUR,`), text)
      }
    })
  })
})
