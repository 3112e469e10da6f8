import type { Hex } from '../../../base/hex.ts'
import type { Clock } from '../../../base/clock.ts'
import type { ApiError } from '../../../base/errors.ts'
import { oneLine } from '../../../base/one-line.ts'
import { createOutbound, type Outbound, type Reply } from '../../../outbound/outbound.ts'
import { onchainErrors } from '../errors.ts'

const LIMIT_MS = 12_000
/** The share of the time that one node may take while there is another one to ask. */
const SHARE = 0.4
/** How long a node that gave no answer is asked last. */
const REST_MS = 10_000
/** A node that gave no answer for so long hangs: to ask it again costs a wait. */
const HANG_MS = 1_000
const MAX_BYTES = 64 * 1_048_576
const TEXT_MAX = 200
/** A shorter part of an address is no key: `v2`, `rpc`, `mainnet`. */
const SECRET_MIN = 8
/** Calls at once to a node that takes no batches, and how long it is taken to be one after it refused a batch. */
const SINGLE_CALLS = 10
const SINGLY_MS = 300_000

/** One call of JSON-RPC. */
export type RpcCall = { method: string; params?: readonly unknown[] }

/** The answer to one call: what the node says, an error of the node included. */
export type RpcAnswer = { result: unknown; error?: undefined } | { error: RpcFault; result?: undefined }

/** An error that a node answers. */
export type RpcFault = {
  code: number
  /** One line, without addresses. */
  message: string
  /** What a contract that reverts returns, if the node says it. */
  data?: Hex
}

/**
 * Whether the answers of a node are to be believed: undefined if they are, else a sentence of what is wrong with them. The
 * next node is asked then.
 */
export type Believe = (answers: readonly RpcAnswer[]) => string | undefined

export type RpcOptions = {
  /** Milliseconds for the call with all nodes that are tried. Default: 12,000. */
  limitMs?: number
  believe?: Believe
}

/**
 * The nodes of a chain: each call is tried at one after the other until one answers. So a call must be one that may reach
 * several nodes, as reading and broadcasting are.
 */
export type Rpc = {
  /** The hosts, in order: all that is ever shown of the addresses. */
  readonly hosts: readonly string[]
  /**
   * Makes several calls in one request.
   *
   * @returns the answers in the order of the calls
   * @throws PROVIDER_ERROR if no node answers what can be believed
   */
  batch(calls: readonly RpcCall[], options?: RpcOptions): Promise<RpcAnswer[]>
  /**
   * Makes the same calls at every node at once, to compare what they say.
   *
   * @returns the answers of each node that answers
   * @throws PROVIDER_ERROR if none does
   */
  all(calls: readonly RpcCall[], options?: RpcOptions): Promise<RpcAnswer[][]>
  /**
   * Makes one call.
   *
   * @throws PROVIDER_ERROR if no node answers, or if a node answers an error
   */
  call<T>(method: string, params?: readonly unknown[], options?: RpcOptions): Promise<T>
  close(): void
}

type Node = {
  host: string
  url: URL
  headers: Readonly<Record<string, string>>
  /** What else its address holds: never shown, even if the node itself says it. */
  secrets: readonly string[]
  outbound: Outbound
  /** By `clock.elapsed()`: asked last until then. */
  restsUntil: number
  /** What it gave no answer to: asked last until it answers that. */
  unanswered: readonly RpcCall[] | undefined
  isProbed: boolean
  /** By `clock.elapsed()`: it is known until then that this is a node of the chain. */
  isTrustedUntil: number
  /** By `clock.elapsed()`: it has refused a batch and gets single calls until then. */
  isSinglyUntil: number
}

type Attempt = { answers: RpcAnswer[] } | { fault: string; isHanging?: boolean }

type RpcSettings = {
  readonly chain: string
  readonly clock: Clock
  readonly log: { warn(fields: object, text: string): void }
  /** Asks a node whether it is one of the chain, with the function that calls it alone; answers what is wrong. */
  verify(
    ask: (calls: readonly RpcCall[]) => Promise<readonly RpcAnswer[] | undefined>,
  ): Promise<string | undefined>
  readonly trustMs: number
}

type RpcContext = RpcSettings & {
  readonly nodes: readonly Node[]
  /** Of the latest request. */
  id: number
}

/** Makes the client of the nodes of a chain, of which one after the other is asked until one answers. */
export function createRpc({ urls, ...settings }: RpcSettings & { urls: readonly string[] }): Rpc {
  const rpc: RpcContext = {
    ...settings,
    nodes: urls.map((text) => nodeAt(text, settings.clock)),
    id: 0,
  }
  return {
    hosts: rpc.nodes.map(({ host }) => host),
    batch: (calls, rpcOptions) => batch(rpc, calls, rpcOptions),
    all: (calls, rpcOptions) => all(rpc, calls, rpcOptions),
    async call<T>(method: string, params: readonly unknown[] = [], rpcOptions?: RpcOptions) {
      const [answer] = await batch(rpc, [{ method, params }], rpcOptions)
      if (answer!.error) throw providerError(rpc.chain, `${method}: ${answer!.error.message}`)
      return answer!.result as T
    },
    close: () => rpc.nodes.forEach(({ outbound }) => outbound.close()),
  }
}

async function post(rpc: RpcContext, node: Node, body: unknown, limitMs: number): Promise<Reply> {
  const call = { json: body, headers: node.headers }
  const startedAt = rpc.clock.elapsed()
  const reply = await node.outbound.call(node.url, { ...call, limitMs })
  // A connection that was idle may have been closed by the node at the moment of the request.
  const remainingMs = limitMs - (rpc.clock.elapsed() - startedAt)
  return reply.kind === 'unknown' && remainingMs > limitMs / 2
    ? node.outbound.call(node.url, { ...call, limitMs: remainingMs })
    : reply
}

async function ask(
  rpc: RpcContext,
  node: Node,
  calls: readonly RpcCall[],
  limitMs: number,
): Promise<Attempt> {
  if (calls.length === 0) return { answers: [] }
  const requests = calls.map(({ method, params = [] }) => ({
    jsonrpc: '2.0',
    id: ++rpc.id,
    method,
    params,
  }))
  if (calls.length > 1 && rpc.clock.elapsed() < node.isSinglyUntil)
    return askSingly(rpc, node, calls, limitMs)
  const startedAt = rpc.clock.elapsed()
  const reply = await post(rpc, node, requests.length === 1 ? requests[0] : requests, limitMs)
  if (reply.kind !== 'answered')
    return { fault: reply.reason, isHanging: rpc.clock.elapsed() - startedAt >= HANG_MS }
  const content = contentOf(reply.body)
  if (requests.length > 1 && !Array.isArray(content)) {
    const error = answerOf(content, node.secrets)?.error
    // One answer to all calls: the node is overloaded, or takes no batches, or none so large.
    const isOverloaded = reply.status === 429 || reply.status >= 500 || (error && isOverload(error))
    if (isOverloaded && !/batch/i.test(error?.message ?? ''))
      return { fault: `${node.host} answered ${reply.status}${error ? `: ${error.message}` : ''}` }
    if (error || reply.status === 400) {
      node.isSinglyUntil = rpc.clock.elapsed() + SINGLY_MS
      return askSingly(rpc, node, calls, limitMs)
    }
  }
  const byId = new Map(
    (Array.isArray(content) ? content : [content]).map((one: unknown) => [fieldsOf(one)['id'], one]),
  )
  const answers = requests.map((one) => answerOf(byId.get(one.id), node.secrets))
  if (answers.includes(undefined))
    return { fault: `${node.host} answered ${reply.status} without what JSON-RPC answers` }
  const limited = answers.find((one) => one?.error && isOverload(one.error))
  if (limited?.error) return { fault: `${node.host}: ${limited.error.message}` }
  return { answers: answers as RpcAnswer[] }
}

async function askSingly(
  rpc: RpcContext,
  node: Node,
  calls: readonly RpcCall[],
  limitMs: number,
): Promise<Attempt> {
  const answers: RpcAnswer[] = []
  const until = rpc.clock.elapsed() + limitMs
  for (let at = 0; at < calls.length; at += SINGLE_CALLS) {
    const remainingMs = until - rpc.clock.elapsed()
    if (remainingMs <= 0) return { fault: `${node.host} took too long`, isHanging: true }
    const part = await Promise.all(
      calls.slice(at, at + SINGLE_CALLS).map((one) => ask(rpc, node, [one], remainingMs)),
    )
    for (const one of part) {
      if ('fault' in one) return one
      answers.push(...one.answers)
    }
  }
  return { answers }
}

/** What is wrong with a node; undefined if it is one of the chain. */
async function verify(rpc: RpcContext, node: Node, limitMs: number): Promise<Attempt | undefined> {
  if (rpc.clock.elapsed() < node.isTrustedUntil) return undefined
  let failure: Attempt | undefined
  const fault = await rpc.verify(async (calls) => {
    const attempt = await ask(rpc, node, calls, limitMs)
    if ('answers' in attempt) return attempt.answers
    failure = attempt
    return undefined
  })
  if (fault === undefined && failure === undefined) node.isTrustedUntil = rpc.clock.elapsed() + rpc.trustMs
  return failure ?? (fault === undefined ? undefined : { fault: `${node.host} ${fault}` })
}

async function tryNode(
  rpc: RpcContext,
  node: Node,
  calls: readonly RpcCall[],
  limitMs: number,
  believe?: Believe,
): Promise<Attempt> {
  const until = rpc.clock.elapsed() + limitMs
  const stranger = await verify(rpc, node, limitMs)
  if (stranger !== undefined) return stranger
  const attempt = await ask(rpc, node, calls, Math.max(1, until - rpc.clock.elapsed()))
  if ('fault' in attempt) return attempt
  const doubt = believe?.(attempt.answers)
  return doubt === undefined ? attempt : { fault: `${node.host} ${doubt}` }
}

async function batch(
  rpc: RpcContext,
  calls: readonly RpcCall[],
  { limitMs = LIMIT_MS, believe }: RpcOptions = {},
): Promise<RpcAnswer[]> {
  const until = rpc.clock.elapsed() + limitMs
  const inOrder = rpc.nodes.toSorted((one, other) => restOf(rpc, one) - restOf(rpc, other))
  for (const node of inOrder) if (node !== inOrder[0]) void probe(rpc, node)
  const faults: string[] = []
  for (const [at, node] of inOrder.entries()) {
    const remainingMs = until - rpc.clock.elapsed()
    if (remainingMs <= 0) break
    const isLast = at === inOrder.length - 1
    const attempt = await tryNode(rpc, node, calls, isLast ? remainingMs : remainingMs * SHARE, believe)
    if ('answers' in attempt) {
      node.restsUntil = 0
      node.unanswered = undefined
      return attempt.answers
    }
    if (attempt.isHanging) node.unanswered = calls
    node.restsUntil = rpc.clock.elapsed() + REST_MS
    node.isTrustedUntil = 0
    faults.push(oneLine(attempt.fault, TEXT_MAX))
  }
  rpc.log.warn(
    { chain: rpc.chain, methods: [...new Set(calls.map(({ method }) => method))], faults },
    'no node of a chain answers',
  )
  throw providerError(rpc.chain, faults.join('; '))
}

async function all(
  rpc: RpcContext,
  calls: readonly RpcCall[],
  { limitMs = LIMIT_MS, believe }: RpcOptions = {},
): Promise<RpcAnswer[][]> {
  const attempts = await Promise.all(rpc.nodes.map((node) => tryNode(rpc, node, calls, limitMs, believe)))
  const answers = attempts.flatMap((attempt) => ('answers' in attempt ? [attempt.answers] : []))
  if (answers.length > 0) return answers
  const faults = attempts.flatMap((attempt) => ('fault' in attempt ? [oneLine(attempt.fault, TEXT_MAX)] : []))
  throw providerError(rpc.chain, faults.join('; '))
}

/** Answered or not, a node that hung costs nobody a wait before it has answered the same calls. */
const restOf = (rpc: RpcContext, { restsUntil, unanswered }: Node): number =>
  unanswered !== undefined || restsUntil > rpc.clock.elapsed() ? Math.max(restsUntil, 1) : 0

/** Asks a node that hung what it gave no answer to, once in a while; for the background. */
async function probe(rpc: RpcContext, node: Node): Promise<void> {
  const { unanswered } = node
  if (unanswered === undefined || node.isProbed || node.restsUntil > rpc.clock.elapsed()) return
  node.isProbed = true
  const attempt = await tryNode(rpc, node, unanswered, LIMIT_MS * SHARE)
  node.isProbed = false
  if ('answers' in attempt) node.unanswered = undefined
  else node.restsUntil = rpc.clock.elapsed() + REST_MS
}

/** PROVIDER_ERROR of a chain. @param why one line, without addresses */
export const providerError = (chain: string, why: string): ApiError =>
  onchainErrors.provider_error({
    message: `The chain ${chain} gives no answer: ${why}.`,
    details: { chain },
  })

/** Whether a text is an address of a node as `nodeAt` reads it. */
export function isNodeAddress(text: string): boolean {
  try {
    const { protocol, username, password } = new URL(text)
    decodeURIComponent(username + password)
    return protocol === 'http:' || protocol === 'https:'
  } catch {
    return false
  }
}

/** Only the host is ever shown: providers put keys into paths, queries and user names. */
function nodeAt(text: string, clock: Clock): Node {
  const url = new URL(text)
  const { host, username, password, pathname, search, searchParams } = url
  url.username = ''
  url.password = ''
  const [user, pass] = [decodeURIComponent(username), decodeURIComponent(password)]
  const credentials = `${user}:${pass}`
  const parts = [user, pass, search.slice(1), ...searchParams.values(), ...pathname.split('/')]
  return {
    host,
    url,
    secrets: parts
      .filter((part) => part.length >= SECRET_MIN)
      .toSorted((one, other) => other.length - one.length),
    headers:
      credentials === ':' ? {} : { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` },
    outbound: createOutbound({ name: host, maxBytes: MAX_BYTES, keepAlive: true, clock }),
    restsUntil: 0,
    unanswered: undefined,
    isProbed: false,
    isTrustedUntil: 0,
    isSinglyUntil: 0,
  }
}

const fieldsOf = (value: unknown): Record<string, unknown> =>
  (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>

function contentOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8')) as unknown
  } catch {
    return undefined
  }
}

/** @see https://www.jsonrpc.org/specification#response_object */
function answerOf(content: unknown, secrets: readonly string[]): RpcAnswer | undefined {
  const { error, result } = fieldsOf(content)
  if (error === undefined || error === null) return result === undefined ? undefined : { result }
  const { code, message, data } = fieldsOf(error)
  const hex = hexIn(data)
  return {
    error: {
      code: typeof code === 'number' ? code : 0,
      message: withoutSecrets(typeof message === 'string' ? message : 'it answered an error', secrets),
      ...(hex !== undefined && { data: hex }),
    },
  }
}

/** Nodes nest it: `data`, `data.data`, `data.originalError.data`, or the text `Reverted 0x…`. */
function hexIn(data: unknown): Hex | undefined {
  if (typeof data === 'string') return /0x(?:[0-9a-f]{2})*/i.exec(data)?.[0] as Hex | undefined
  const { data: inner, originalError } = fieldsOf(data)
  const nested = inner ?? fieldsOf(originalError)['data']
  return nested === undefined ? undefined : hexIn(nested)
}

/** A sentence of a node without the addresses, keys and long values that may stand in it. */
function withoutSecrets(text: string, secrets: readonly string[]): string {
  const line = text.replaceAll(/\w+:\/\/\S+/g, 'its address').replaceAll(/(?:0x)?[0-9a-f]{64,}/gi, '…')
  return oneLine(
    secrets.reduce((rest, secret) => rest.replaceAll(secret, '…'), line),
    TEXT_MAX,
  )
}

// https://eips.ethereum.org/EIPS/eip-1474#error-codes: -32005 is a limit of the node's.
const isOverload = ({ code, message }: RpcFault): boolean =>
  (code === -32_005 || code === 429) && !/range|result|block|log/i.test(message)
