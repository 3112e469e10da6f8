// How Stripe ends calls, and what the outcome of each must be.
import { once } from 'node:events'

import type { CallEnd } from '../../../../testing/payment-conformance.ts'
import type { RefusalCode } from '../provider.ts'
import { answers, json, KEY, open, posts, problem, serve, type ScriptedAnswer } from '../stripe.fixture.ts'

/** A server that answers so. */
export const answered =
  (answer: ScriptedAnswer): CallEnd['start'] =>
  async (t, clock) => {
    const { apiBase, asked } = await serve(t, answer)
    return { provider: open({ apiBase }, clock), asked: () => posts(asked) }
  }
const scripted =
  (status: number, error: Parameters<typeof problem>[0], headers = {}): CallEnd['start'] =>
  (t, clock) =>
    answered((_asked, response) => json(response, status, problem(error), headers))(t, clock)

/** A provider whose server is gone. */
export const elsewhere: CallEnd['start'] = async (t, clock) => {
  const { apiBase, server } = await serve(t, answers())
  server.close()
  await once(server, 'close')
  return { provider: open({ apiBase }, clock), asked: () => 0 }
}

type Refusal = [
  verb: 'create' | 'refund' | 'retrieve',
  error: Parameters<typeof problem>[0],
  code?: RefusalCode,
]
const REFUSALS: readonly Refusal[] = [
  ['create', { param: 'line_items[0][price_data][unit_amount]', message: 'Invalid integer' }, 'parameter'],
  ['create', { param: 'success_url', code: 'url_invalid', message: 'Not a valid URL' }, 'parameter'],
  ['create', { code: 'amount_too_small', message: 'At least 50 cents' }, 'parameter'],
  ['create', { param: 'mode', message: 'Your account cannot do this' }],
  ['create', { type: 'idempotency_error', message: 'Keys need the same parameters' }],
  ['refund', { code: 'charge_already_refunded', message: 'Charge ch_1 has been refunded' }, 'state'],
  ['refund', { code: 'charge_disputed', message: 'Charge ch_1 has been charged back' }, 'state'],
  ['refund', { param: 'amount', message: 'The amount is greater than the unrefunded amount' }, 'state'],
  ['refund', { code: 'balance_insufficient', message: 'Insufficient funds in your balance' }],
  ['refund', { code: 'resource_missing', param: 'payment_intent', message: 'No such intent' }, 'gone'],
  ['refund', { type: 'idempotency_error', message: 'Keys need the same parameters' }],
  ['retrieve', { code: 'resource_missing', param: 'session', message: 'No such session' }, 'gone'],
]

type Passing = [status: number, error: Parameters<typeof problem>[0], reason?: string]
const PASSING: readonly Passing[] = [
  [401, { message: `Invalid API Key provided: ${KEY}` }, 'Stripe does not accept the secret key'],
  [
    403,
    { message: `The key '${KEY}' lacks a permission on rk_test_****1234` },
    "Stripe invalid_request_error: The key '…' lacks a permission on rk_…",
  ],
  [400, { code: 'lock_timeout', message: 'The object is in use' }],
  [429, { type: 'rate_limit_error', code: 'lock_timeout', message: 'The object is in use' }],
  [
    404,
    {
      code: 'resource_missing',
      message: 'No such thing; a similar object exists in live mode, but not here',
    },
  ],
]

const UNREADABLE: readonly string[] = [
  '',
  'null',
  '[]',
  '"x"',
  '{}',
  '{"id":""}',
  '{"id":5}',
  '{"error":5}',
  '{"error":{"code":"charge_disputed"}}',
  '<html>',
]

export const ENDS: readonly CallEnd[] = [
  ...REFUSALS.map(([verb, error, code]): CallEnd => ({
    what: `Stripe refuses ${error.code ?? error.param ?? error.type}`,
    verb,
    kind: 'refused',
    ...(code && { code }),
    ...(code === 'parameter' && error.param !== undefined && { details: { parameter: error.param } }),
    reason:
      code === 'parameter'
        ? error.message
        : `Stripe ${error.code ?? error.type ?? 'invalid_request_error'}: ${error.message}`,
    start: scripted(400, error),
  })),
  ...PASSING.flatMap(([status, error, reason]) =>
    (['create', 'refund', 'retrieve'] as const).map((verb): CallEnd => ({
      what: `Stripe answers ${status} with ${error.code ?? 'no code'}`,
      verb,
      kind: 'retry',
      ...(reason !== undefined && { reason }),
      start: scripted(status, error),
    })),
  ),
  {
    what: 'Stripe answers 429 and says how long to wait',
    verb: 'create',
    kind: 'retry',
    afterMs: 7000,
    start: scripted(429, { message: 'Too many requests' }, { 'retry-after': '7' }),
  },
  ...(['create', 'refund'] as const).flatMap((verb): CallEnd[] => [
    {
      what: 'the first call with the key is under way',
      verb,
      kind: 'unknown',
      reason: 'Stripe idempotency_key_in_use: Another request is being processed',
      start: scripted(409, {
        type: 'idempotency_error',
        code: 'idempotency_key_in_use',
        message: 'Another request is being processed',
      }),
    },
    {
      what: 'another call is under way',
      verb,
      kind: 'unknown',
      start: scripted(409, { message: 'Conflict' }),
    },
    ...[500, 502, 503].map((status): CallEnd => ({
      what: `Stripe answers ${status}, and that it should be repeated`,
      verb,
      kind: 'unknown',
      start: scripted(status, { type: 'api_error', message: 'An error' }, { 'stripe-should-retry': 'true' }),
    })),
    ...UNREADABLE.map((body): CallEnd => ({
      what: `Stripe answers 200 with ${JSON.stringify(body)}`,
      verb,
      kind: 'unknown',
      reason: /^Stripe answered (200 )?without a (session|refund)$/,
      start: answered((_asked, response) => response.writeHead(200).end(body)),
    })),
    {
      what: 'the connection is closed after the request',
      verb,
      kind: 'unknown',
      reason: /^the connection to Stripe was lost \(ECONNRESET\)$/,
      start: answered((_asked, response) => void response.destroy()),
    },
    {
      what: 'the connection is closed within the answer',
      verb,
      kind: 'unknown',
      start: answered((_asked, response) => {
        response.writeHead(200, { 'content-length': '1000' }).write('{"id":')
        setImmediate(() => response.destroy())
      }),
    },
    {
      what: 'a proxy answers 404 with a page',
      verb,
      kind: 'refused',
      reason: 'Stripe answered 404',
      start: answered((_asked, response) => response.writeHead(404).end('<h1>no</h1>')),
    },
    {
      what: 'nobody listens',
      verb,
      kind: 'retry',
      reason: "Stripe can't be reached (ECONNREFUSED)",
      start: elsewhere,
    },
    {
      what: 'it sends the call elsewhere',
      verb,
      kind: 'retry',
      start: answered((_asked, response) =>
        response.writeHead(307, { location: 'http://127.0.0.1:1/' }).end(),
      ),
    },
  ]),
  {
    what: 'a page without an error of Stripe says 404',
    verb: 'retrieve',
    kind: 'unknown',
    start: answered((_asked, response) => response.writeHead(404).end('<h1>no</h1>')),
  },
  {
    what: 'the answer is not a session',
    verb: 'retrieve',
    kind: 'unknown',
    start: answered((_asked, response) => json(response, 200, { id: 5 })),
  },
  ...(['retrieve', 'events'] as const).map((verb): CallEnd => ({
    what: 'Stripe refuses the call for another reason than a missing object',
    verb,
    kind: 'unknown',
    reason: 'Stripe parameter_unknown: Unknown parameter: expand',
    start: scripted(400, { code: 'parameter_unknown', message: 'Unknown parameter: expand' }),
  })),
  {
    what: 'the answer is no list',
    verb: 'events',
    kind: 'unknown',
    reason: 'Stripe answered without a list',
    start: answered((_asked, response) => json(response, 200, { data: 'x' })),
  },
]
