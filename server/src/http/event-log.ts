import type { Logger } from '../base/logger.ts'
import type { Actor } from './actor.ts'

/**
 * Writes one line to the log for what happens to an account, with its name in the field `event`. The ids are those of
 * records: never an address, a password or a token.
 *
 * @example
 * record('points-spent', { account: caller.id, order: order._id })
 */
export type RecordEvent = (event: string, ids: Readonly<Record<string, string | undefined>>) => void

/** Where something comes from: who it is, for the audit log, and the log with the address and the id of the request. */
export type CallOrigin = { readonly actor: Actor; readonly record: RecordEvent }

/**
 * @param options.countEvent counts each event for the metrics
 * @param origin of the events: the client's address and the id of the request, or nothing outside of requests
 */
export const eventLog =
  (
    { log, countEvent }: { log: Logger; countEvent: RecordEvent },
    origin: { ip?: string; requestId?: string } = {},
  ): RecordEvent =>
  (event, ids) => {
    log.info({ event, ...ids, ...origin }, event)
    countEvent(event, ids)
  }
