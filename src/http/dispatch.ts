import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

import { ApiError, errors } from '../base/errors.ts'
import { envelope, JSON_TYPE } from './failures.ts'
import { idempotencyKey, isFinal, refuseUnlessNew, type KeptAnswer } from './idempotency.ts'
import { clientOf, parseRateLimit } from './limits.ts'
import type { Caller } from './policy.ts'
import { Answer, answer, JsonText, type Call, type Route } from './route.ts'
import type { ServerOptions, Work } from './server.ts'

// Who calls, between the hook that admits a request and its handler.
const callers = new WeakMap<FastifyRequest, Caller>()

/** Puts one route of a wire into the engine: who may call it, how often, and what becomes of its answer. */
export function registerRoute(
  engine: FastifyInstance,
  options: ServerOptions,
  wire: string,
  one: Route,
  work: Work,
): void {
  const { spec, method, path } = one
  const limit = spec.limit && (options.limitsOn || spec.limitAlways) ? parseRateLimit(spec.limit) : undefined
  const [usualStatus] = Object.keys(spec.reply).map(Number)

  async function admit(request: FastifyRequest): Promise<void> {
    if (spec.access !== 'public') {
      const token = bearerToken(request.headers.authorization)
      const caller = token === undefined ? undefined : await options.authenticate(token)
      if (caller) callers.set(request, caller)
      else if (token !== undefined)
        throw errors.unauthorized({
          message: 'This token is not valid, or no longer: sign in again or refresh it.',
        })
      options.policy.admit(caller, { access: spec.access, wire, method })
    }
    if (limit) {
      const who = callers.get(request)?.id ?? clientOf(request.ip)
      const waitMs = await options.limiter.take(`${one.key} ${who}`, limit.count, limit.periodMs)
      if (waitMs !== undefined) throw errors.rate_limited({ retryAfter: Math.ceil(waitMs / 1000) })
    }
  }

  async function run(call: Call, reply: FastifyReply): Promise<KeptAnswer | Answer<unknown>> {
    const returned = await one.handle(call)
    const given: Answer<unknown> = returned instanceof Answer ? returned : answer(returned, {})
    const body: unknown = given.body
    const { status = usualStatus!, headers } = given
    if (typeof body === 'string' || Buffer.isBuffer(body) || isStream(body)) return given
    const text =
      body instanceof JsonText
        ? body.text
        : (reply.serializeInput(body as Record<string, unknown>, String(status)) as string)
    return { status, headers, body: text }
  }

  async function handle(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const key = spec.idempotent ? idempotencyKey(request.headers['idempotency-key']) : undefined
    if (key === undefined) return send(reply, await run(callOf(request, options), reply))

    const caller = callers.get(request)
    const asked = JSON.stringify([one.key, request.params, request.body])
    const who = caller ? `${caller.kind}:${caller.id}` : options.idempotency.stranger(asked)
    const start = await options.idempotency.begin(who, key, asked)
    if (start.state === 'done') return send(reply.header('idempotency-replayed', 'true'), start.answer)
    refuseUnlessNew(start)
    try {
      const answered = await run(callOf(request, options, start.recordId), reply)
      if (answered instanceof Answer)
        throw new Error(`${one.key} takes an Idempotency-Key and must answer JSON`)
      await options.idempotency.finish(who, key, answered)
      return await send(reply, answered)
    } catch (error) {
      if (error instanceof ApiError && isFinal(error.status))
        await options.idempotency.finish(who, key, {
          status: error.status,
          headers: error.headers ?? {},
          body: JSON.stringify(envelope(error)),
        })
      else await options.idempotency.release(who, key)
      throw error
    }
  }

  engine.route({
    method,
    url: path,
    schema: {
      ...(spec.params && { params: spec.params }),
      ...(spec.query && { querystring: spec.query }),
      ...(spec.body && { body: spec.body }),
      ...(spec.headers && { headers: spec.headers }),
      response: spec.reply,
    },
    onRequest: admit,
    handler: work.during(handle),
  })
}

const isStream = (body: unknown): boolean => typeof (body as { pipe?: unknown } | null)?.pipe === 'function'

function send(reply: FastifyReply, answered: KeptAnswer | Answer<unknown>): FastifyReply {
  if (answered instanceof Answer)
    return reply
      .code(answered.status ?? 200)
      .headers(answered.headers)
      .send(answered.body)
  return reply
    .code(answered.status)
    .headers(answered.headers)
    .header('content-type', JSON_TYPE)
    .send(answered.body)
}

// What proxies add to a request, each its own of these.
const FORWARDING = ['x-forwarded-for', 'forwarded', 'x-real-ip', 'via']
// A proxy that adds nothing still asks for the name that the outside knows.
const LOCAL_HOST = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/i

function callOf(request: FastifyRequest, { log, newId }: ServerOptions, reserved?: string): Call {
  const { headers } = request.raw
  let recordId = reserved
  return {
    params: request.params,
    query: request.query,
    body: request.body,
    headers: request.headers,
    caller: callers.get(request),
    ip: request.ip,
    userAgent: headers['user-agent'] ?? '',
    get forwarded() {
      return FORWARDING.some((name) => headers[name] !== undefined) || !LOCAL_HOST.test(headers.host ?? '')
    },
    requestId: request.id,
    // Few calls make a record or write to the log: both are made when they are asked for.
    get recordId() {
      return (recordId ??= newId())
    },
    get log() {
      return log.child({ requestId: request.id })
    },
  } as unknown as Call
}

function bearerToken(header: string | undefined): string | undefined {
  if (header === undefined) return undefined
  const [, token] = /^Bearer +([\w.~+/=-]{1,4096})$/i.exec(header) ?? []
  if (token === undefined)
    throw errors.unauthorized({ message: 'The Authorization header must be "Bearer <token>".' })
  return token
}
