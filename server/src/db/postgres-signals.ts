import { randomUUID } from 'node:crypto'

import pg from 'pg'

import { Channels } from './channels.ts'
import { isPooled, prepareConnection } from './postgres-connection.ts'
import { sql, type Sql } from './sql.ts'

const ANNOUNCE_MS = 10
const POLL_MS = 1000
const RECONNECT_MS = 1000

/**
 * Channels of all processes of a database, by `LISTEN` on a connection of its own and `NOTIFY` after the commit: within the
 * transaction it would make commits wait for each other. Where none arrives (a failover, a pooler, a process that was killed
 * in between), a poll each second takes its place.
 * https://www.postgresql.org/docs/current/sql-notify.html
 */
export class PostgresSignals {
  readonly #channels = new Channels()
  readonly #url: string
  readonly #write: (query: Sql) => Promise<unknown>
  readonly #own = randomUUID()
  readonly #announced = new Set<string>()
  #client: pg.Client | undefined
  #poll: NodeJS.Timeout | undefined
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(url: string, write: (query: Sql) => Promise<unknown>) {
    this.#url = url
    this.#write = write
  }

  listen(channel: string, heard: () => void): () => void {
    const isNew = !this.#channels.names.includes(channel)
    const remove = this.#channels.add(channel, heard)
    this.#poll ??= setInterval(() => this.#channels.hearAll(), POLL_MS).unref()
    if (!this.#client) void this.#connect()
    else if (isNew) void this.#client.query(listenTo(channel)).catch(() => undefined)
    return remove
  }

  notify(channel: string): void {
    this.#channels.hear(channel)
    this.#announced.add(channel)
    this.#timer ??= setTimeout(() => void this.#announce(), ANNOUNCE_MS).unref()
  }

  async #announce(): Promise<void> {
    const channels = [...this.#announced]
    this.#announced.clear()
    // Others find by their poll what they do not hear. It need not reach the disk.
    const calls = channels.map((channel) => sql`pg_notify(${channel}, ${this.#own})`)
    await this.#write(
      sql`select set_config('synchronous_commit', 'off', true), ${sql.join(calls, ', ')}`,
    ).catch(() => undefined)
    this.#timer = undefined
    if (this.#announced.size > 0 && !this.#isClosed)
      this.#timer = setTimeout(() => void this.#announce(), ANNOUNCE_MS).unref()
  }

  /** Connects until it succeeds: the poll goes on meanwhile. */
  async #connect(): Promise<void> {
    const client = new pg.Client({
      connectionString: this.#url,
      application_name: 'sixwire',
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
    })
    this.#client = client
    const lost = () => {
      if (this.#client !== client || this.#isClosed || isPooled(client)) return
      this.#client = undefined
      setTimeout(() => {
        if (!this.#client && !this.#isClosed && this.#channels.names.length > 0) void this.#connect()
      }, RECONNECT_MS).unref()
    }
    client.on('error', lost)
    client.on('end', lost)
    client.on('notification', ({ channel, payload }) => {
      if (payload !== this.#own) this.#channels.hear(channel)
    })
    try {
      await client.connect()
      await prepareConnection(client)
      // Behind a pooler another session might listen, and the poll goes on.
      if (isPooled(client)) return await client.end()
      for (const channel of this.#channels.names) await client.query(listenTo(channel))
      // What was announced while nobody listened.
      this.#channels.hearAll()
    } catch {
      void client.end().catch(() => undefined)
      lost()
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#poll)
    clearTimeout(this.#timer)
    await this.#client?.end().catch(() => undefined)
  }
}

const listenTo = (channel: string): string => `listen ${channel}`
