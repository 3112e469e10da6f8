import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'

import type { AdmittedRequest } from './admitted-request.ts'
import { schemaOfBody } from './bodies.ts'
import { EventStream } from './event-stream.ts'
import {
  handle,
  handleBytes,
  handleOnce,
  handleStream,
  handleUpload,
  jsonOrUpload,
  openStream,
  performEarly,
  type Perform,
} from './perform.ts'
import {
  admit,
  authenticate,
  authorize,
  checkBodyHeaders,
  countCall,
  forbidCaching,
  setAnswerHeaders,
  takePlace,
  type RequestPhase,
} from './phases.ts'
import type { Exchange } from './received-call.ts'
import { send, sizeOf } from './rendered-answer.ts'
import type { Method } from './route.ts'
import type { RouteContext } from './route-context.ts'
import type { RouteConfig } from './spec-of.ts'

/** Called before any route is registered: all requests then have one shape, which the runtime reads faster. */
export const prepareRequests = (engine: FastifyInstance): void =>
  void engine
    .decorateRequest('caller', undefined)
    .decorateRequest('authentication', undefined)
    .decorateRequest('flight', undefined)

/**
 * Adds HEAD to GET. The engine would register it as a second route, with hooks and schemas of its own. Node sends no body for
 * HEAD.
 */
export const withHead = (methods: readonly Method[]): string[] =>
  methods.includes('GET') ? [...methods, 'HEAD'] : [...methods]

/**
 * Registers a route in the engine, which calls `receive` once it has the headers of a request, then reads and validates
 * the body, and calls `respond`.
 */
export function registerRoute(engine: FastifyInstance, route: RouteContext): void {
  const { spec } = route
  const { params, query, headers, body, reply: response } = spec
  // MultipartReader checks the fields of a multipart body.
  const bodySchema = route.fieldChecks ? undefined : schemaOfBody(body)
  engine.route({
    method: withHead([route.method]),
    url: route.path,
    bodyLimit: route.bodyMax,
    schema: {
      ...(params && { params }),
      ...(query && { querystring: query }),
      ...(bodySchema && { body: bodySchema }),
      ...(headers && { headers }),
      response,
    },
    config: {
      spec,
      // What every origin may read does not vary by it.
      ...(spec.answerHeaders?.['access-control-allow-origin'] === '*' && { cors: false }),
    } satisfies RouteConfig as object,
    // See `performEarly`.
    ...(route.expectedCallers && { attachValidation: true }),
    onRequest: receiving(route),
    handler: responding(route),
  })
}

/** Decides what is done before the body is read, in this order. What a route does not use is not run for it. */
function phasesOf({ spec, target, limit }: RouteContext): readonly RequestPhase[] {
  const phases = [
    forbidCaching,
    spec.answerHeaders && setAnswerHeaders,
    spec.access !== 'public' && authenticate,
    spec.access !== 'public' && admit,
    limit && countCall,
    spec.authorize && authorize,
    checkBodyHeaders,
    // Whether the server works is asked and answered in any case.
    target.wire !== 'core' && takePlace,
  ]
  return phases.filter((phase) => typeof phase === 'function')
}

/** Decides how the handler is called. */
function performOf({ spec, fieldChecks, jsonCheck, expectedCallers }: RouteContext): Perform {
  if (expectedCallers) return spec.stream ? performEarly(handleStream) : performEarly(handle)
  if (spec.stream) return handleStream
  const whole = spec.idempotent ? handleOnce : handle
  if (jsonCheck) return jsonOrUpload(jsonCheck, whole)
  if (fieldChecks) return handleUpload
  return spec.body?.kind === 'stream' ? handleBytes : whole
}

type Done = Parameters<onRequestHookHandler>[2]

/** Runs the phases in their order; at once, as far as none has to wait. */
function receiving(route: RouteContext): onRequestHookHandler {
  const phases = phasesOf(route)
  async function goOn(exchange: Exchange, pending: Promise<void>, next: number, done: Done): Promise<void> {
    try {
      await pending
      for (const phase of phases.slice(next)) await phase(exchange)
    } catch (error) {
      return done(error as Error)
    }
    done()
  }
  return function receive(request, reply, done): void {
    const exchange: Exchange = { route, request: request as AdmittedRequest, reply }
    for (let at = 0; at < phases.length; at++) {
      const pending = phases[at]!(exchange)
      if (pending) return void goOn(exchange, pending, at + 1, done)
    }
    done()
  }
}

function responding(route: RouteContext) {
  const perform = performOf(route)
  /** @returns the body, which the engine sends */
  return async function respond(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const exchange: Exchange = { route, request: request as AdmittedRequest, reply }
    const { flight } = exchange.request
    flight.enterHandler()
    try {
      const response = await perform(exchange)
      if (response instanceof EventStream) return await openStream(exchange, response)
      if (flight.hasRoom) flight.answerHas(sizeOf(response))
      return send(exchange, response)
    } finally {
      flight.leaveHandler()
    }
  }
}
