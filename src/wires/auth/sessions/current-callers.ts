import type { Caller, KeyCaller } from '../../../http/access.ts'
import type { Sessions } from './sessions.ts'

/** The callers as they are now, in their order; undefined for one whose session has ended or whose key is revoked. */
export async function readCallers(
  sessions: Pick<Sessions, 'current'>,
  keys: { current(ids: readonly string[]): Promise<ReadonlyMap<string, KeyCaller>> },
  callers: readonly Caller[],
): Promise<(Caller | undefined)[]> {
  const sessionIds = callers.flatMap((one) => (one.kind === 'user' ? [one.sessionId] : []))
  const keyIds = callers.flatMap((one) => (one.kind === 'key' ? [one.id] : []))
  const [bySession, byKey] = await Promise.all([
    sessionIds.length > 0 ? sessions.current(sessionIds) : undefined,
    keyIds.length > 0 ? keys.current(keyIds) : undefined,
  ])
  return callers.map((one) => (one.kind === 'user' ? bySession?.get(one.sessionId) : byKey?.get(one.id)))
}
