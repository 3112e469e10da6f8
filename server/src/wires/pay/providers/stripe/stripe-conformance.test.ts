import { setImmediate as turn } from 'node:timers/promises'

import { startPeer } from '../../../../outbound/peer.fixture.ts'
import { testClock } from '../../../../testing/clock.ts'
import {
  describePaymentProvider,
  type CallEnd,
  type PaymentConformance,
} from '../../../../testing/payment-conformance.ts'
import { startSilence } from '../../../../testing/silence.ts'
import { answered, elsewhere, ENDS } from './stripe-ends.fixture.ts'
import { signed } from './stripe-signed.fixture.ts'
import {
  answers,
  dispute,
  event,
  json,
  KEY,
  open,
  ORDER,
  payment,
  posts,
  problem,
  REFUND,
  SECRET,
  serve,
  session,
} from '../stripe.fixture.ts'

const SUBJECT = { reference: 'cs_1', since: ORDER.createdAt }
const PAID = session({ status: 'complete', payment_status: 'paid', payment_intent: payment() })

describePaymentProvider({
  name: 'stripe',
  calls: { create: ORDER, refund: REFUND, retrieve: SUBJECT, events: ORDER.createdAt },
  secrets: [KEY, SECRET],

  async working(t, clock) {
    let wait = async (): Promise<void> => undefined
    const answer = answers({ sessions: [session()], events: [event(session())] })
    const { apiBase, asked } = await serve(
      t,
      (one, response) => void wait().then(() => answer(one, response)),
    )
    return {
      provider: open({ apiBase }, clock),
      asked: () => posts(asked),
      hold: (next) => void (wait = next),
    }
  },

  ends: ENDS,

  silences: [
    ...(['create', 'refund', 'retrieve', 'events'] as const).map((verb) => ({
      what: 'after the request',
      verb,
      kind: 'unknown' as const,
      start: ((t, clock, reach) =>
        answered(() => reach())(t, clock)) satisfies PaymentConformance['silences'][number]['start'],
    })),
    {
      what: 'within its answer',
      verb: 'refund',
      kind: 'unknown',
      start: (t, clock, reach) =>
        answered((_asked, response) => {
          response.writeHead(200).write('{"id":')
          reach()
        })(t, clock),
    },
    {
      what: 'after the first of several calls',
      verb: 'retrieve',
      kind: 'unknown',
      start: (t, clock, reach) =>
        answered((one, response) => {
          if (one.path === '/v1/refunds') reach()
          else answers({ sessions: [PAID] })(one, response)
        })(t, clock),
    },
    {
      what: 'while TLS begins',
      verb: 'create',
      kind: 'retry',
      async start(t, clock, reach) {
        const silence = await startSilence(t)
        const watch = async (): Promise<void> => {
          while (silence.requests() === 0) await turn()
          reach()
        }
        void watch()
        return { provider: open({ apiBase: `https://${silence.host}` }, clock), asked: () => 0 }
      },
    },
  ],

  async garbled(t, bytes) {
    const peer = await startPeer(t, (socket) => socket.end(bytes, 'latin1'))
    return { provider: open({ apiBase: `http://127.0.0.1:${peer.port}` }), asked: () => 0 }
  },

  unusable: [
    {
      what: 'nobody listens',
      start: async (t) => (await elsewhere(t, testClock())).provider,
      sentence: /^Stripe can't be reached \(ECONNREFUSED\)$/,
    },
    ...(
      [
        [401, problem({ message: `Invalid API Key provided: ${KEY}` }), /^Stripe does not accept the secret/],
        [403, problem({ message: `${KEY} may not read it` }), /^Stripe invalid_request_error: … may not/],
        [200, { object: 'list' }, /^Stripe answered without a balance$/],
        [500, {}, /^Stripe answered 500$/],
      ] as const
    ).map(([status, body, sentence]) => ({
      what: `Stripe answers ${status} with ${JSON.stringify(body).slice(0, 60)}`,
      start: async (t: Parameters<CallEnd['start']>[0]) =>
        (await answered((_asked, response) => json(response, status, body))(t, testClock())).provider,
      sentence,
    })),
  ],

  webhooks: {
    start: async () => open({}),
    good: [
      {
        what: 'of a session',
        request: () => signed(event(session())),
        events: [
          {
            id: 'evt_1',
            type: 'checkout.session.completed',
            subject: { reference: 'cs_1', transactionId: ORDER.id },
          },
        ],
      },
      {
        what: 'of a dispute',
        request: () => signed(event(dispute(), { type: 'charge.dispute.created' })),
        events: [
          {
            id: 'evt_1',
            type: 'charge.dispute.created',
            subject: { paymentId: 'pi_1', objects: [{ kind: 'dispute', id: 'dp_1' }] },
          },
        ],
      },
    ],
    forged: [
      { what: 'without a signature', request: () => ({ ...signed(event({})), headers: {} }) },
      { what: 'of another secret', request: () => signed(event({}), { secret: 'whsec_other' }) },
    ],
    garbage: [
      { what: 'that is a list', request: () => signed([]) },
      { what: 'that is not JSON', request: () => signed('{') },
      { what: 'that is not UTF-8', request: () => signed(Buffer.from([0x22, 0xff, 0x22])) },
      { what: 'without an id', request: () => signed(event({}, { id: undefined })) },
      { what: 'whose type is no type', request: () => signed(event({}, { type: 'a\0b' })) },
      { what: 'whose id is no id', request: () => signed(event({}, { id: 'evt\0' })) },
    ],
  },
})
