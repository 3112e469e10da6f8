// How calls of PayPal end, for the suite of all payment providers.

import type { CallEnd, PaymentConformance } from '../../../../testing/payment-conformance.ts'
import { APPROVE_URL, json, open, problem, serve, type ScriptedAnswer } from '../paypal.fixture.ts'

type Verb = CallEnd['verb']
type Silence = PaymentConformance['silences'][number]

/** A server that answers everything but the token so. */
export const answered =
  (answer: ScriptedAnswer, token?: ScriptedAnswer): CallEnd['start'] =>
  async (t, clock) => {
    const { apiBase, changes } = await serve(t, answer, token)
    return { provider: open({ apiBase }, clock), asked: changes }
  }

export const reply = (status: number, body: unknown, headers?: Record<string, string>): CallEnd['start'] =>
  answered((_asked, response) => json(response, status, body, headers))

export const unprocessable = (issue: string, more: object = {}, detail: object = {}) =>
  problem('UNPROCESSABLE_ENTITY', issue, { ...more }, { ...detail })
export const redirect = [{ rel: 'redirect', href: APPROVE_URL, method: 'GET' }]

/** A refusal with an issue, and the code that it must have. */
export const refusals = (
  verb: Verb,
  status: number,
  code: CallEnd['code'],
  issues: readonly string[],
): CallEnd[] =>
  issues.map((issue) => ({
    what: `PayPal answers ${status} ${issue}`,
    verb,
    kind: 'refused' as const,
    ...(code !== undefined && { code }),
    reason: `PayPal ${issue}: It is ${issue}. (debug id f5e4d3c2)`,
    start: reply(status, unprocessable(issue)),
  }))

export const undecided = (verb: Verb, status: number, issues: readonly string[]): CallEnd[] =>
  issues.map((issue) => ({
    what: `PayPal answers ${status} ${issue}`,
    verb,
    kind: 'unknown' as const,
    start: reply(status, unprocessable(issue)),
  }))

/** 2xx answers from which it can't be read what became of the call. */
export const incomplete = (verb: Verb, bodies: readonly (readonly [string, unknown])[]): CallEnd[] =>
  bodies.map(([what, body]) => ({
    what: `PayPal answers 201 with ${what}`,
    verb,
    kind: 'unknown' as const,
    reason: /^PayPal answered 201 without an? /,
    start: reply(201, body),
  }))

export const anyVerb: readonly Verb[] = ['create', 'capture', 'refund']
export const named = (field: string): CallEnd => ({
  what: `PayPal names the field ${field}`,
  verb: 'create',
  kind: 'refused',
  code: 'parameter',
  details: { parameter: field },
  start: reply(400, problem('INVALID_REQUEST', 'INVALID_PARAMETER_VALUE', {}, { field })),
})

export const silent = (verb: Verb): Silence => ({
  what: 'after the call',
  verb,
  kind: 'unknown',
  start: (t, clock, reach) => answered(() => reach())(t, clock),
})
