// A server that speaks Twilio's protocol, and answers as a test tells it to.
import { randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'

import type { Clock } from '../../../base/clock.ts'
import {
  json,
  startScriptedServer,
  type ScriptedAnswer,
  type ScriptedRequest,
} from '../../../testing/scripted-http.ts'
import type { OutgoingText } from './provider.ts'
import { twilio } from './twilio.ts'

export { json, type ScriptedAnswer, type ScriptedRequest }

/** Milliseconds: no outcome but those of a limit waits for it. */
export const PATIENCE = 20_000

export const ACCOUNT = `AC${'a1'.repeat(16)}`
export const TOKEN = 'b2'.repeat(16)
export const FROM = '+15005550006'
export const ADA = '+14155552671'
export const MESSAGES = `/2010-04-01/Accounts/${ACCOUNT}/Messages.json`

export type Held = Record<string, unknown> & {
  sid: string
  to: string
  body: string
  date_created: string
  date_sent: string | null
}

/** A message as Twilio describes it. */
export function held(more: Partial<Held> = {}): Held {
  const sid = `SM${randomBytes(16).toString('hex')}`
  const now = new Date().toUTCString().replace('GMT', '+0000')
  return {
    account_sid: ACCOUNT,
    api_version: '2010-04-01',
    body: 'Hello',
    date_created: now,
    date_sent: null,
    date_updated: now,
    direction: 'outbound-api',
    error_code: null,
    error_message: null,
    from: FROM,
    messaging_service_sid: null,
    num_media: '0',
    num_segments: '1',
    price: null,
    price_unit: 'USD',
    sid,
    status: 'queued',
    subresource_uris: { media: `/2010-04-01/Accounts/${ACCOUNT}/Messages/${sid}/Media.json` },
    to: ADA,
    uri: `/2010-04-01/Accounts/${ACCOUNT}/Messages/${sid}.json`,
    ...more,
  }
}

/** The Messages resource and the account, over what is held in `messages`, newest first. */
export function resource(messages: Held[], pageSize = 50): ScriptedAnswer {
  return ({ method, path, query, form }, response) => {
    if (path.endsWith(`/Accounts/${ACCOUNT}.json`))
      return json(response, 200, { sid: ACCOUNT, status: 'active', type: 'Full', friendly_name: 'Shop' })
    if (method === 'POST') {
      const message = held({ to: form.get('To')!, body: form.get('Body')!, from: form.get('From') })
      messages.unshift(message)
      return json(response, 201, message)
    }
    const [to, day] = [query.get('To'), query.get('DateSent>')]
    const found = messages.filter(
      (one) =>
        one.to === to &&
        (day === null ||
          (one.date_sent !== null && new Date(one.date_sent).toISOString().slice(0, 10) >= day)),
    )
    const page = Number(query.get('Page') ?? 0)
    const size = Math.min(pageSize, Number(query.get('PageSize') ?? 50))
    const address = (at: number): string => {
      const next = new URLSearchParams(query)
      next.set('Page', String(at))
      return `${path.slice(path.indexOf('/2010'))}?${next.toString()}`
    }
    json(response, 200, {
      end: page * size + size - 1,
      first_page_uri: address(0),
      next_page_uri: found.length > (page + 1) * size ? address(page + 1) : null,
      page,
      page_size: size,
      previous_page_uri: page > 0 ? address(page - 1) : null,
      start: page * size,
      uri: address(page),
      messages: found.slice(page * size, (page + 1) * size),
    })
  }
}

export async function serve(t: TestContext, answer: ScriptedAnswer) {
  const { port, ...rest } = await startScriptedServer(t, answer)
  return { ...rest, apiBase: `http://127.0.0.1:${port}` }
}

export const open = (more: Partial<Parameters<typeof twilio>[0]>, clock?: Clock) =>
  twilio({ channel: 'sms', accountSid: ACCOUNT, authToken: TOKEN, from: FROM, ...more }, clock)

export const text = (more: Partial<OutgoingText> = {}): OutgoingText => ({
  id: 'm1',
  to: ADA,
  body: 'Hello',
  ...more,
})
