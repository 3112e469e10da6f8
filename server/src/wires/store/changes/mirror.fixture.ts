import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { follow, type ReceivedEvent, type Stream } from './changes.fixture.ts'

export type MirrorWatch = { collection: string; filter?: unknown; fields?: string }

// JSON of any shape.
type Document = any // eslint-disable-line typescript/no-explicit-any

/** A client that holds what it watches as the documentation says: it lists, and goes on by events, wherever it is cut off. */
export type Mirror = {
  /** What it holds of each watch, by id. */
  readonly held: readonly Map<string, Document>[]
  readonly counts: { cuts: number; lists: number; resets: number; events: number }
  cut(): void
  /** Compares what it holds with what the lists say; answers the first difference. */
  difference(): Promise<string | undefined>
}

type MirrorOptions = {
  /** Where it connects next. */
  url: () => string
  token: string | undefined
  watches: readonly MirrorWatch[]
}

const LOOK_MS = 5
const AGAIN_MS = 50

/** Keeps a mirror until the test ends. */
export function mirror(t: TestContext, { url, token, watches }: MirrorOptions): Mirror {
  const held = watches.map(() => new Map<string, Document>())
  const counts = { cuts: 0, lists: 0, resets: 0, events: 0 }
  const controller = new AbortController()
  let stream: Stream | undefined
  let lastEventId: string | undefined
  let isListed = false

  async function list(): Promise<Map<string, Document>[]> {
    return Promise.all(
      watches.map(async ({ collection, filter, fields }) => {
        const query = new URLSearchParams({
          limit: '1000',
          ...(filter !== undefined && { filter: JSON.stringify(filter) }),
          ...(fields !== undefined && { fields }),
        })
        const answer = await fetch(`${url()}/store/${collection}?${query.toString()}`, {
          headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
        })
        const body = (await answer.json()) as { data: Document[]; total: number }
        assert.equal(answer.status, 200, JSON.stringify(body))
        assert.equal(body.data.length, body.total)
        return new Map(body.data.map((one) => [one._id, one]))
      }),
    )
  }

  async function take({ event, data, id }: ReceivedEvent): Promise<void> {
    counts.events++
    if (event === 'reset') counts.resets++
    if (event === 'reset' || (event === 'ready' && !isListed)) {
      isListed = false
      for (const [watch, documents] of (await list()).entries()) held[watch] = documents
      isListed = true
      counts.lists++
    }
    if (event === 'put') held[data.watch]!.set(data._id, data.document)
    if (event === 'gone') held[data.watch]!.delete(data._id)
    lastEventId = id ?? lastEventId
  }

  async function connect(): Promise<void> {
    stream = await follow(t, url(), { token, query: { watch: watches }, lastEventId })
    for (let taken = 0; ;) {
      const isEnded = stream.isEnded()
      while (taken < stream.events.length) await take(stream.events[taken++]!)
      if (isEnded) return
      await delay(LOOK_MS)
    }
  }

  void (async () => {
    while (!controller.signal.aborted)
      await connect().catch(() => {
        stream?.close()
        return delay(AGAIN_MS)
      })
  })()
  t.after(() => {
    controller.abort()
    stream?.close()
  })

  return {
    held,
    counts,
    cut: () => {
      counts.cuts++
      stream?.close()
    },
    difference: async () => {
      const listed = await list()
      for (const [watch, documents] of listed.entries()) {
        const ids = new Set([...documents.keys(), ...held[watch]!.keys()])
        for (const id of ids) {
          const [is, expected] = [held[watch]!.get(id), documents.get(id)].map((one) => JSON.stringify(one))
          if (is !== expected)
            return `${watches[watch]!.collection}/${id}: holds ${is}, the list has ${expected}`
        }
      }
      return undefined
    },
  }
}

/** Waits until all hold what the lists say. */
export async function agree(mirrors: readonly Mirror[], limitMs = 15_000): Promise<void> {
  const end = performance.now() + limitMs
  for (;;) {
    const differences = await Promise.all(
      mirrors.map(async (one) => one.difference().catch((error: unknown) => String(error))),
    )
    const found = differences.flatMap((one, i) => (one === undefined ? [] : [`mirror ${i}: ${one}`]))
    if (found.length === 0) return
    if (performance.now() > end) assert.fail(found.join('\n'))
    await delay(AGAIN_MS)
  }
}
