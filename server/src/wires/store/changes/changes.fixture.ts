import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'

import type { TestApp } from '../../../testing/app.ts'
import { until } from '../../../testing/until.ts'
import { selectStateSql } from './log-rows.ts'

/** A server-sent event, as a client reads it. */
export type ReceivedEvent = {
  readonly event: string
  readonly data: any // eslint-disable-line typescript/no-explicit-any -- JSON of any shape
  readonly id: string | undefined
}

/** A stream of changes, as a client reads it. */
export type Stream = {
  readonly status: number
  readonly events: ReceivedEvent[]
  /** Waits for the events that a list shows. */
  receives(...expected: string[]): Promise<void>
  /** The documents that a client would hold now, by their ids. */
  readonly held: Map<string, any> // eslint-disable-line typescript/no-explicit-any -- JSON of any shape
  readonly isEnded: () => boolean
  lastId(): string | undefined
  close(): void
}

type StreamOptions = {
  token?: string | undefined
  lastEventId?: string | undefined
  query: Record<string, unknown>
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** The path of changes with parameters. */
export const pathOf = (query: Record<string, unknown>): string =>
  `/store/changes?${new URLSearchParams(Object.entries(query).map(([name, value]) => [name, textOf(value)])).toString()}`

/** Waits until all that was written can be read from the log: transactions of other tests on the same PostgreSQL hold it up. */
export const readable = ({ app: { db } }: Pick<TestApp, 'app'>): Promise<void> =>
  until(async () => (await db.get(selectStateSql()))!.is_held === 0)

/**
 * Waits until the feed of a server that several tests share has come to what was written before: streams that begin later
 * receive nothing of it.
 *
 * @param collection public, in which the owner of the token may create documents
 */
export async function caughtUp(
  t: TestContext,
  app: TestApp,
  { token, collection }: { token: string; collection: string },
): Promise<void> {
  const stream = await follow(t, app.url, { query: { collection } })
  await until(() => stream.events.some(({ event }) => event === 'ready'))
  const { body } = await app.request('POST', `/store/${collection}`, { token, body: {} })
  await until(() => stream.held.has(body._id))
  stream.close()
}

/** Follows changes until the test ends. */
export async function follow(
  t: TestContext,
  url: string,
  { token, lastEventId, query }: StreamOptions,
): Promise<Stream> {
  const controller = new AbortController()
  t.after(() => controller.abort())
  const answer = await fetch(url + pathOf(query), {
    headers: {
      ...(token ? { authorization: `Bearer ${token}` } : {}),
      ...(lastEventId ? { 'last-event-id': lastEventId } : {}),
    },
    signal: controller.signal,
  })
  assert.equal(answer.status, 200)
  const events: ReceivedEvent[] = []
  const held = new Map<string, unknown>()
  let isEnded = false
  const take = (text: string): void => {
    const event = eventOf(text)
    if (!event) return
    events.push(event)
    if (event.event === 'put') held.set(event.data._id, event.data.document)
    if (event.event === 'gone') held.delete(event.data._id)
  }
  void (async () => {
    let text = ''
    try {
      for await (const part of answer.body!.pipeThrough(new TextDecoderStream())) {
        const parts = (text + part).split('\n\n')
        text = parts.pop()!
        parts.forEach(take)
      }
    } catch {
      // Cut off, which some tests mean to do.
    }
    isEnded = true
  })()
  return {
    status: answer.status,
    events,
    held,
    isEnded: () => isEnded,
    lastId: () => events.findLast(({ id }) => id !== undefined)?.id,
    receives: async (...expected) => {
      const shown = () => events.filter(({ event }) => event !== 'ping').map(shortOf)
      await until(() => shown().length >= expected.length)
      assert.deepEqual(shown(), expected)
    },
    close: () => controller.abort(),
  }
}

/** An event in a few words: `put a`, `gone a`, `reset expired`. */
export const shortOf = ({ event, data }: ReceivedEvent): string =>
  [event, data.document?.title ?? data.title ?? data.reason ?? (event === 'gone' ? data._id : undefined)]
    .filter((part) => part !== undefined)
    .join(' ')

function eventOf(text: string): ReceivedEvent | undefined {
  const fields = new Map(
    text.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
  )
  const [event, data] = [fields.get('event'), fields.get('data')]
  return event === undefined || data === undefined
    ? undefined
    : { event, data: JSON.parse(data), id: fields.get('id') }
}
