// PayPal's answers, silences and webhooks, by the suite of all payment providers.
import { once } from 'node:events'

import { startPeer } from '../../../../outbound/peer.fixture.ts'
import { describePaymentProvider, type CallEnd } from '../../../../testing/payment-conformance.ts'
import {
  account,
  APPROVE_URL,
  CAPTURE_ID,
  captured,
  captureOrder,
  CHAIN_PEM,
  CLIENT_ID,
  CLIENT_SECRET,
  DISPUTE_ID,
  disputed,
  happened,
  json,
  open,
  order,
  ORDER_ID,
  ordered,
  problem,
  REFUND_ID,
  refunded,
  refundOrder,
  serve,
  TOKEN,
  TRANSACTION,
  webhook,
} from '../paypal.fixture.ts'
import {
  answered,
  reply,
  unprocessable,
  redirect,
  refusals,
  undecided,
  incomplete,
  anyVerb,
  named,
  silent,
} from './paypal-ends.fixture.ts'

let certUrl = ''

describePaymentProvider({
  name: 'paypal',
  calls: {
    create: order(),
    capture: captureOrder(),
    refund: refundOrder(),
    retrieve: { reference: ORDER_ID, since: 0 },
    events: Date.now() - 3_600_000,
  },
  secrets: [CLIENT_SECRET, TOKEN, Buffer.from(`${CLIENT_ID}:${CLIENT_SECRET}`).toString('base64')],

  async working(t, clock) {
    let wait = async (): Promise<void> => undefined
    const { apiBase, changes } = await serve(t, (asked, response) => {
      void (asked.method === 'POST' ? wait() : Promise.resolve()).then(() => account()(asked, response))
    })
    return { provider: open({ apiBase }, clock), asked: changes, hold: (next) => void (wait = next) }
  },

  ends: [
    ...anyVerb.flatMap((verb): CallEnd[] => [
      {
        what: 'PayPal answers 401',
        verb,
        kind: 'retry',
        start: reply(401, problem('AUTHENTICATION_FAILURE')),
      },
      {
        what: 'PayPal answers 429 with a time to wait',
        verb,
        kind: 'retry',
        afterMs: 7000,
        start: reply(429, problem('RATE_LIMIT_REACHED'), { 'retry-after': '7' }),
      },
      {
        what: 'PayPal answers 500',
        verb,
        kind: 'unknown',
        start: reply(500, problem('INTERNAL_SERVER_ERROR')),
      },
      {
        what: 'PayPal answers 503',
        verb,
        kind: 'unknown',
        start: reply(503, problem('SERVICE_UNAVAILABLE')),
      },
      {
        what: 'PayPal forbids it',
        verb,
        kind: 'refused',
        reason: 'PayPal PERMISSION_DENIED: It is PERMISSION_DENIED. (debug id f5e4d3c2)',
        start: reply(403, problem('NOT_AUTHORIZED', 'PERMISSION_DENIED')),
      },
      {
        what: 'a proxy answers 404 with a page',
        verb,
        kind: 'refused',
        reason: 'PayPal answered 404',
        start: answered((_asked, response) => response.writeHead(404).end('<h1>no</h1>')),
      },
      {
        what: 'the connection is cut',
        verb,
        kind: 'unknown',
        start: answered((_asked, response) => void response.destroy()),
      },
      {
        what: 'the answer has more than a mebibyte',
        verb,
        kind: 'unknown',
        start: answered((_asked, response) => response.writeHead(201).end(Buffer.alloc(1_100_000, 32))),
      },
      ...undecided(verb, 409, ['PREVIOUS_REQUEST_IN_PROGRESS', 'ANYTHING_ELSE']),
      ...undecided(verb, 422, ['DUPLICATE_REQUEST_ID', 'DUPLICATE_INVOICE_ID']),
    ]),
    ...(['create', 'retrieve'] as const).flatMap((verb): CallEnd[] => [
      {
        what: 'nobody is there',
        verb,
        kind: 'retry',
        reason: "PayPal can't be reached (ECONNREFUSED)",
        start: async (t, clock) => {
          const { apiBase, server } = await serve(t, account())
          server.close()
          await once(server, 'close')
          return { provider: open({ apiBase }, clock), asked: () => 0 }
        },
      },
      {
        what: 'PayPal does not know the client',
        verb,
        kind: 'retry',
        reason: /^PayPal does not know this client ID or its secret \(401\): check PAYPAL_CLIENT_ID/,
        start: answered(account(), (_asked, response) => json(response, 401, { error: 'invalid_client' })),
      },
      ...(['', 'null', '[]', '{"access_token":7}', '{"access_token":"a b"}', '<html>'] as const).map(
        (body): CallEnd => ({
          what: `the token is ${JSON.stringify(body)}`,
          verb,
          kind: 'retry',
          reason: 'PayPal answered 200 without an access token',
          start: answered(account(), (_asked, response) => response.writeHead(200).end(body)),
        }),
      ),
    ]),

    named("/purchase_units/@reference_id=='default'/amount/value"),
    named("/purchase_units/@reference_id=='default'/amount/currency_code"),
    named('/purchase_units/0/description'),
    named('/payment_source/paypal/experience_context/return_url'),
    named('/payment_source/paypal/experience_context/cancel_url'),
    {
      what: 'PayPal names a field that no caller gives',
      verb: 'create',
      kind: 'refused',
      start: reply(400, problem('INVALID_REQUEST', 'INVALID_PARAMETER_VALUE', {}, { field: '/intent' })),
    },
    ...refusals('create', 422, 'parameter', [
      'MAX_VALUE_EXCEEDED',
      'DECIMAL_PRECISION',
      'INVALID_CURRENCY_CODE',
    ]),
    ...refusals('create', 422, undefined, ['PAYEE_ACCOUNT_RESTRICTED']),
    ...incomplete('create', [
      ['nothing', ''],
      ['no id', ordered('CREATED', { id: undefined })],
      ['no links', ordered('CREATED', { links: undefined })],
      [
        'a link that is no web address',
        ordered('CREATED', { links: [{ rel: 'approve', href: 'javascript:1' }] }),
      ],
      ['an order that is over', ordered('VOIDED', { links: redirect })],
      ['a status that is not known', ordered('SOMETHING', { links: redirect })],
    ]),

    {
      what: 'nobody approved the order',
      verb: 'capture',
      kind: 'refused',
      code: 'not_approved',
      start: reply(422, unprocessable('ORDER_NOT_APPROVED')),
    },
    {
      what: 'the buyer must act',
      verb: 'capture',
      kind: 'refused',
      code: 'not_approved',
      details: { url: APPROVE_URL },
      start: reply(
        422,
        unprocessable('PAYER_ACTION_REQUIRED', { links: [{ rel: 'payer-action', href: APPROVE_URL }] }),
      ),
    },
    {
      what: 'PayPal answers 201 with an order that needs the buyer',
      verb: 'capture',
      kind: 'refused',
      code: 'not_approved',
      details: { url: APPROVE_URL },
      start: reply(201, ordered('PAYER_ACTION_REQUIRED')),
    },
    {
      what: 'the funding is declined',
      verb: 'capture',
      kind: 'refused',
      code: 'declined',
      details: { url: APPROVE_URL },
      start: reply(422, unprocessable('INSTRUMENT_DECLINED', { links: redirect })),
    },
    {
      what: 'PayPal answers 201 with a declined capture of an order that is not over',
      verb: 'capture',
      kind: 'refused',
      code: 'declined',
      start: reply(201, ordered('APPROVED', { captures: [captured({ status: 'DECLINED' })] })),
    },
    ...refusals('capture', 422, 'declined', [
      'PAYER_CANNOT_PAY',
      'TRANSACTION_REFUSED',
      'PAYMENT_SOURCE_DECLINED_BY_PROCESSOR',
      'MAX_NUMBER_OF_PAYMENT_ATTEMPTS_EXCEEDED',
    ]),
    ...refusals('capture', 422, undefined, ['PAYEE_ACCOUNT_RESTRICTED', 'SOMETHING_NEW']),
    ...undecided('capture', 422, [
      'ORDER_ALREADY_CAPTURED',
      'ORDER_ALREADY_COMPLETED',
      'ORDER_COMPLETION_IN_PROGRESS',
    ]),
    {
      what: 'PayPal has no such order',
      verb: 'capture',
      kind: 'refused',
      code: 'gone',
      start: reply(404, problem('RESOURCE_NOT_FOUND', 'INVALID_RESOURCE_ID')),
    },
    ...incomplete('capture', [
      ['nothing', ''],
      ['another order', ordered('COMPLETED', { id: 'OTHER', captures: [captured()] })],
      ['an order without a capture', ordered('COMPLETED')],
      ['a capture without an amount', ordered('COMPLETED', { captures: [captured({ amount: undefined })] })],
      ['a capture in an unknown state', ordered('COMPLETED', { captures: [captured({ status: 'ODD' })] })],
      [
        'an amount in an unknown currency',
        ordered('COMPLETED', { captures: [captured({ amount: { currency_code: 'XXX', value: '1' } })] }),
      ],
    ]),

    ...refusals('refund', 422, 'state', [
      'CAPTURE_FULLY_REFUNDED',
      'REFUND_AMOUNT_EXCEEDED',
      'CAPTURE_DISPUTED_PARTIAL_REFUND_NOT_ALLOWED',
      'TRANSACTION_DISPUTED',
      'REFUND_NOT_PERMITTED_DUE_TO_CHARGEBACK',
      'REFUND_TIME_LIMIT_EXCEEDED',
      'PENDING_CAPTURE',
    ]),
    ...refusals('refund', 422, 'parameter', ['REFUND_AMOUNT_TOO_LOW']),
    ...refusals('refund', 422, undefined, ['REFUND_FAILED_INSUFFICIENT_FUNDS']),
    {
      what: 'PayPal has no such capture',
      verb: 'refund',
      kind: 'refused',
      code: 'state',
      start: reply(404, problem('RESOURCE_NOT_FOUND', 'INVALID_RESOURCE_ID')),
    },
    ...incomplete('refund', [
      ['nothing', ''],
      ['an id and a status only', { id: REFUND_ID, status: 'COMPLETED' }],
      ['a status that is not known', refunded({ status: 'ODD' })],
    ]),

    {
      what: 'PayPal has no such order',
      verb: 'retrieve',
      kind: 'refused',
      code: 'gone',
      start: reply(404, problem('RESOURCE_NOT_FOUND', 'INVALID_RESOURCE_ID')),
    },
    ...[403, 404, 500].map((status): CallEnd => ({
      what: `a proxy answers ${status} with a page`,
      verb: 'retrieve',
      kind: 'unknown',
      reason: `PayPal answered ${status}`,
      start: answered((_asked, response) => response.writeHead(status).end('<h1>no</h1>')),
    })),
    { what: 'PayPal answers no list', verb: 'events', kind: 'unknown', start: reply(200, { events: {} }) },
    {
      what: 'the next page is not one of PayPal',
      verb: 'events',
      kind: 'unknown',
      start: reply(200, {
        events: [],
        links: [{ rel: 'next', href: 'http://169.254.169.254/latest/meta-data' }],
      }),
    },
    {
      what: 'the sentence is long and has several lines',
      verb: 'create',
      kind: 'refused',
      reason: /^PayPal NOT_AUTHORIZED: a b x+…$/,
      start: reply(403, { name: 'NOT_AUTHORIZED', message: `a\r\nb ${'x'.repeat(5000)}` }),
    },
  ],

  silences: [
    ...anyVerb.map(silent),
    silent('retrieve'),
    silent('events'),
    {
      what: 'before it gave a token',
      verb: 'create',
      kind: 'retry',
      start: (t, clock, reach) => answered(account(), () => reach())(t, clock),
    },
  ],

  async garbled(t, bytes) {
    const peer = await startPeer(t, (socket) => socket.end(bytes, 'latin1'))
    return { provider: open({ apiBase: `http://127.0.0.1:${peer.port}` }), asked: () => 0 }
  },

  unusable: [
    {
      what: 'PayPal does not know the client',
      start: async (t) =>
        open(
          await serve(t, account(), (_asked, response) => json(response, 401, { error: 'invalid_client' })),
        ),
      sentence: /^PayPal does not know this client ID or its secret \(401\): check PAYPAL_CLIENT_ID/,
    },
    {
      what: 'PayPal refuses the token',
      start: async (t) =>
        open(await serve(t, (_asked, response) => json(response, 401, problem('AUTHENTICATION_FAILURE')))),
      sentence: /^PayPal AUTHENTICATION_FAILURE: /,
    },
    {
      what: 'PayPal fails',
      start: async (t) => open(await serve(t, (_asked, response) => response.writeHead(500).end())),
      sentence: /^PayPal answered 500$/,
    },
    {
      what: 'nobody is there',
      start: async (t) => {
        const { apiBase, server } = await serve(t, account())
        server.close()
        await once(server, 'close')
        return open({ apiBase })
      },
      sentence: /^PayPal can't be reached \(ECONNREFUSED\)$/,
    },
  ],

  webhooks: {
    async start(t) {
      const { apiBase } = await serve(t, ({ path }, response) =>
        path === '/v1/notifications/certs/CERT-1'
          ? response.writeHead(200).end(CHAIN_PEM)
          : response.writeHead(404).end(),
      )
      certUrl = `${apiBase}/v1/notifications/certs/CERT-1`
      return open({ apiBase })
    },
    good: [
      {
        what: 'of a capture',
        request: () => webhook(certUrl),
        events: [
          {
            id: 'WH-58D329510W468432D-8HN650336L201105X',
            type: 'PAYMENT.CAPTURE.COMPLETED',
            subject: { paymentId: CAPTURE_ID, reference: ORDER_ID, transactionId: TRANSACTION },
          },
        ],
      },
      {
        what: 'of a kind that is not used',
        request: () => webhook(certUrl, { event: happened('BILLING.PLAN.CREATED', { id: 'P-1' }) }),
        events: [{ id: 'WH-58D329510W468432D-8HN650336L201105X', type: 'BILLING.PLAN.CREATED' }],
      },
      {
        what: 'of a dispute, with white space and a character of three bytes',
        request: () =>
          webhook(certUrl, {
            bytes: Buffer.from(
              JSON.stringify(happened('CUSTOMER.DISPUTE.CREATED', disputed({ note: '€' })), null, 2),
            ),
          }),
        events: [
          {
            id: 'WH-58D329510W468432D-8HN650336L201105X',
            type: 'CUSTOMER.DISPUTE.CREATED',
            subject: { paymentId: CAPTURE_ID, objects: [{ kind: 'dispute', id: DISPUTE_ID }] },
          },
        ],
      },
    ],
    forged: [
      ...['id', 'time', 'sig'].map((name) => ({
        what: `without the transmission's ${name}`,
        request: () => webhook(certUrl, { headers: { [`paypal-transmission-${name}`]: undefined } }),
      })),
      { what: 'without a certificate', request: () => webhook('') },
      { what: 'of another webhook', request: () => webhook(certUrl, { webhookId: 'WH-OTHER' }) },
      { what: 'of other bytes', request: () => webhook(certUrl, { signed: Buffer.from('{}') }) },
      {
        what: 'of another algorithm',
        request: () => webhook(certUrl, { headers: { 'paypal-auth-algo': 'SHA1withRSA' } }),
      },
      {
        what: 'with a signature that is no base64',
        request: () => webhook(certUrl, { headers: { 'paypal-transmission-sig': '%%%' } }),
      },
      {
        what: 'whose time was changed',
        request: () =>
          webhook(certUrl, {
            headers: { 'paypal-transmission-time': new Date(Date.now() - 60_000).toISOString() },
          }),
      },
      {
        what: 'older than three days',
        request: () =>
          webhook(certUrl, { time: new Date(Date.now() - 3 * 86_400_000 - 60_000).toISOString() }),
      },
      {
        what: 'from the future',
        request: () => webhook(certUrl, { time: new Date(Date.now() + 400_000).toISOString() }),
      },
      { what: 'whose time is none', request: () => webhook(certUrl, { time: 'yesterday' }) },
    ],
    garbage: [
      { what: 'that is not JSON', request: () => webhook(certUrl, { bytes: Buffer.from('hello') }) },
      {
        what: 'that is not UTF-8',
        request: () => webhook(certUrl, { bytes: Buffer.from([0x22, 0xff, 0x22]) }),
      },
      { what: 'without an id', request: () => webhook(certUrl, { event: { event_type: 'A.B' } }) },
      { what: 'that is a list', request: () => webhook(certUrl, { bytes: Buffer.from('[]') }) },
    ],
  },
})
