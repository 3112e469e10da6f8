import { systemClock } from '../../../base/clock.ts'
import { isLoopback } from '../../../base/loopback.ts'
import { StartError } from '../../../base/start-error.ts'
import { createOutbound, jsonOf } from '../../../outbound/outbound.ts'
import { PendingPromises } from '../../../base/pending-promises.ts'
import type { OutgoingText, TextProvider } from './provider.ts'
import { outcomeOf, sentence } from './twilio-outcome.ts'
import { twilioReceiver } from './twilio-report.ts'
import { search } from './twilio-search.ts'

const API_BASE = 'https://api.twilio.com'
const CHECK_MS = 10_000

/**
 * A provider that sends SMS or WhatsApp messages through Twilio's Messages resource
 * (https://www.twilio.com/docs/messaging/api/message-resource). Twilio reports the delivery later, to the `reportTo` of
 * the message. If only this machine can reach that URL, and Twilio is elsewhere, it is left out, because Twilio would
 * refuse the message.
 *
 * @param options.authToken the auth token of the account; Twilio signs its reports with it, too
 * @param options.from a number in E.164, a short code or a sender name; for SMS also the SID of a messaging service
 *   (`MG…`). For WhatsApp, `whatsapp:` is added to it and to the recipient.
 * @param options.apiBase the address of Twilio's API. Default: https://api.twilio.com
 * @param clock for the time limits of calls
 * @throws StartError if `apiBase` is not a URL
 * @example
 * import { defineConfig } from 'sixwire'
 * import { twilio } from 'sixwire/twilio'
 *
 * export default defineConfig({
 *   messaging: {
 *     sms: [twilio({ channel: 'sms', accountSid: 'AC…', authToken: '…', from: '+15005550006' })],
 *   },
 * })
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

  const calls = new PendingPromises()

  const address = (number: string): string =>
    channel === 'whatsapp' && !number.startsWith('whatsapp:') ? `whatsapp:${number}` : number

  function form({ to, body, media, reportTo }: OutgoingText): URLSearchParams {
    const fields = new URLSearchParams({ To: address(to), Body: body })
    const service = channel === 'sms' && /^MG[0-9a-f]{32}$/i.test(from)
    fields.set(service ? 'MessagingServiceSid' : 'From', address(from))
    // Twilio gets the content type from the URL, and has no field for a file name.
    if (media) fields.set('MediaUrl', media.url)
    if (reportTo !== undefined && (!isLocal(reportTo) || isLocal(base)))
      fields.set('StatusCallback', reportTo)
    return fields
  }

  return {
    name: 'twilio',
    channel,
    send: (text, limitMs) =>
      calls.add(outbound.call(messages, { form: form(text), limitMs }).then(outcomeOf)),
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
    close: () => calls.idle(),
  }
}

const isLocal = (url: string): boolean => isLoopback(new URL(url).hostname)
