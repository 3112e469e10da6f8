import type { Key } from '../../../base/crypto.ts'
import { errors } from '../../../base/errors.ts'
import { newId } from '../../../base/ids.ts'
import { requireRow, type Step } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import type { Outcome } from '../../../providers/outcome.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import { isRepeatable, readContent, writeContent, type MessageContent } from '../messages/message-content.ts'
import { addToHistorySql, historyLine } from '../messages/message-history.ts'
import type { MessageEvents } from '../messages/message-events.ts'
import { CHANNELS, type Channel } from '../providers/provider.ts'

/** Longer than a request sends: after it the message's job is due, which goes on where a dead process stopped. */
export const LEASE_MS = 30_000
const REPEATED = 'It may have arrived by an earlier try, and is sent once more.'

/** A message, as it is put into the outbox. */
export type OutboxMessage = {
  /** The same again is the same message. */
  id: string
  /** The user who sends it; null for the service itself. */
  owner: string | null
  /** As the log shows them. */
  recipient: string
  /** The addresses of all recipients, as addresses are compared. */
  keys: readonly string[]
  /** As the log shows it; null if it may hold a secret. */
  subject: string | null
  template: string | null
  content: MessageContent
}

/** The right to change a message: who claims it later voids it. */
export type Claim = {
  id: string
  channel: Channel
  token: string
  /** Settling the message deletes its job. */
  deleteJobSql: Sql
  /** An earlier call whose outcome is unknown; `isSecond` if that was so of one before it, too. */
  unknownCall: { provider: string; since: number; isSecond: boolean } | undefined
}

/** The final state of a message, as its sender is told. */
export type Settled =
  | { status: 'sent'; messageId: string }
  | { status: 'failed'; provider: string | null; error: string }

/**
 * The rows of the outbox, and every change of them, each one statement or one batch.
 *
 * A message is `queued`, `sending`, then `sent` or `failed`, then what its provider reports. That a provider is called
 * is committed before the call, so a process that dies leaves either a message that was certainly not sent, or one
 * whose outcome is known to be unknown.
 */
export type OutboxRows = {
  /**
   * The steps that insert a message; the first answers its id if it is new.
   *
   * @param firstAttempt the claim of the caller and the provider that it calls first
   */
  insertSql(message: OutboxMessage, firstAttempt?: { claim: Claim; provider: string }): Step[]
  /** Claims a message for its job; undefined if it is settled. `content` is undefined if it was sealed with another secret. */
  claim(
    id: string,
  ): Promise<{ claim: Omit<Claim, 'deleteJobSql'>; content: MessageContent | undefined } | undefined>
  /**
   * Claims a failed message for a caller who repeats the call, unless it may have arrived as a text.
   *
   * @param steps are kept with it or not at all
   * @returns the claim with what is known of an earlier call; undefined if the message is not failed
   */
  reopen(message: OutboxMessage, claim: Claim, steps: readonly Step[]): Promise<Claim | undefined>
  /**
   * Records that a provider is called; false if the claim is void.
   *
   * @param unknownOutcome whether the message may have arrived by an earlier call
   */
  begin(claim: Claim, provider: string, unknownOutcome: boolean): Promise<boolean>
  /** Records that the call is over and that its outcome is unknown. @param reason what the provider said */
  markUnknown(claim: Claim, error: string, reason: string): Promise<void>
  /**
   * Records that the provider has certainly not taken it.
   *
   * @param reason what the provider said
   * @param unknownOutcome whether it may have arrived by an earlier call
   */
  requeue(claim: Claim, error: string, reason: string, unknownOutcome: boolean): Promise<void>
  /**
   * Records the final state. The content is deleted, unless it failed and may be sent again.
   *
   * @returns the state that the message has then: a report may have been quicker
   * @param unknownOutcome whether it may have arrived all the same
   */
  settle(
    claim: Claim,
    end:
      | { status: 'sent'; messageId: string; provider: string; error: string | null }
      | (Settled & { status: 'failed'; reason?: string }),
    unknownOutcome?: boolean,
  ): Promise<Settled>
  /**
   * Queues a failed message once more, with the content that it has. A text that may have arrived is not.
   *
   * @param steps are kept with it or not at all
   * @returns false if the message is not failed, or cannot be sent again
   */
  requeueFailed(id: string, steps: readonly Step[]): Promise<boolean>
  /**
   * Which of a provider's messages a text with unknown outcome is: the first that no other message has, since equal texts
   * look the same.
   *
   * @returns `retry` if all belong to others; `unknown` while an equal text may be being sent, of which one could be
   */
  match(claim: Claim, messageIds: readonly string[]): Promise<Outcome<{ id: string }>>
  /** The final state of a message; undefined if it is not settled. */
  finalState(id: string): Promise<Settled | undefined>
}

type Row = {
  id: string
  channel: Channel
  status: string
  provider: string | null
  message_id: string | null
  error: string | null
  call_state: 'running' | 'repeated' | 'over' | null
  attempted_at: number | null
  payload: string | null
}

/** Which messages an operator can send again: no provider took them, and their content is there. */
export const canResendSql = sql.literal(
  `status = 'failed' and message_id is null and payload is not null and (channel = 'email' or attempted_at is null)`,
)

const unsettled = sql.literal(`status in ('queued', 'sending')`)

const unknownCallOf = ({ provider, attempted_at, call_state }: Row): Claim['unknownCall'] =>
  provider === null || attempted_at === null
    ? undefined
    : { provider, since: attempted_at, isSecond: call_state === 'repeated' }

/**
 * @param options.contentKey what the content of messages is sealed with
 * @param options.keepsFailed whether the content of a failed message is kept, so that it can be sent again
 */
export function createOutboxRows(
  { db, clock, metrics }: Pick<WireContext, 'db' | 'clock' | 'metrics'>,
  { events }: { events: MessageEvents },
  { contentKey: key, keepsFailed }: { contentKey: Key; keepsFailed: boolean },
): OutboxRows {
  const countMessage = metrics.counter({
    name: 'sixwire_messages_total',
    help: 'Messages that this process has settled since its start, by their channel and outcome',
    labels: ['channel', 'outcome'],
    known: CHANNELS.flatMap((channel) => ['sent', 'failed'].map((outcome) => ({ channel, outcome }))),
  })
  const ownClaimSql = ({ id, token }: Claim): Sql => sql`id = ${id} and claim = ${token} and ${unsettled}`

  async function finalState(id: string): Promise<Settled | undefined> {
    const row = await db.get<Row>(
      sql`select status, provider, message_id, error from messaging_messages where id = ${id}`,
    )
    if (!row || row.status === 'queued' || row.status === 'sending') return undefined
    return row.message_id === null
      ? { status: 'failed', provider: row.provider, error: row.error ?? 'It failed.' }
      : { status: 'sent', messageId: row.message_id }
  }

  return {
    insertSql(message, begun) {
      const { id, owner, recipient, keys, subject, template, content } = message
      const now = clock.now()
      return [
        sql`insert into messaging_messages (id, owner, channel, recipient, subject, template, status, provider,
              attempts, call_state, attempted_at, claim, lease_until, payload, history, created_at, updated_at)
            values (${id}, ${owner}, ${content.channel}, ${recipient}, ${subject}, ${template},
              ${begun ? 'sending' : 'queued'}, ${begun?.provider ?? null}, ${begun ? 1 : 0}, ${begun ? 'running' : null},
              ${begun ? now : null}, ${begun?.claim.token ?? null}, 0, ${key.seal(writeContent(content))},
              ${begun ? historyLine({ event: 'called', provider: begun.provider }, now) : ''}, ${now}, ${now})
            on conflict (id) do nothing returning id`,
        sql`insert into messaging_recipients (message_id, address)
            values ${sql.join(keys.map((address) => sql`(${id}, ${address})`))} on conflict do nothing`,
        ...events.createdSql(id),
      ]
    },

    async claim(id) {
      const token = newId(clock.now())
      const [row] = await db.write<Row>(sql`
        update messaging_messages set claim = ${token} where id = ${id} and ${unsettled}
        returning channel, provider, call_state, attempted_at, payload`)
      if (!row) return undefined
      const claim = { id, channel: row.channel, token, unknownCall: unknownCallOf(row) }
      try {
        return { claim, content: readContent(key.open(row.payload!)) }
      } catch {
        return { claim, content: undefined }
      }
    },

    async reopen({ id, content }, claim, steps) {
      const mayRepeat = isRepeatable(content.channel) ? sql.literal('') : sql`and attempted_at is null`
      const isOther = errors.conflict()
      try {
        const [[row]] = await db.batch([
          requireRow(
            sql<Row>`
                update messaging_messages set status = 'queued', error = null, attempts = 0, claim = ${claim.token},
                  payload = ${key.seal(writeContent(content))}, updated_at = ${clock.now()}
                where id = ${id} and status = 'failed' and message_id is null ${mayRepeat}
                returning provider, call_state, attempted_at`,
            () => isOther,
          ),
          steps,
        ])
        return { ...claim, unknownCall: unknownCallOf(row!) }
      } catch (error) {
        if (error === isOther) return undefined
        throw error
      }
    },

    async begin(claim, provider, unknownOutcome) {
      const now = clock.now()
      const rows = await db.write(sql`
        update messaging_messages set status = 'sending', provider = ${provider}, attempts = attempts + 1,
          attempted_at = ${now}, error = ${unknownOutcome ? REPEATED : null},
          call_state = ${unknownOutcome ? 'repeated' : 'running'}, updated_at = ${now},
          ${addToHistorySql({ event: 'called', provider }, now)}
        where ${ownClaimSql(claim)} returning id`)
      return rows.length > 0
    },

    async markUnknown(claim, error, reason) {
      const now = clock.now()
      await db.write(sql`
        update messaging_messages set call_state = 'over', error = ${error}, updated_at = ${now},
          ${addToHistorySql({ event: 'unknown', text: reason }, now)}
        where ${ownClaimSql(claim)}`)
    },

    async requeue(claim, error, reason, unknownOutcome) {
      const now = clock.now()
      await db.write(sql`
        update messaging_messages set status = 'queued', call_state = null, error = ${error},
          attempted_at = ${unknownOutcome ? sql.literal('attempted_at') : null}, updated_at = ${now},
          ${addToHistorySql({ event: 'retry', text: reason }, now)}
        where ${ownClaimSql(claim)}`)
    },

    async settle(claim, end, unknownOutcome = false) {
      const { status, provider, error } = end
      const messageId = end.status === 'sent' ? end.messageId : null
      const text = end.status === 'sent' ? end.error : (end.reason ?? end.error)
      const isKept = keepsFailed && status === 'failed' && (isRepeatable(claim.channel) || !unknownOutcome)
      const now = clock.now()
      const settleSql = sql`
        update messaging_messages set status = ${status}, provider = ${provider}, message_id = ${messageId},
          error = ${error}, attempted_at = ${unknownOutcome ? sql.literal('attempted_at') : null},
          call_state = null, payload = ${isKept ? sql.literal('payload') : null}, claim = null, updated_at = ${now},
          ${addToHistorySql({ event: status, provider: provider ?? undefined, text: text ?? undefined }, now)}
        where ${ownClaimSql(claim)} returning id`
      const isVoid = errors.conflict()
      const { deleteJobSql } = claim
      try {
        // The job stays if the claim is void: it is another's then.
        await db.batch([
          requireRow(settleSql, () => isVoid),
          deleteJobSql,
          ...events.endedSql(status, sql`id = ${claim.id}`, now),
        ])
        countMessage({ channel: claim.channel, outcome: end.status })
        return end
      } catch (error) {
        if (error !== isVoid) throw error
        return (await finalState(claim.id)) ?? end
      }
    },

    async requeueFailed(id, steps) {
      const now = clock.now()
      const isOther = errors.conflict()
      try {
        await db.batch([
          requireRow(
            sql`
              update messaging_messages set status = 'queued', error = null, claim = null, updated_at = ${now},
                ${addToHistorySql({ event: 'resent' }, now)}
              where id = ${id} and ${canResendSql} returning id`,
            () => isOther,
          ),
          ...steps,
        ])
        return true
      } catch (error) {
        if (error === isOther) return false
        throw error
      }
    },

    async match({ id, channel }, messageIds) {
      const notFound = { kind: 'retry', reason: 'the provider has no such message' } as const
      if (messageIds.length === 0) return notFound
      // `begin` is committed before the call, so its row is there before the provider's message is. A message whose id
      // is not written down yet could be any of these.
      const [running, others] = await Promise.all([
        db.get(sql`
          select other.id from messaging_messages other join messaging_recipients r on r.message_id = other.id
          where r.address in (select address from messaging_recipients where message_id = ${id})
            and other.id <> ${id} and other.channel = ${channel} and other.status = 'sending'
            and coalesce(other.call_state, 'running') = 'running'
            and other.attempted_at > ${clock.now() - LEASE_MS}
          limit 1`),
        db.all<{ message_id: string }>(sql`
          select distinct message_id from messaging_messages
          where message_id in (${sql.join(messageIds)}) and id <> ${id}`),
      ])
      const takenIds = new Set(others.map(({ message_id }) => message_id))
      const free = messageIds.find((messageId) => !takenIds.has(messageId))
      if (free === undefined) return notFound
      return running
        ? { kind: 'unknown', reason: 'an equal message is being sent' }
        : { kind: 'accepted', id: free }
    },

    finalState,
  }
}
