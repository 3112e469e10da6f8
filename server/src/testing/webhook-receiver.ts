// A receiver of events. It checks each signature by the library of Standard Webhooks, which signs them anew.
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'

import { Webhook } from 'standardwebhooks'

import type { Ending } from './engines.ts'
import { startScriptedServer, type ScriptedRequest } from './scripted-http.ts'
import { until } from './until.ts'

/** An event as it arrived. */
export type ReceivedEvent = {
  id: string
  /** Seconds since 1970. */
  timestamp: number
  type: string
  data: Record<string, unknown>
  body: { type: string; timestamp: string; data: Record<string, unknown> }
}

export type WebhookReceiver = {
  url: string
  secret: string
  /** Each attempt, in order, the refused ones included. */
  readonly attempts: readonly ReceivedEvent[]
  /** What was answered with 204. */
  readonly events: readonly ReceivedEvent[]
  /** Those of a type, or of types that begin so. */
  ofType(type: string): ReceivedEvent[]
  /** What it answers from now on: a status, or what the function does. */
  answer: number | ((event: ReceivedEvent, response: ServerResponse) => void)
  /** The status for an event, instead of `answer`. */
  refuses: ((event: ReceivedEvent) => number) | undefined
  /** Waits until so many events have arrived. */
  arrived(count: number): Promise<void>
  /** Forgets all that has arrived. */
  forget(): void
}

/** A secret as the configuration takes it. */
export const webhookSecret = (fill = 7): string => `whsec_${Buffer.alloc(32, fill).toString('base64')}`

/** Starts a receiver on a free port. @param secrets the ones that it knows: each event must be signed with all of them */
export async function startReceiver(
  ending: Ending,
  secrets: readonly string[] = [webhookSecret()],
): Promise<WebhookReceiver> {
  const attempts: ReceivedEvent[] = []
  const events: ReceivedEvent[] = []
  const faults: unknown[] = []
  const receiver: WebhookReceiver = {
    url: '',
    secret: secrets[0]!,
    attempts,
    events,
    ofType: (type) => events.filter((event) => event.type === type || event.type.startsWith(`${type}.`)),
    answer: 204,
    refuses: undefined,
    async arrived(count) {
      await until(() => events.length >= count || faults.length > 0)
      if (faults.length > 0) throw faults[0]
    },
    forget: () => void (attempts.length = events.length = 0),
  }
  const { port } = await startScriptedServer(ending, (asked, response) => {
    let event: ReceivedEvent
    try {
      event = verified(asked, secrets)
    } catch (fault) {
      faults.push(fault)
      response.writeHead(400).end()
      return
    }
    attempts.push(event)
    const answer = receiver.refuses?.(event) ?? receiver.answer
    if (typeof answer === 'function') return answer(event, response)
    if (answer < 300) events.push(event)
    response.writeHead(answer, answer >= 300 && answer < 400 ? { location: '/elsewhere' } : {}).end()
  })
  receiver.url = `http://127.0.0.1:${port}/hooks`
  return receiver
}

function verified({ method, headers, body }: ScriptedRequest, secrets: readonly string[]): ReceivedEvent {
  const id = String(headers['webhook-id'])
  const timestamp = Number(headers['webhook-timestamp'])
  assert.equal(method, 'POST')
  assert.equal(headers['content-type'], 'application/json')
  // Not `verify`, which goes by the time of this machine: the clock of a test may be days ahead.
  const expected = secrets.map((secret) => new Webhook(secret).sign(id, new Date(timestamp * 1000), body))
  assert.equal(headers['webhook-signature'], expected.join(' '))
  const event = JSON.parse(body) as ReceivedEvent['body']
  assert.deepEqual(Object.keys(event), ['type', 'timestamp', 'data'])
  return { id, timestamp, type: event.type, data: event.data, body: event }
}
