import type { Outcome, ProviderEvent } from '../provider.ts'
import type { PaypalClient } from './paypal-client.ts'
import { eventOf } from './paypal-event.ts'
import { listOf, objectOf, timeOf, type PaypalFields } from './paypal-fields.ts'
import { outcomeOf } from './paypal-outcome.ts'
import type { WireContext } from '../../../../kernel/wire/wire.ts'

const PATH = '/v1/notifications/webhooks-events'
const PAGE_SIZE = 100
/** A window with more pages is halved. */
const PAGES_MAX = 10
const WINDOW_MIN_MS = 1_000
const WINDOW_MAX_MS = 24 * 3_600_000
/** PayPal keeps events for 30 days; an earlier time may be refused. */
const KEPT_MS = 30 * 24 * 3_600_000 - 60_000
/** An event is listed some time after it was created. */
const DELAY_MS = 60_000

type Listed = { events: readonly ProviderEvent[]; until: number }

/**
 * Makes the function that lists events since a time, oldest first: in windows of at most a day, each read to its last
 * page.
 */
export function createEventList({ clock }: Pick<WireContext, 'clock'>, { client }: { client: PaypalClient }) {
  // How much PayPal has in a time is found out once, and not at each call.
  let windowMs = WINDOW_MAX_MS

  async function readWindow(
    start: number,
    end: number,
    deadline: number,
  ): Promise<Outcome<{ objects: PaypalFields[] }> | 'too long'> {
    const objects: PaypalFields[] = []
    let path: string | undefined = `${PATH}?${new URLSearchParams({
      page_size: String(PAGE_SIZE),
      start_time: new Date(start).toISOString(),
      end_time: new Date(end).toISOString(),
    }).toString()}`
    for (let page = 0; path !== undefined; page++) {
      if (page === PAGES_MAX) return 'too long'
      const remainingMs = deadline - clock.elapsed()
      if (remainingMs <= 0)
        return { kind: 'retry', reason: 'PayPal lists too many events to be read in time' }
      const outcome: Outcome<{ listed: PaypalFields[]; next: string | undefined }> = outcomeOf(
        await client.call(path, { limitMs: remainingMs }),
        {
          call: 'read',
          expects: 'a list of events',
          accept(answer) {
            const { events, links } = objectOf(answer)
            if (!Array.isArray(events)) return undefined
            const link = listOf(links).find(({ rel }) => rel === 'next')
            const next = link && below(link['href'])
            return next === '' ? undefined : { listed: events.map(objectOf), next }
          },
        },
      )
      if (outcome.kind !== 'accepted') return outcome
      objects.push(...outcome.listed)
      // An empty page is the last one, whatever its links say.
      path = outcome.listed.length === 0 ? undefined : outcome.next
    }
    return { kind: 'accepted', objects }
  }

  return async (since: number, limitMs: number): Promise<Outcome<Listed>> => {
    const deadline = clock.elapsed() + limitMs
    const now = clock.now()
    const events = new Map<string, ProviderEvent>()
    const listOutcome = (until: number): Outcome<Listed> => ({
      kind: 'accepted',
      events: [...events.values()],
      until: Math.max(since, Math.min(until, now - DELAY_MS)),
    })
    const earliest = Math.max(Math.min(since, now), now - KEPT_MS)
    let start = earliest
    while (start < now) {
      const end = Math.min(start + windowMs, now)
      const window = await readWindow(start, end, deadline)
      if (window === 'too long' && end - start > WINDOW_MIN_MS) {
        windowMs = Math.max(WINDOW_MIN_MS, Math.floor((end - start) / 2))
        continue
      }
      if (window === 'too long')
        return {
          kind: 'unknown',
          reason: `PayPal lists more than ${PAGES_MAX * PAGE_SIZE} events of one second`,
        }
      // What was read whole before counts, also if the rest cannot be read.
      if (window.kind !== 'accepted') return start > earliest ? listOutcome(start) : window
      const inOrder = window.objects.toSorted((a, b) => createdAt(a) - createdAt(b))
      for (const object of inOrder) {
        const event = eventOf(object)
        if (event && !events.has(event.id)) events.set(event.id, event)
      }
      if (window.objects.length < PAGE_SIZE) windowMs = Math.min(WINDOW_MAX_MS, windowMs * 2)
      start = end
    }
    return listOutcome(now)
  }
}

const createdAt = (event: PaypalFields): number => timeOf(event['create_time']) ?? 0

/** PayPal's own next page, but always below our base: the token goes nowhere else. Empty if it is something else. */
function below(link: unknown): string {
  if (typeof link !== 'string' || !URL.canParse(link, 'https://api.paypal.com')) return ''
  const { pathname, search } = new URL(link, 'https://api.paypal.com')
  return pathname.endsWith(PATH) ? PATH + search : ''
}
