import { Readable } from 'node:stream'

import type { FastifyPluginAsync } from 'fastify'

import type { StandInsContext } from '../../server/src/kernel/wire/stand-ins.ts'

const CHECK_MS = 500
const HEARTBEAT_MS = 15_000
const RECONNECT_MS = 1_000

/** A value that differs whenever what a part of the page shows has changed. */
export type Version = () => Promise<unknown>

export type PageEvents = {
  readonly plugin: FastifyPluginAsync
  /** Ends every stream: the end of the server would wait for these requests. */
  close(): void
}

/**
 * `GET /sandbox/api/events`: server-sent events that name each part of the page that has changed.
 *
 * It reads the database while a client listens, so no code has to announce its changes, and those of other processes are
 * seen, too: another server, a command, this one before a restart.
 *
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html
 * @param parts by name
 */
export function createEvents(
  { db, clock }: Pick<StandInsContext, 'db' | 'clock'>,
  { parts }: { parts: ReadonlyMap<string, Version> },
): PageEvents {
  const closing = new AbortController()

  const readVersions = async (): Promise<Map<string, string>> =>
    new Map(
      await Promise.all(
        Array.from(parts, async ([name, version]) => [name, JSON.stringify(await version())] as const),
      ),
    )

  /** Returns false once the streams should end. */
  async function pause(): Promise<boolean> {
    await clock.sleep(CHECK_MS, { signal: closing.signal, idle: true })
    return !closing.signal.aborted
  }

  async function* events(): AsyncGenerator<string> {
    let revision = db.revision()
    let lastVersions = await readVersions()
    let sentAt = clock.now()
    yield `retry: ${RECONNECT_MS}\n\n`
    while (await pause()) {
      // A comment detects a lost connection, and keeps a proxy from closing an idle one.
      if (clock.now() - sentAt >= HEARTBEAT_MS) {
        sentAt = clock.now()
        yield ':\n\n'
      }
      const current = db.revision()
      if (current !== undefined && current === revision) continue
      revision = current
      const versions = await readVersions()
      for (const [name, version] of versions)
        if (version !== lastVersions.get(name)) yield `event: change\ndata: ${name}\n\n`
      lastVersions = versions
    }
  }

  return {
    async plugin(engine) {
      // A HEAD request would never end.
      engine.get('/api/events', { exposeHeadRoute: false }, async (_request, reply) =>
        reply
          .headers({ 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
          .send(Readable.from(events())),
      )
    },
    close: () => closing.abort(),
  }
}
