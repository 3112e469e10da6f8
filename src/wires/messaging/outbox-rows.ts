import type { Clock } from '../../base/clock.ts'
import type { Key } from '../../base/crypto.ts'
import { ApiError } from '../../base/errors.ts'
import { newId } from '../../base/ids.ts'
import type { Database } from '../../db/database.ts'
import { sql, type Sql } from '../../db/sql.ts'
import { isRepeatable, readContent, writeContent, type Content } from './content.ts'
import type { Channel } from './provider.ts'

/** Longer than all calls of one try together; after it a claim is void, and whoever comes next goes on. */
export const LEASE_MS = 30_000
const REPEATED = 'It may have arrived by an earlier try, and is sent once more.'
const WAIT_MS = 200

/** A message, as it is put into the outbox. */
export type Message = {
  /** The same again is the same message. */
  id: string
  /** Who has it sent; null for the service itself. */
  owner: string | null
  /** As the log shows them. */
  recipient: string
  /** Of everybody whom it goes to, as addresses are compared. */
  keys: readonly string[]
  /** As the log shows it; null where it may hold a secret. */
  subject: string | null
  template: string | null
  content: Content
}

/** A claim on one message. */
export type Turn = {
  id: string
  channel: Channel
  claim: string
  /** A try before of which nobody knows how it ended; `isSecond` where that was so of one before it, too. */
  open: { provider: string; since: number; isSecond: boolean } | undefined
}

/** How a message ended. */
export type End =
  | { status: 'sent'; messageId: string }
  | { status: 'failed'; provider: string | null; error: string }

/**
 * The rows of the outbox, and every change of them, each one statement or one batch.
 *
 * A message is `queued`, `sending`, then `sent` or `failed`, then what its provider reports. That a provider is called
 * is committed before the call, so a process that dies leaves either a message that was certainly not sent, or one
 * of which it is known that nobody knows.
 */
export type OutboxRows = {
  /** The statements that keep a message; the first answers its id where it is new. */
  insertion(message: Message, begun?: { turn: Turn; provider: string }): Sql[]
  /**
   * Claims a message that nobody works on. `content` is undefined where it was sealed with another secret, `calls` says
   * how often a provider was called with it.
   */
  take(id: string): Promise<{ turn: Turn; content: Content | undefined; calls: number } | undefined>
  /** Opens a failed message again, for a caller who repeats the call, unless it may have arrived as a text. */
  reopen(message: Message): Promise<void>
  /**
   * Writes down that a provider is called; false where the message is no longer ours.
   *
   * @param doubtful whether it may have arrived by an earlier call
   */
  begin(turn: Turn, provider: string, doubtful: boolean): Promise<boolean>
  /** Writes down that the call is over, and that nobody knows how it ended. */
  doubt(turn: Turn, error: string): Promise<void>
  /**
   * Writes down that the provider has certainly not taken it.
   *
   * @param doubtful whether it may have arrived by an earlier try
   */
  setBack(turn: Turn, error: string, doubtful: boolean): Promise<void>
  /**
   * Writes down how it ended, and lets go of what was sent. Answers how it stands, also where a report was quicker.
   *
   * @param doubtful whether it may have arrived all the same
   */
  settle(
    turn: Turn,
    end:
      | { status: 'sent'; messageId: string; provider: string; error?: string }
      | (End & { status: 'failed' }),
    doubtful?: boolean,
  ): Promise<End>
  /**
   * The same with the first of these ids that no other message has.
   *
   * @returns `others` where all of them are others'; `undecided` where one is nobody's yet, but may be that of another
   *   message to the same number, of which the call still runs
   */
  settleAsOneOf(
    turn: Turn,
    messageIds: readonly string[],
    provider: string,
  ): Promise<End | 'others' | 'undecided'>
  /** Lets go of a claim, for the next try. */
  release(turn: Turn): Promise<void>
  /** How a settled message stands; undefined where it is not settled. */
  standing(id: string): Promise<End | undefined>
  /** Claims whose lease is over: whoever had them is gone. */
  abandoned(): Promise<{ id: string; claim: string }[]>
  /** What nobody has touched since that time and nobody holds: its work was lost. Looks at the whole table. */
  forgotten(before: number): Promise<{ id: string }[]>
}

type Row = {
  id: string
  channel: Channel
  status: string
  provider: string | null
  message_id: string | null
  error: string | null
  call_state: 'running' | 'repeated' | 'over' | null
  attempts: number
  attempted_at: number | null
  payload: string | null
}

const unsettled = sql.literal(`status in ('queued', 'sending')`)
const nothing = sql.literal('')

/** @param key what messages are sealed with until they are settled */
export function createOutboxRows(db: Database, clock: Clock, key: Key): OutboxRows {
  const mine = ({ id, claim }: Turn): Sql => sql`id = ${id} and claim = ${claim} and ${unsettled}`

  /** What a provider took must not be forgotten because the database was away for a moment. */
  async function persist<T>(write: () => Promise<T>): Promise<T> {
    const until = clock.elapsed() + LEASE_MS / 2
    for (;;)
      try {
        return await write()
      } catch (error) {
        if (!(error instanceof ApiError) || error.status !== 503 || clock.elapsed() > until) throw error
        await clock.sleep(WAIT_MS)
      }
  }

  function settlement(
    turn: Turn,
    end: { status: string; provider: string | null; messageId?: string; error?: string },
    { doubtful = false, condition = nothing }: { doubtful?: boolean; condition?: Sql } = {},
  ): Sql {
    return sql`
      update messaging_messages set status = ${end.status}, provider = ${end.provider},
        message_id = ${end.messageId ?? null}, error = ${end.error ?? null},
        attempted_at = ${doubtful ? sql.literal('attempted_at') : null},
        call_state = null, payload = null, claim = null, lease_until = 0, updated_at = ${clock.now()}
      where ${mine(turn)} ${condition} returning id`
  }

  async function standing(id: string): Promise<End | undefined> {
    const row = await db.get<Row>(
      sql`select status, provider, message_id, error from messaging_messages where id = ${id}`,
    )
    if (!row || row.status === 'queued' || row.status === 'sending') return undefined
    return row.message_id === null
      ? { status: 'failed', provider: row.provider, error: row.error ?? 'It failed.' }
      : { status: 'sent', messageId: row.message_id }
  }

  return {
    insertion(message, begun) {
      const { id, owner, recipient, keys, subject, template, content } = message
      const now = clock.now()
      return [
        sql`insert into messaging_messages (id, owner, channel, recipient, subject, template, status, provider,
              attempts, call_state, attempted_at, claim, lease_until, payload, created_at, updated_at)
            values (${id}, ${owner}, ${content.channel}, ${recipient}, ${subject}, ${template},
              ${begun ? 'sending' : 'queued'}, ${begun?.provider ?? null}, ${begun ? 1 : 0}, ${begun ? 'running' : null},
              ${begun ? now : null},
              ${begun?.turn.claim ?? null}, ${begun ? now + LEASE_MS : 0}, ${key.seal(writeContent(content))},
              ${now}, ${now})
            on conflict (id) do nothing returning id`,
        sql`insert into messaging_recipients (message_id, address)
            values ${sql.join(keys.map((address) => sql`(${id}, ${address})`))} on conflict do nothing`,
      ]
    },

    async take(id) {
      const now = clock.now()
      const claim = newId(now)
      const [row] = await db.write<Row>(sql`
        update messaging_messages set claim = ${claim}, lease_until = ${now + LEASE_MS}
        where id = ${id} and ${unsettled} and (claim is null or lease_until <= ${now})
        returning id, channel, provider, call_state, attempts, attempted_at, payload`)
      if (!row) return undefined
      const { channel, provider, attempts, attempted_at, payload } = row
      const isOpen = provider !== null && attempted_at !== null
      const open = isOpen
        ? { provider, since: attempted_at, isSecond: row.call_state === 'repeated' }
        : undefined
      const turn = { id, channel, claim, open }
      try {
        return { turn, content: readContent(key.open(payload!)), calls: attempts }
      } catch {
        return { turn, content: undefined, calls: attempts }
      }
    },

    async reopen({ id, content }) {
      const safe = isRepeatable(content.channel) ? nothing : sql`and attempted_at is null`
      const now = clock.now()
      await db.write(sql`
        update messaging_messages set status = 'queued', error = null, attempts = 0, claim = ${newId(now)}, lease_until = 0,
          payload = ${key.seal(writeContent(content))}, updated_at = ${now}
        where id = ${id} and status = 'failed' and message_id is null ${safe}`)
    },

    async begin(turn, provider, doubtful) {
      const now = clock.now()
      const begun = await db.write(sql`
        update messaging_messages set status = 'sending', provider = ${provider}, attempts = attempts + 1,
          attempted_at = ${now}, error = ${doubtful ? REPEATED : null},
          call_state = ${doubtful ? 'repeated' : 'running'}, lease_until = ${now + LEASE_MS}, updated_at = ${now}
        where ${mine(turn)} returning id`)
      return begun.length > 0
    },

    async doubt(turn, error) {
      await persist(() =>
        db.write(
          sql`update messaging_messages set call_state = 'over', error = ${error}, updated_at = ${clock.now()}
              where ${mine(turn)}`,
        ),
      )
    },

    async setBack(turn, error, doubtful) {
      await db.write(sql`
        update messaging_messages set status = 'queued', call_state = null, error = ${error},
          attempted_at = ${doubtful ? sql.literal('attempted_at') : null}, updated_at = ${clock.now()}
        where ${mine(turn)}`)
    },

    async settle(turn, end, doubtful = false) {
      const [settled] = await persist(() => db.write(settlement(turn, end, { doubtful })))
      if (settled) return end
      return (await standing(turn.id)) ?? end
    },

    async settleAsOneOf(turn, messageIds, provider) {
      const address = sql`(select address from messaging_recipients where message_id = ${turn.id})`
      // `begin` is committed before the call, so its row is there before the provider's message is. A replica that is
      // older than the column calls without a state.
      const running = sql`
        select 1 from messaging_messages other join messaging_recipients r on r.message_id = other.id
        where r.address in ${address} and other.id <> ${turn.id} and other.channel = ${turn.channel}
          and other.claim is not null and other.lease_until > ${clock.now()}
          and other.status = 'sending' and coalesce(other.call_state, 'running') = 'running'`
      for (const messageId of messageIds) {
        const end = { status: 'sent', messageId, provider } as const
        const results = await persist(() =>
          db.batch([
            // On PostgreSQL equal texts wait for each other here, at the first one ever sent to this number, and each sees
            // what those before it took.
            sql`update messaging_recipients set address = address
                where (address, message_id) = (
                  select address, min(message_id) from messaging_recipients where address in ${address} group by address)`,
            settlement(turn, end, {
              condition: sql`and not exists (${running}) and not exists (
                select 1 from messaging_messages other
                where other.message_id = ${messageId} and other.id <> ${turn.id})`,
            }),
          ]),
        )
        if (results.at(-1)!.length > 0) return end
        const settled = await standing(turn.id)
        if (settled) return settled
      }
      if (messageIds.length === 0) return 'others'
      const held = await db.all<{ message_id: string }>(sql`
        select distinct message_id from messaging_messages
        where message_id in (${sql.join(messageIds)}) and id <> ${turn.id}`)
      return held.length === messageIds.length ? 'others' : 'undecided'
    },

    async release(turn) {
      await db.write(sql`update messaging_messages set claim = null, lease_until = 0 where ${mine(turn)}`)
    },

    standing,

    abandoned: () =>
      db.all<{ id: string; claim: string }>(sql`
        select id, claim from messaging_messages
        where claim is not null and lease_until <= ${clock.now()} order by lease_until limit 1000`),

    forgotten: (before) =>
      db.scan<{ id: string }>(sql`
        select id from messaging_messages
        where ${unsettled} and lease_until <= ${clock.now()} and updated_at <= ${before} order by id limit 1000`),
  }
}
