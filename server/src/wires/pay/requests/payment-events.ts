import type { Step } from '../../../db/database.ts'
import type { Events } from '../../../kernel/events/events.ts'
import type { Chains } from '../../onchain/index.ts'
import type { StoredRequest } from './request-rows.ts'
import { REQUEST_STATUSES, type RequestState } from './request-state.ts'
import { detailsOf } from './request-record.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'

const OBJECT = 'onchain.payment'
const VERBS = ['created', ...REQUEST_STATUSES] as const

/** What is published of payment requests: each as `GET /pay/onchain/requests/:id` shows it. */
export type PaymentRequestEvents = {
  readonly takesArrivals: boolean
  /**
   * The steps that publish what a request has become.
   *
   * @param cause an event of the same cause is published once for a request
   */
  changedSql(
    verb: (typeof VERBS)[number],
    stored: StoredRequest,
    options: { state: RequestState; cause: string },
  ): readonly Step[]
}

/** Declares the types, also where nothing configures payments on chains. */
export const declarePaymentEvents = (events: Events): void =>
  events.declare(VERBS.map((verb) => `${OBJECT}.${verb}`))

export const createPaymentEvents = (
  { events }: Pick<WireContext, 'events'>,
  { chains }: { chains: Pick<Chains, 'all'> },
): PaymentRequestEvents => ({
  takesArrivals: events.takes(`${OBJECT}.detected`),
  changedSql(verb, stored, { state, cause }) {
    const type = `${OBJECT}.${verb}`
    if (!events.takes(type)) return []
    const { id } = stored.request
    return events.publishSql({
      type,
      record: id,
      data: detailsOf(chains, stored, state),
      once: `${verb}:${id}:${cause}`,
    })
  },
})
