import type { Clock } from '../../../base/clock.ts'
import { jsonOf, type Outbound } from '../../../outbound/outbound.ts'
import { sentence } from './twilio-outcome.ts'

const VERSION = '/2010-04-01/'
const PAGE_SIZE = 1000
const PAGES_MAX = 20
/** Twilio's clock and ours differ, and its times are whole seconds. */
const CLOCK_SLACK_MS = 10_000
/** What an account on trial puts before each text. */
const TRIAL = 'Sent from your Twilio trial account - '

/** What we read of a list: https://www.twilio.com/docs/messaging/api/message-resource */
type Message = {
  sid?: string | null
  body?: string | null
  direction?: string
  /** RFC 2822. */
  date_created?: string | null
}
type Page = { messages?: Message[]; next_page_uri?: string | null }

/**
 * The sids of all messages of an account with this receiver and body, oldest first. Twilio keeps nothing of ours beside
 * them, so of equal texts it can't be said which is which.
 *
 * @param messages the path of the account's messages
 * @param text.to as Twilio knows it, for WhatsApp with its mark
 * @param since milliseconds
 * @throws Error where Twilio can't be asked, or has not answered all of it within `limitMs`
 */
export async function search(
  outbound: Outbound,
  clock: Clock,
  messages: string,
  text: { to: string; body: string },
  since: number,
  limitMs: number,
): Promise<string[]> {
  const deadline = clock.elapsed() + limitMs
  const earliest = since - CLOCK_SLACK_MS
  const sids = new Map<string, number>()
  const list = (more: Record<string, string>): string =>
    `${messages}?${new URLSearchParams({ To: text.to, ...more, PageSize: String(PAGE_SIZE) }).toString()}`

  /** Answers the path of the next page. */
  async function read(path: string): Promise<string | undefined> {
    const remainingMs = deadline - clock.elapsed()
    if (remainingMs <= 0) throw new Error('Twilio lists too many messages for this number to be read in time')
    const reply = await outbound.call(path, { limitMs: remainingMs })
    if (reply.kind !== 'answered') throw new Error(reply.reason)
    const page = jsonOf(reply) as Page | null | undefined
    if (reply.status !== 200 || !Array.isArray(page?.messages)) throw new Error(sentence(reply))
    for (const { sid, body, direction, date_created } of page.messages) {
      const createdAt = Date.parse(date_created ?? '')
      if (typeof sid !== 'string' || direction === 'inbound' || !(createdAt >= earliest)) continue
      if (isSame(body ?? '', text.body)) sids.set(sid, createdAt)
    }
    const next = page.next_page_uri
    return typeof next === 'string' && next !== '' ? below(next) : undefined
  }

  let dated: string | undefined = list({ 'DateSent>': new Date(earliest).toISOString().slice(0, 10) })
  for (let page = 0; dated !== undefined; page++) {
    if (page === PAGES_MAX) throw new Error('Twilio lists too many messages for this number')
    dated = await read(dated)
  }
  // What still waits at Twilio has no DateSent, so the newest are looked through without it as well.
  await read(list({}))
  return [...sids].toSorted(([, a], [, b]) => a - b).map(([sid]) => sid)
}

/** Twilio's own next page, but always below our base: the credentials go nowhere else. */
function below(uri: string): string {
  const start = uri.indexOf(VERSION)
  if (start < 0) throw new Error('Twilio answered a next page that is not one of its own')
  return uri.slice(start)
}

const isSame = (theirs: string, ours: string): boolean =>
  [ours, TRIAL + ours].some((text) => text.trim() === theirs.trim())
