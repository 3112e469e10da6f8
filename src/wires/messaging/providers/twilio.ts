import { systemClock } from '../../../base/clock.ts'
import { isLoopback } from '../../../base/loopback.ts'
import { StartError } from '../../../base/start-error.ts'
import { createOutbound, jsonOf } from '../../../outbound/outbound.ts'
import { trackCalls } from '../../../providers/under-way.ts'
import type { OutgoingText, TextProvider } from '../provider.ts'
import { outcomeOf, sentence } from './twilio-outcome.ts'
import { twilioReceiver } from './twilio-report.ts'
import { search } from './twilio-search.ts'

const API_BASE = 'https://api.twilio.com'
const CHECK_MS = 10_000

/**
 * Sends SMS or WhatsApp messages through Twilio's Messages resource. Whether one arrives Twilio reports later, to the
 * `reportTo` of the text. That is left out if only this machine could reach it and Twilio is elsewhere: Twilio would
 * refuse the message for it.
 *
 * @param options.authToken also what Twilio signs its reports with
 * @param options.from E.164, a short code or a sender's name; for SMS also the sid of a messaging service (`MG…`).
 *   WhatsApp's `whatsapp:` is put before it and the receiver if it is not there yet.
 * @param options.apiBase the address of Twilio's API; default Twilio's own
 * @param clock for the limits of calls
 * @throws StartError if `apiBase` is no address
 */
export function twilio(
  options: {
    channel: TextProvider['channel']
    accountSid: string
    authToken: string
    from: string
    apiBase?: string
  },
  clock = systemClock,
): TextProvider {
  const { channel, accountSid, authToken, from } = options
  const base = options.apiBase ?? API_BASE
  if (!/^https?:\/\/./i.test(base) || !URL.canParse(base))
    throw new StartError(
      `TWILIO_API_BASE, or the apiBase of twilio(): "${base}" is not an address like ${API_BASE}`,
    )
  const account = `/2010-04-01/Accounts/${encodeURIComponent(accountSid)}`
  const messages = `${account}/Messages.json`
  const authorization = `Basic ${Buffer.from(`${accountSid}:${authToken}`).toString('base64')}`
  const outbound = createOutbound({
    name: 'Twilio',
    base,
    headers: { authorization, accept: 'application/json' },
    clock,
  })

  const calls = trackCalls()

  const address = (number: string): string =>
    channel === 'whatsapp' && !number.startsWith('whatsapp:') ? `whatsapp:${number}` : number

  function form({ to, body, media, reportTo }: OutgoingText): URLSearchParams {
    const fields = new URLSearchParams({ To: address(to), Body: body })
    const service = channel === 'sms' && /^MG[0-9a-f]{32}$/i.test(from)
    fields.set(service ? 'MessagingServiceSid' : 'From', address(from))
    // Twilio asks the address for its type, and has no field for a name.
    if (media) fields.set('MediaUrl', media.url)
    if (reportTo !== undefined && (!isLocal(reportTo) || isLocal(base)))
      fields.set('StatusCallback', reportTo)
    return fields
  }

  return {
    name: 'twilio',
    channel,
    send: (text, limitMs) =>
      calls.track(outbound.call(messages, { form: form(text), limitMs }).then(outcomeOf)),
    find: (text, since, limitMs) =>
      search(outbound, clock, messages, { to: address(text.to), body: text.body }, since, limitMs),
    ...twilioReceiver(authToken),

    async check() {
      const reply = await outbound.call(`${account}.json`, { limitMs: CHECK_MS })
      if (reply.kind !== 'answered') throw new Error(reply.reason)
      const { status } = reply
      if (status === 401) throw new Error('Twilio does not know this account or its token')
      const body = jsonOf(reply)
      if (status !== 200) throw new Error(sentence(reply))
      const state = (body as { status?: unknown } | null | undefined)?.status
      if (state !== 'active') throw new Error(`the Twilio account is ${String(state)}`)
    },

    // No connection outlives its call.
    close: () => calls.ended(),
  }
}

const isLocal = (url: string): boolean => isLoopback(new URL(url).hostname)
