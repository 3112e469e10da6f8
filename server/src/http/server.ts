import type { Duplex } from 'node:stream'

import fastify, {
  type FastifyInstance,
  type FastifyRequest,
  type FastifySchemaCompiler,
  type FastifyServerOptions,
} from 'fastify'
import type { TSchema } from 'typebox'

import { type ApiError, errors } from '../base/errors.ts'
import { isPrivateHost } from '../base/private-host.ts'
import { createServer as createHttpServer, STATUS_CODES } from '../base/node-http.ts'
import {
  addressesOf,
  createAddressFinder,
  refusesMethod,
  shadowedMethods,
  type RouteAddress,
} from './addresses.ts'
import { addBodyParser, bodyKindOf } from './body-parsers.ts'
import { completeHead } from './answer-head.ts'
import { answerPreflight, createCors } from './cors.ts'
import { prepareRequests, registerRoute, withHead } from './dispatch.ts'
import { BODY_LIMIT, createAnswerError, envelope, JSON_TYPE } from './failures.ts'
import { clientOf, DESCRIPTION_LIMIT, parseRateLimit, takeCall } from './limits.ts'
import { MultipartReader } from './multipart.ts'
import { StreamReader } from './stream-reader.ts'
import { EventStreams } from './event-streams.ts'
import type { StreamOptions } from './open-event-stream.ts'
import { DESCRIPTION, registerDescription, type About } from './openapi.ts'
import { CONSOLE, registerConsole } from './page-files.ts'
import { InFlight } from './in-flight.ts'
import type { AnswerRecord } from './answer-record.ts'
import type { AdmittedRequest } from './admitted-request.ts'
import { HEAD_MAX, headFault, originIn, unreadable } from './head.ts'
import { hostNameOf } from './local-call.ts'
import { limitReceiving } from './receiving.ts'
import type { Mount } from './mount.ts'
import { METHODS, type Method, type RouteGroup } from './route.ts'
import { createRouteContext, type DispatchOptions } from './route-context.ts'
import type { Port, PortServer } from './port.ts'
import type { RouteConfig } from './spec-of.ts'
import { lazySerializer } from './serialization.ts'
import { createValidation, type RequestPart } from './validation.ts'
import { Traffic } from './traffic.ts'

/** The parts of a request by the engine's names. */
const PARTS: Readonly<Record<string, RequestPart>> = {
  body: 'body',
  querystring: 'query',
  params: 'params',
  headers: 'headers',
}
const USUAL_METHODS: ReadonlySet<string> = new Set([...METHODS, 'HEAD', 'OPTIONS'])
const CLIENT_GONE = 499 // as nginx logs it: no answer reached the client
const REQUEST_ID = /^[\w.:-]{1,128}$/

export type ServerOptions = DispatchOptions &
  StreamOptions & {
    /** Where its requests come from, once it listens or has taken it over. */
    port: Port
    groups: readonly RouteGroup[]
    /** Called once for each answer, for the log and the metrics. */
    onAnswer: (answer: AnswerRecord) => void
    /** Title and version for `/openapi.json`, and the address of the server. */
    description: About
    /** Origins of browsers that may read answers, `*` for any; outside production loopback origins may as well. */
    origins: readonly string[]
    production: boolean
    /** Whether there is the page for administrators, at `/console`. */
    console: boolean
    /** Pages and addresses that are not part of the API. */
    mounts: readonly Mount[]
    /**
     * The host names that are answered, beside those that no stranger's domain can be; undefined for any. A page of the
     * Internet may resolve its own name to an address of this machine (DNS rebinding).
     */
    hosts: readonly string[] | undefined
    /** Which proxies may name the client they forward: a number of hops, or addresses and networks. */
    trustProxy: number | string
    /** The error that all routes but core's answer while the server starts or shuts down; undefined otherwise. */
    refusal: () => ApiError | undefined
  }

export type Server = {
  /** The engine underneath, for `inject`, and for plugins of the frame. */
  readonly engine: FastifyInstance
  /** Opens the port; answers the address it listens on. */
  listen(options: { host: string; port: number }): Promise<string>
  /** Answers the next requests of the port, which is open. */
  takeOver(): Promise<void>
  /** Whether its port is open. */
  isListening(): boolean
  /** How many event streams are open. */
  streams(): number
  /** How many of them are counted for one owner. */
  streamsOf(owner: string): number
  /** How many requests wait for a share of a limit. */
  waiting(): ReturnType<Traffic['waiting']>
  /** Ends all event streams, and opens no more. */
  endStreams(): Promise<void>
  /** Resolves when no request is running, nor work for a request whose client has disconnected. */
  idle(): Promise<void>
  /**
   * Ends it, and the port with every connection, so that requests that are still running are cut off, unless another server has
   * taken the port over.
   */
  close(): Promise<void>
}

// The API answers JSON, which a browser must not run, frame or sniff.
const SECURITY_HEADERS = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'cross-origin',
}
const HSTS = { 'strict-transport-security': 'max-age=31536000; includeSubDomains' }

/** Makes the HTTP server: everything between a socket and a handler. */
export async function createServer(options: ServerOptions): Promise<Server> {
  const answerError = createAnswerError(options)
  const validation = createValidation()
  const validator: FastifySchemaCompiler<TSchema> = ({ schema, httpPart }) => {
    const check = validation(PARTS[httpPart!]!, schema)
    // The engine would copy the headers of a request each time they are read, if it took what was read of them.
    if (httpPart !== 'headers' || !isText(schema)) return check
    return (headers) => {
      const result = check(headers)
      return 'error' in result ? result : true
    }
  }
  const { port } = options
  const streams = new EventStreams(options, port.sending)
  let handle: PortServer['handle'] = () => undefined
  const fixedHeaders = options.production ? { ...SECURITY_HEADERS, ...HSTS } : SECURITY_HEADERS
  const headersFor = createCors({ ...options, headers: fixedHeaders })
  const hosts = new Map(options.mounts.flatMap((mount) => Object.entries(mount.hosts ?? {})))
  const settings: FastifyServerOptions = {
    ...(hosts.size > 0 && {
      rewriteUrl: ({ url = '/', headers }) => `${hosts.get(hostNameOf(headers.host)) ?? ''}${url}`,
    }),
    // The line of each answer is written below; a logger of the engine's own would make a child for each request.
    bodyLimit: BODY_LIMIT,
    trustProxy: trustOf(options.trustProxy),
    genReqId: (raw) => {
      const requestId = raw.headers['x-request-id']
      return typeof requestId === 'string' && REQUEST_ID.test(requestId) ? requestId : options.newId()
    },
    // The port has the connections: this one has none.
    serverFactory(engineHandle) {
      handle = engineHandle
      return createHttpServer()
    },
    // Requests have ended before, or have had their time.
    return503OnClosing: false,
    // The engine would start and clear two timers for each route.
    pluginTimeout: 0,
    // No hook has run then, so nothing else has set these headers.
    frameworkErrors(error, request, reply) {
      reply.headers(headersFor(request.headers.origin))
      answerError(error, request, reply)
    },
    // The longest possible address: the schemas of the routes limit parameters.
    routerOptions: { maxParamLength: HEAD_MAX },
    // Else the engine loads its own.
    schemaController: {
      compilersFactory: {
        buildValidator: (() => validator) as never,
        buildSerializer: (() => lazySerializer) as never,
      },
    },
  }
  const engine: FastifyInstance = fastify(settings)
  const portServer: PortServer = {
    handle: (request, response) => handle(request, response),
    isLast: (response) => streams.has(response),
    isMounted: ({ url = '/', headers }) => hosts.has(hostNameOf(headers.host)) || isMounted(url),
    answerUnreadable: (error, socket) =>
      endWith(socket, unreadable(error), options.newId(), headersFor(originIn(error))),
    refuseTunnel: (socket) => endWith(socket, noTunnel(), options.newId()),
  }

  const addresses = addressesOf([
    ...DESCRIPTION,
    ...(options.console ? CONSOLE : []),
    ...options.groups.flatMap(({ routes }) => routes),
  ])
  const findAddress = createAddressFinder(addresses)
  const isMounted = (url: string): boolean => options.mounts.some(({ prefix }) => isWithin(url, prefix))
  // What is mounted answers for itself, but not to methods that it cannot know, such as QUERY, whose body would be read.
  const isUnknown = ({ url, method }: FastifyRequest): boolean =>
    !(isMounted(url) && USUAL_METHODS.has(method))
  const alwaysAnswered = new Set(
    options.groups
      .filter(({ wire }) => wire === 'core')
      .flatMap(({ routes }) => routes.map(({ path }) => path)),
  )
  const isKnownHost = options.hosts && hostCheck(options.hosts)
  const optionsHeaders = answerHeadersOf(options.groups)
  const traffic = new Traffic(options.onAnswer)

  engine.addHook('onRequest', (incoming, reply, done) => {
    const request = incoming as AdmittedRequest
    // A getter, which makes an object.
    const { url: path, config } = request.routeOptions
    const flight = (request.flight = new InFlight(traffic, request, path))
    // What it finds no route for may be an address of other methods.
    if (request.is404 && isUnknown(request)) flight.address = findAddress(pathOf(request.url))
    // The engine's own onResponse is not called if the client disconnects before its answer.
    reply.raw.on('close', () => flight.settle(reply.raw.writableFinished ? reply.statusCode : CLIENT_GONE))
    // The client has reset the connection: there is no client to answer, and no address to count.
    if (request.socket.remoteAddress === undefined) return void request.socket.destroy()
    const isShared = (config as RouteConfig | undefined)?.cors !== false
    // Before any refusal, so that a page of another origin can read that too.
    const headers = isShared ? headersFor(request.headers.origin) : fixedHeaders
    flight.headers = { ...headers, 'x-request-id': request.id }
    const isPreflight = request.method === 'OPTIONS'
    if (isPreflight) reply.headers(optionsHeaders.get(findAddress(pathOf(request.url))?.path) ?? {})
    limitReceiving(request, reply, (late) => {
      const { body } = request
      if (body instanceof MultipartReader || body instanceof StreamReader) body.fail(late)
      else answerError(late, request, reply)
    })
    if (isPreflight) return answerPreflight(request, reply)
    const fault = headFault(request.raw)
    if (fault) return done(fault)
    const refusal = options.refusal()
    const isRefused = refusal && !alwaysAnswered.has(path ?? flight.address?.path ?? '')
    if (isKnownHost && !isKnownHost(request.headers.host) && !isMounted(request.url))
      return done(unknownHost(request))
    // The first address that the banner prints, in a browser.
    if (options.console && request.is404 && isPageRequest(request)) return void reply.redirect('console', 302)
    if (isRefused) return done(refusal)
    if (!request.is404 || !isUnknown(request)) return done()
    // Not only in the handler below, so that no body is read.
    done(flight.address ? refusesMethod(flight.address) : unknownAddress(request))
  })

  engine.addHook('onSend', completeHead)
  engine.setErrorHandler(answerError)
  const unknownAddress = ({ url }: FastifyRequest): ApiError => {
    const path = pathOf(url)
    // One slash at the end: a search for several takes time that grows with the square of an address.
    const meant = path.replace(/^\/api(?=\/)/, '').replace(/(?<=.)\/$/, '')
    const hint =
      meant !== path && findAddress(meant)
        ? `did you mean ${meant.slice(0, 200)}?`
        : '/docs lists all routes.'
    return errors.not_found({ message: `No route has the address ${path.slice(0, 200)}: ${hint}` })
  }
  engine.setNotFoundHandler((request, reply) => answerError(unknownAddress(request), request, reply))

  // The hook answers it, and without a route its address would be unknown.
  engine.options('*', { schema: { hide: true } }, () => undefined)
  prepareRequests(engine)
  const descriptionLimit = parseRateLimit(DESCRIPTION_LIMIT)
  await registerDescription(engine, options.description, options.groups, async ({ ip }) => {
    if (options.limitsOn)
      await takeCall(options.limiters.process, `description ${clientOf(ip)}`, descriptionLimit)
  })
  if (options.console) registerConsole(engine)
  const context = { ...options, streams, validation }
  const all = options.groups.flatMap((group) => group.routes.map((one) => ({ group, one })))
  const byKind = Map.groupBy(all, ({ one }) => bodyKindOf(one.spec.body))
  for (const [kind, routes] of byKind)
    await engine.register(async (scope) => {
      await addBodyParser(scope, kind)
      for (const { group, one } of routes)
        registerRoute(scope, createRouteContext({ server: context, group, route: one }))
    })
  // Mounted plugins inherit this parser unless they remove it.
  await addBodyParser(engine, 'json')
  for (const { prefix, plugin } of options.mounts) await engine.register(plugin, { prefix })
  for (const one of shadowedMethods(addresses)) refuseMethods(engine, one)

  return {
    engine,
    async listen(where) {
      await engine.ready()
      port.serve(portServer)
      return port.listen(where)
    },
    async takeOver() {
      await engine.ready()
      port.serve(portServer)
    },
    isListening: () => port.isListening(),
    streams: () => streams.count,
    streamsOf: (owner) => streams.countOf(owner),
    waiting: () => traffic.waiting(),
    endStreams: () => streams.stop(),
    idle: () => traffic.idle(),
    async close() {
      await port.leave(portServer)
      await engine.close()
    },
  }
}

/** What OPTIONS of an address answers beside the headers of CORS, by its path. */
const answerHeadersOf = (
  groups: readonly RouteGroup[],
): ReadonlyMap<string | undefined, Readonly<Record<string, string>>> =>
  new Map(
    groups.flatMap(({ routes }) =>
      routes.flatMap(({ path, spec }) => (spec.answerHeaders ? [[path, spec.answerHeaders] as const] : [])),
    ),
  )

/** Whether a `Host` names this server, or is none that a stranger's domain can be. Old clients send none. */
function hostCheck(hosts: readonly string[]): (host: string | undefined) => boolean {
  // A connection names the same one in each request.
  let lastKnown: string | undefined
  return (host) => {
    if (host === undefined || host === lastKnown) return true
    const name = hostNameOf(host)
    if (!isPrivateHost(name) && !hosts.includes(name)) return false
    lastKnown = host
    return true
  }
}

/** Whether a schema reads text only, and adds nothing. */
const isText = ({
  properties = {},
}: {
  properties?: Record<string, { type?: string; default?: unknown }>
}): boolean => Object.values(properties).every((one) => one.type === 'string' && one.default === undefined)

const isPageRequest = ({ method, url, headers: { accept = '' } }: FastifyRequest): boolean =>
  (method === 'GET' || method === 'HEAD') && pathOf(url) === '/' && accept.includes('text/html')

const unknownHost = ({ headers: { host } }: FastifyRequest): ApiError =>
  errors.forbidden({
    message: `Outside production this server does not answer under the host name ${JSON.stringify(host?.slice(0, 200))}: if it is yours, add it to SIXWIRE_HOSTS.`,
  })

const noTunnel = (): ApiError => {
  const allow = ['HEAD', 'OPTIONS', ...METHODS].toSorted().join(', ')
  return errors.method_not_allowed({
    message: `This server is not a proxy: it answers ${allow} only.`,
    headers: { allow },
  })
}

/** Answers on a connection without a request, and closes it. */
function endWith(
  socket: Duplex,
  error: ApiError,
  requestId: string,
  more: Record<string, string> = {},
): void {
  const body = JSON.stringify(envelope(error))
  const headers = {
    ...error.headers,
    ...more,
    'x-request-id': requestId,
    'content-type': JSON_TYPE,
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\n${lines.join('')}\r\n${body}`, () =>
    // The client may keep its half open.
    socket.destroy(),
  )
}

const isWithin = (url: string, prefix: string): boolean => `${pathOf(url)}/`.startsWith(`${prefix}/`)

/** A URL without its query. */
function pathOf(url: string): string {
  const end = url.indexOf('?')
  return end < 0 ? url : url.slice(0, end)
}

/** Trusts that number of nearest proxies, or those at these addresses. */
const trustOf = (proxies: number | string): FastifyServerOptions['trustProxy'] =>
  typeof proxies === 'string'
    ? proxies
    : proxies === 0
      ? false
      : (_address: string, hop: number) => hop < proxies

/** Answers 405 where the engine would find another address for these methods. */
const refuseMethods = (
  engine: FastifyInstance,
  { address, methods }: { address: RouteAddress; methods: Method[] },
): void =>
  void engine.route({
    method: withHead(methods),
    url: address.path,
    schema: { hide: true },
    // Before the body is read.
    onRequest: (_request, _reply, done) => done(refusesMethod(address)),
    handler: () => undefined,
  })
