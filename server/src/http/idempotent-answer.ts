import { sha256 } from '../base/crypto.ts'
import { ApiError } from '../base/errors.ts'
import { rawRequestOf } from './body-parsers.ts'
import { envelope } from './failures.ts'
import { isFinal, refuseUnlessNew, type ClaimedKey, type StoredAnswer } from './idempotency.ts'
import type { Exchange } from './received-call.ts'
import { Answer, type BriefReplay, type RouteSpec } from './route.ts'

/** What a body is compared by under an Idempotency-Key. */
export const contentOf = ({ route, request }: Exchange): unknown =>
  route.spec.body?.kind === 'raw'
    ? [request.headers['content-type'], sha256(rawRequestOf(request).bytes)]
    : request.body

/**
 * Answers under an Idempotency-Key: with the stored answer, or by making the call.
 *
 * @param content what calls are compared by; other content under the same key is a conflict
 * @throws IDEMPOTENCY_CONFLICT, and what `perform` throws
 */
export async function answerOnce(
  exchange: Exchange,
  key: string,
  content: unknown,
  perform: (
    recordId: string,
    isRepeated: boolean,
    claimedKey: ClaimedKey,
  ) => Promise<StoredAnswer | Answer<unknown>>,
): Promise<StoredAnswer> {
  const { spec, server } = exchange.route
  const { idempotency } = server
  const fingerprint = fingerprintOf(exchange, content)
  const owner = await ownerOf(exchange, key, fingerprint)
  let start = await idempotency.begin(owner, key, fingerprint)
  while (start.state === 'done') {
    if (await isCurrent(spec, start.answer)) {
      exchange.request.flight.headers['idempotency-replayed'] = 'true'
      return shownNow(exchange, start.answer)
    }
    await idempotency.expire(owner, key)
    start = await idempotency.begin(owner, key, fingerprint)
  }
  refuseUnlessNew(start)
  try {
    const response = await perform(start.recordId, start.isRepeated, { owner, key })
    if (response instanceof Answer)
      throw new Error(`${exchange.route.key} takes an Idempotency-Key and must answer JSON`)
    const { seconds } = briefReplayOf(spec) ?? {}
    await idempotency.finish(owner, key, response, seconds === undefined ? undefined : seconds * 1000)
    return response
  } catch (error) {
    if (error instanceof ApiError && isFinal(error.status))
      await idempotency.finish(owner, key, storedErrorOf(error, spec))
    else await idempotency.release(owner, key)
    throw error
  }
}

function fingerprintOf({ route, request }: Exchange, content: unknown): string {
  // Only if there is one, so that keys of the version before stay what they are.
  const query = Object.keys(request.query as object).length > 0 ? [request.query] : []
  return JSON.stringify([route.key, request.params, content, ...query])
}

/** What the key belongs to: the caller, or what `keysOf` of the route names. */
async function ownerOf({ route, request }: Exchange, key: string, fingerprint: string): Promise<string> {
  const { caller, params, body } = request
  const { idempotency } = route.server
  const own = caller ? `${caller.kind}:${caller.id}` : idempotency.anonymous(fingerprint)
  const { keysOf } = route.spec
  // What the version before stored under the caller's own key is that call: a refund must not be made again.
  if (!keysOf || (await idempotency.has(own, key, fingerprint))) return own
  return `shared:${route.target.wire}:${keysOf({ params, body })}`
}

const briefReplayOf = ({ idempotent }: RouteSpec): BriefReplay | undefined =>
  typeof idempotent === 'object' ? idempotent : undefined

/** An error contains no tokens, so it is replayed like the answers of other routes. */
async function isCurrent(spec: RouteSpec, { status, body }: StoredAnswer): Promise<boolean> {
  const replay = briefReplayOf(spec)
  return !replay || status >= 400 || replay.isCurrent(JSON.parse(body))
}

/** The stored answer, without what its caller may not see any more. */
async function shownNow(
  { route: { spec }, request: { params, caller } }: Exchange,
  answer: StoredAnswer,
): Promise<StoredAnswer> {
  if (!spec.replayed || answer.status >= 400) return answer
  return { ...answer, body: await spec.replayed(answer.body, { params, caller }) }
}

const storedErrorOf = (error: ApiError, { errorDetails }: RouteSpec): StoredAnswer => ({
  status: error.status,
  headers: error.headers ?? {},
  body: JSON.stringify(envelope(error, errorDetails)),
})
