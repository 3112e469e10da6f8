import { setTimeout as delay } from 'node:timers/promises'

import { deriveKey } from '../../base/crypto.ts'
import { ApiError, errors } from '../../base/errors.ts'
import { newId } from '../../base/ids.ts'
import { sql, type Sql } from '../../db/sql.ts'
import type { WireContext } from '../../wire.ts'
import {
  carriersOf,
  isRepeatable,
  readContent,
  writeContent,
  type Carrier,
  type Content,
  type Providers,
} from './content.ts'
import { messagingErrors, type Channel } from './errors.ts'
import type { Outcome } from './provider.ts'

/** Longer than all calls of one try together; after it a claim is void, and whoever comes next goes on. */
const LEASE_MS = 30_000
const SWEEP_MS = 30_000
const CALL_MS = 10_000
/** A call that is cut off sooner would mostly leave its outcome unknown. */
const SHORTEST_CALL_MS = 2_000
/** How often a request tries, each time over all providers. */
const PASSES = 3
const FIRST_BACKOFF_MS = 500
/** How often the service itself tries: about nine hours. */
const JOB_ATTEMPTS = 20
const JOB_LIMIT_MS = 25_000
const LOOKS = 2
const FIRST_LOOK_MS = 400
const WAIT_MS = 200
const REASON_CHARACTERS = 300

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

export type Outbox = {
  /** The statements that put a message into the outbox, to stand in the batch that decides it; call `wake` after it. */
  insertion(message: Message): Sql[]
  /** Looks for messages to send now. */
  wake(): void
  /**
   * Sends a message while its caller waits, over all providers in their order, up to three times.
   *
   * @returns what the provider calls it
   * @throws SEND_FAILED where a provider refused it, or none took it within the time
   */
  send(message: Message, limitMs: number): Promise<{ messageId: string }>
}

type Row = {
  id: string
  channel: Channel
  status: string
  provider: string | null
  message_id: string | null
  error: string | null
  attempted_at: number | null
  payload: string | null
}

/** A claim on one message. */
type Turn = {
  id: string
  channel: Channel
  claim: string
  carriers: readonly Carrier[]
  /** A try whose outcome is not known: the claim before ended in its midst. */
  open: { provider: string; since: number } | undefined
}

/** How a message stands after the work on it. `waiting`: not settled, to be tried again. */
type Standing =
  | { status: 'sent'; messageId: string }
  | { status: 'failed'; provider: string | null; error: string }
  | { status: 'waiting'; provider: string; error: string; doubtful: boolean }

const UNREACHED = 'No provider of this channel could take the message: it was out of reach, or busy.'
const DOUBTFUL_MAIL = 'The provider did not say whether it took the message: it may have arrived.'
const DOUBTFUL_TEXT =
  'The provider did not say whether it took the message. It is not sent again, because it may have arrived.'
const UNSEALED = 'The message was sealed with another SIXWIRE_SECRET, and cannot be read.'

const unsettled = sql.literal(`status in ('queued', 'sending')`)

/** One line that a database keeps. */
const cleaned = (reason: string): string =>
  reason
    .replaceAll(/[\0-\x1f\x7f]+/g, ' ')
    .toWellFormed()
    .slice(0, REASON_CHARACTERS)
    .toWellFormed()
    .trim()

/** What the log says of a mail that was taken for some of its receivers only. */
const refusalsOf = ({ refusedRecipients = [] }: Outcome & { kind: 'accepted' }): string | undefined =>
  refusedRecipients.length === 0
    ? undefined
    : cleaned(
        `Refused for ${refusedRecipients.map(({ address, reason }) => `${address} (${reason})`).join(', ')}`,
      )

const jittered = (ms: number): number => Math.round(ms * (0.5 + Math.random()))

/**
 * The way of a message: `queued`, `sending`, then `sent` or `failed`, then what the provider reports.
 *
 * Every step is a row before it is an action. That a provider is called is committed before the call, so a process
 * that dies leaves either a message that was certainly not sent, or one of which the outcome is unknown. Unknown is
 * treated by what it costs: a mail is sent again under the same Message-ID, by which its receiver can tell that it is
 * the same; a text is looked for at its provider and never sent again.
 *
 * @param options.secret `SIXWIRE_SECRET`
 */
export function createOutbox(
  { db, clock, log, jobs }: Pick<WireContext, 'db' | 'clock' | 'log' | 'jobs'>,
  options: { secret: string; providers: Providers },
): Outbox {
  const key = deriveKey(options.secret, 'messaging-outbox')
  const kind = jobs.define<string>('messaging.send', ({ payload, attempt }) => workOff(payload, attempt), {
    attempts: JOB_ATTEMPTS,
  })
  jobs.every('messaging.sweep', SWEEP_MS, sweep)

  const mine = ({ id, claim }: Turn): Sql => sql`id = ${id} and claim = ${claim} and ${unsettled}`

  /** The row of a message, with those of its recipients. */
  function rows(message: Message, begun: { turn: Turn; provider: string } | undefined): Sql[] {
    const { id, owner, recipient, keys, subject, template, content } = message
    const now = clock.now()
    return [
      sql`insert into messaging_messages (id, owner, channel, recipient, subject, template, status, provider, attempts,
            attempted_at, claim, lease_until, payload, created_at, updated_at)
          values (${id}, ${owner}, ${content.channel}, ${recipient}, ${subject}, ${template},
            ${begun ? 'sending' : 'queued'}, ${begun?.provider ?? null}, ${begun ? 1 : 0}, ${begun ? now : null},
            ${begun?.turn.claim ?? null}, ${begun ? now + LEASE_MS : 0}, ${key.seal(writeContent(content))},
            ${now}, ${now})
          on conflict (id) do nothing returning id`,
      sql`insert into messaging_recipients (message_id, address)
          values ${sql.join(keys.map((address) => sql`(${id}, ${address})`))} on conflict do nothing`,
    ]
  }

  /** Claims a message that nobody works on. Where the last try's outcome is unknown, the claim says so. */
  async function take(id: string): Promise<Turn | undefined> {
    const now = clock.now()
    const claim = newId(now)
    const [row] = await db.write<Row>(sql`
      update messaging_messages set claim = ${claim}, lease_until = ${now + LEASE_MS}
      where id = ${id} and ${unsettled} and (claim is null or lease_until <= ${now})
      returning id, channel, status, provider, attempted_at, payload`)
    if (!row) return undefined
    const turn: Turn = {
      id,
      channel: row.channel,
      claim,
      carriers: [],
      open:
        row.status === 'sending' && row.provider !== null
          ? { provider: row.provider, since: row.attempted_at ?? 0 }
          : undefined,
    }
    try {
      return { ...turn, carriers: carriersOf(readContent(key.open(row.payload!)), options.providers) }
    } catch {
      log.error({ message: id }, 'a message cannot be read: it was sealed with another SIXWIRE_SECRET')
      await settle(turn, { status: 'failed', provider: row.provider, error: UNSEALED })
      return undefined
    }
  }

  /** Opens a failed message again, for a caller who repeats the call, unless it may have arrived as a text. */
  async function reopen({ id, content }: Message): Promise<void> {
    const safe = isRepeatable(content.channel) ? sql.literal('') : sql`and attempted_at is null`
    await db.write(sql`
      update messaging_messages set status = 'queued', error = null, claim = ${newId(clock.now())}, lease_until = 0,
        payload = ${key.seal(writeContent(content))}, updated_at = ${clock.now()}
      where id = ${id} and status = 'failed' and message_id is null ${safe}`)
  }

  /** Writes down that a provider is called; false where the message is no longer ours. */
  async function begin(turn: Turn, provider: string): Promise<boolean> {
    const now = clock.now()
    const begun = await db.write(sql`
      update messaging_messages set status = 'sending', provider = ${provider}, attempts = attempts + 1,
        attempted_at = ${now}, lease_until = ${now + LEASE_MS}, updated_at = ${now}
      where ${mine(turn)} returning id`)
    return begun.length > 0
  }

  /** Writes down that the provider has certainly not taken it. */
  const setBack = (turn: Turn, error: string): Promise<unknown> =>
    db.write(sql`
      update messaging_messages set status = 'queued', attempted_at = null, error = ${error}, updated_at = ${clock.now()}
      where ${mine(turn)}`)

  /** Writes down how it ended, and lets go of what was sent. Answers how it stands, also where a report was quicker. */
  async function settle(
    turn: Turn,
    end:
      | { status: 'sent'; messageId: string; provider: string; error?: string }
      | (Standing & { status: 'failed' }),
    doubtful = false,
  ): Promise<Standing> {
    const now = clock.now()
    const statement = sql`
      update messaging_messages set status = ${end.status}, provider = ${end.provider},
        message_id = ${end.status === 'sent' ? end.messageId : null},
        error = ${end.error ?? null},
        attempted_at = ${doubtful ? sql.literal('attempted_at') : null},
        payload = null, claim = null, lease_until = 0, updated_at = ${now}
      where ${mine(turn)} returning id`
    const [settled] = await persist(statement)
    if (settled) return end
    return (await standing(turn.id)) ?? end
  }

  /** What a provider took must not be forgotten because the database was away for a moment. */
  async function persist(statement: Sql): Promise<unknown[]> {
    const until = performance.now() + LEASE_MS / 2
    for (;;)
      try {
        return await db.write(statement)
      } catch (error) {
        if (!(error instanceof ApiError) || error.status !== 503 || performance.now() > until) throw error
        await delay(WAIT_MS)
      }
  }

  /** How a settled message stands; undefined where it is not settled. */
  async function standing(id: string): Promise<Standing | undefined> {
    const row = await db.get<Row>(
      sql`select status, provider, message_id, error from messaging_messages where id = ${id}`,
    )
    if (!row || row.status === 'queued' || row.status === 'sending') return undefined
    return row.message_id === null
      ? { status: 'failed', provider: row.provider, error: row.error ?? UNREACHED }
      : { status: 'sent', messageId: row.message_id }
  }

  /** Finds out at its provider what became of a text whose outcome is unknown. */
  async function lookFor(
    turn: Turn,
    { provider, since }: { provider: string; since: number },
    deadline: number,
  ): Promise<Standing> {
    const failed = { status: 'failed', provider, error: DOUBTFUL_TEXT } as const
    const waiting = { status: 'waiting', provider, error: DOUBTFUL_TEXT, doubtful: true } as const
    const finders = turn.carriers.filter(({ name, find }) => name === provider && find)
    if (finders.length === 0) return settle(turn, failed, true)
    // Not found counts twice only: a provider may show a message a moment after it took it.
    for (let look = 1; ; look++) {
      const wait = jittered(FIRST_LOOK_MS * look)
      if (performance.now() + wait >= deadline) return waiting
      await delay(wait)
      try {
        const messageId = await findAt(turn, finders, since, deadline)
        if (messageId !== undefined) return await settle(turn, { status: 'sent', messageId, provider })
        if (look === LOOKS) return await settle(turn, failed, true)
      } catch (error) {
        log.warn({ err: error, message: turn.id, provider }, 'a provider could not be asked for a message')
        if (look > LOOKS) return waiting
      }
    }
  }

  async function findAt(
    turn: Turn,
    finders: readonly Carrier[],
    since: number,
    deadline: number,
  ): Promise<string | undefined> {
    for (const { find } of finders) {
      const found = await within(find!(since), deadline - performance.now())
      if (found === undefined) continue
      // The same text sent twice looks the same: one that is another message's is not this one.
      const taken = await db.get(
        sql`select id from messaging_messages where message_id = ${found} and id <> ${turn.id}`,
      )
      if (!taken) return found
    }
    return undefined
  }

  /** Calls one provider; undefined where another one, or another time, may go better. */
  async function attempt(turn: Turn, carrier: Carrier, deadline: number, limitMs: number) {
    const provider = carrier.name
    const since = clock.now()
    const outcome = await carrier
      .send(limitMs)
      .catch((error: unknown) => ({ kind: 'unknown' as const, reason: String(error) }))
    if (outcome.kind === 'accepted') {
      const error = refusalsOf(outcome)
      return settle(turn, { status: 'sent', messageId: outcome.id, provider, ...(error && { error }) })
    }
    const reason = cleaned(outcome.reason)
    log.warn(
      { message: turn.id, channel: turn.channel, provider, outcome: outcome.kind, reason },
      'a message was not sent',
    )
    if (outcome.kind === 'refused') return settle(turn, { status: 'failed', provider, error: reason })
    if (outcome.kind === 'unknown')
      return isRepeatable(turn.channel) ? undefined : lookFor(turn, { provider, since }, deadline)
    await setBack(turn, UNREACHED)
    return { status: 'waiting', afterMs: outcome.afterMs ?? 0 } as const
  }

  /**
   * Works on a claimed message until it is settled, or its time is over.
   *
   * @param begun whether the call of the first provider is written down already
   */
  async function deliver(turn: Turn, passes: number, deadline: number, begun: boolean): Promise<Standing> {
    const { carriers, open } = turn
    if (open && !isRepeatable(turn.channel)) return lookFor(turn, open, deadline)
    let written = begun
    let doubtful = open !== undefined
    let provider = open?.provider ?? carriers[0]?.name ?? ''
    const left = (): number => deadline - performance.now()
    for (let pass = 1; pass <= passes; pass++) {
      let afterMs = 0
      for (const [at, carrier] of carriers.entries()) {
        // Each has its share of the time that is left, so that one that hangs leaves some to the next.
        const limitMs = Math.min(CALL_MS, left() / (carriers.length - at))
        if (limitMs < (pass === 1 ? WAIT_MS : SHORTEST_CALL_MS)) break
        if (!written && !(await begin(turn, carrier.name)))
          return (await standing(turn.id)) ?? { status: 'waiting', provider, error: UNREACHED, doubtful }
        written = false
        provider = carrier.name
        const ended = await attempt(turn, carrier, deadline, limitMs)
        if (ended === undefined) {
          // Once more, and no further: it may arrive each time.
          if (doubtful) return fail(turn, { status: 'waiting', provider, error: DOUBTFUL_MAIL, doubtful })
          doubtful = true
          break
        }
        if ('afterMs' in ended) afterMs = Math.max(afterMs, ended.afterMs)
        else return ended
      }
      const wait = Math.max(jittered(FIRST_BACKOFF_MS * 2 ** (pass - 1)), afterMs)
      if (pass === passes || wait >= left()) break
      await delay(wait)
    }
    return { status: 'waiting', provider, error: doubtful ? DOUBTFUL_MAIL : UNREACHED, doubtful }
  }

  const fail = (turn: Turn, { provider, error, doubtful }: Standing & { status: 'waiting' }) =>
    settle(turn, { status: 'failed', provider, error }, doubtful)

  /** Sends what nobody waits for. Throws where it is to be tried again. */
  async function workOff(id: string, attemptNumber: number): Promise<void> {
    const turn = await take(id)
    if (!turn) return
    const ended = await deliver(turn, 1, performance.now() + JOB_LIMIT_MS, false)
    if (ended.status !== 'waiting') return
    if (attemptNumber >= JOB_ATTEMPTS) return void (await fail(turn, ended))
    await db.write(sql`update messaging_messages set claim = null, lease_until = 0 where ${mine(turn)}`)
    throw new Error(ended.error)
  }

  /** Queues what was claimed by a process that is gone. */
  async function sweep(): Promise<void> {
    const left = await db.all<{ id: string; claim: string }>(sql`
      select id, claim from messaging_messages
      where claim is not null and lease_until <= ${clock.now()} order by lease_until limit 1000`)
    for (const { id, claim } of left) await kind.enqueue(id, { id: `${id}-${claim}` })
  }

  /** Claims a message that is there already: the same call was made before, and what became of it is not known here. */
  async function follow(message: Message, deadline: number): Promise<Turn | Standing> {
    await reopen(message)
    for (;;) {
      const found = (await take(message.id)) ?? (await standing(message.id))
      if (found) return found
      if (performance.now() + WAIT_MS >= deadline)
        throw errors.unavailable({
          message: 'The message is still being sent: GET /messaging/logs shows what becomes of it.',
          retryAfter: LEASE_MS / 1000,
        })
      await delay(WAIT_MS)
    }
  }

  return {
    insertion: (message) => [
      ...rows(message, undefined),
      kind.insertion(message.id, { id: `messaging-${message.id}` }),
    ],
    wake: () => kind.wake(),

    async send(message, limitMs) {
      const deadline = performance.now() + limitMs
      const { id, content } = message
      const { channel } = content
      const carriers = carriersOf(content, options.providers)
      const turn: Turn = { id, channel, claim: newId(clock.now()), carriers, open: undefined }
      const [inserted] = await db.batch(rows(message, { turn, provider: carriers[0]!.name }))
      const isNew = inserted!.length > 0
      const held = isNew ? turn : await follow(message, deadline)
      let ended = 'claim' in held ? await deliver(held, PASSES, deadline, isNew) : held
      // A text of which nobody knows stays claimed until its lease is over: then it is looked for again.
      if (ended.status === 'waiting' && 'claim' in held && !(ended.doubtful && !isRepeatable(channel)))
        ended = await fail(held, ended)
      if (ended.status === 'sent') return { messageId: ended.messageId }
      throw messagingErrors.send_failed({
        message: ended.error,
        details: { channel, provider: ended.provider },
      })
    },
  }
}

/** The promise's end, or a rejection once the time is over. */
async function within<T>(promise: Promise<T>, ms: number): Promise<T> {
  const over = new AbortController()
  const late = delay(Math.max(0, ms), undefined, { signal: over.signal }).then(() => {
    throw new Error('it did not answer in time')
  })
  late.catch(() => undefined)
  try {
    return await Promise.race([promise, late])
  } finally {
    over.abort()
  }
}
