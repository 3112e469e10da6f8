import { setImmediate as nextTurn } from 'node:timers/promises'

import { getAddress } from '../../../base/viem.ts'
import { Coalescer } from '../../../base/coalesce.ts'
import { ApiError, errors } from '../../../base/errors.ts'
import { newId } from '../../../base/ids.ts'
import { createKeyedMutex, type KeyedMutex } from '../../../base/keyed-mutex.ts'
import { ConstraintError, requireRow, type Step } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import { onchainErrors } from '../errors.ts'
import { accept, type AcceptedIntent } from './acceptance.ts'
import type { Confirmations } from './confirmations.ts'
import type { CurrentFees } from './fees.ts'
import type { Intent, Submit } from './intent.ts'
import { hasDayLimits, limitsMoved, readAllowance, type Allowance } from './limits.ts'
import type { NonceQueues } from './nonce-queue.ts'
import { noncesOf, type Nonces } from './nonces.ts'
import { createPreflight, type Preflight } from './preflight.ts'
import { signTransaction } from './signing.ts'
import type { OnchainTransactionEvents } from './transaction-events.ts'
import {
  insertTransactionSql,
  selectTransactionsSql,
  type SignedRow,
  type OnchainTransactionRow,
} from './transaction-rows.ts'

/** Transactions of one address that are signed and stored together. */
const GROUP = 50
/** How often a group is done again because another process was faster, and because the database gave no answer. */
const ATTEMPTS = 20
const UNKNOWN_ATTEMPTS = 3
const PAUSE_MS = 20
const PAUSE_MAX_MS = 400
const SIGNER_RETRY_AFTER = 5

const queueMoved = errors.unavailable({ message: 'Another process sends from the same address.' })

/** A caller who waits for an intent. */
type Entry = {
  readonly intent: Intent
  /** Of its row, at every attempt: what an attempt with an unknown outcome has stored is found by it. */
  readonly id: string
  isSettled: boolean
  resolve(row: OnchainTransactionRow): void
  reject(error: unknown): void
}

type Signed = { entry: Entry; row: OnchainTransactionRow; signed: SignedRow }

type SubmitContext = {
  readonly wire: WireContext
  readonly queues: Pick<NonceQueues, 'wakeSql'>
  readonly confirmations: Pick<Confirmations, 'followSql'>
  readonly events: Pick<OnchainTransactionEvents, 'publishSql'>
  readonly preflight: ReturnType<typeof createPreflight>
  /** Queues of one chain count against the same limits: in this process they do not get in each other's way. */
  readonly counting: KeyedMutex
}

/** Makes `submit`. What is sent from one address at the same time is checked, signed and stored together. */
export function createSubmit(
  context: WireContext,
  {
    fees,
    ...options
  }: {
    queues: Pick<NonceQueues, 'wakeSql'>
    confirmations: Pick<Confirmations, 'followSql'>
    events: OnchainTransactionEvents
    fees: CurrentFees
  },
): Submit {
  const parts: SubmitContext = {
    ...options,
    wire: context,
    preflight: createPreflight(context, { currentFees: fees }),
    counting: createKeyedMutex({ queue: 10_000, retryAfter: 1 }),
  }
  const queue = new Coalescer<Entry, void>({
    laneOf: ({ intent: { chain, signer } }) => `${chain.name} ${signer.address}`,
    largest: GROUP,
    // Of two entries of one reference the second one finds what the first has stored.
    keyOf: ({ intent }) => intent.reference,
    async answer(group) {
      await runOrSplit(parts, group)
      return group.map(() => undefined)
    },
  })

  return (intent) => {
    const { promise, resolve, reject } = Promise.withResolvers<OnchainTransactionRow>()
    const entry: Entry = {
      intent,
      id: newId(context.clock.now()),
      isSettled: false,
      resolve(row) {
        entry.isSettled = true
        resolve(row)
      },
      reject(error) {
        entry.isSettled = true
        reject(error)
      },
    }
    // An entry may be settled before its group is.
    queue.call(entry).catch((error: unknown) => entry.reject(error))
    return promise
  }
}

async function runOrSplit(context: SubmitContext, group: readonly Entry[]): Promise<void> {
  try {
    await run(context, group)
  } catch (error) {
    if (group.length === 1 || isUnavailable(error)) throw error
    // The database refuses the steps of one of them: the others are not to fail with it.
    for (const entry of openOf(group))
      await run(context, [entry]).catch((own: unknown) => {
        entry.reject(own)
      })
  }
}

/** Settles every entry. @throws what the database refuses of a group */
async function run(context: SubmitContext, group: readonly Entry[]): Promise<void> {
  let unknown = 0
  let isRepeated = false
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    await settleStored(context, group, attempt > 0)
    const entries = openOf(group)
    if (entries.length === 0) return
    const checked = await context
      .preflight(
        entries.map(({ intent }) => intent),
        attempt > 0,
      )
      .catch((error: unknown) => entries.forEach((entry) => entry.reject(error)))
    if (!checked) return
    try {
      await decide(context, entries, checked)
      continue
    } catch (error) {
      const isMoved = error === queueMoved || error === limitsMoved
      // A reference that another process has stored at this moment is found in the next attempt.
      const isReference: boolean = error instanceof ConstraintError && group.length === 1 && !isRepeated
      isRepeated ||= isReference
      // The commit may have happened: the next attempt finds it, or takes the nonces away from it.
      const isUnknown = !isMoved && isUnavailable(error) && ++unknown < UNKNOWN_ATTEMPTS
      if (!isMoved && !isReference && !isUnknown) throw error
    }
    await context.wire.clock.sleep(Math.random() * Math.min(PAUSE_MS * 2 ** attempt, PAUSE_MAX_MS))
  }
  const [{ intent }] = group as [Entry]
  const tooMany = errors.unavailable({
    message: `Too much is sent from ${intent.signer.address} on ${intent.chain.name} at once: try again.`,
    retryAfter: 1,
  })
  group.forEach((entry) => entry.reject(tooMany))
}

/** Answers what is stored already: of the same reference, or by an attempt whose outcome was unknown. */
async function settleStored(context: SubmitContext, group: readonly Entry[], byId: boolean): Promise<void> {
  const references = group.flatMap(({ intent }) => intent.reference ?? [])
  const ids = byId ? group.map(({ id }) => id) : []
  const conditions = [
    ...(references.length > 0 ? [sql`reference in (${sql.join(references)})`] : []),
    ...(ids.length > 0 ? [sql`id in (${sql.join(ids)})`] : []),
  ]
  if (conditions.length === 0) return
  const rows = await context.wire.db.all(selectTransactionsSql(sql.join(conditions, ' or ')))
  for (const entry of openOf(group)) {
    const { reference } = entry.intent
    const row = rows.find(
      (one) => one.id === entry.id || (reference !== undefined && one.reference === reference),
    )
    if (row) entry.resolve(row)
  }
}

/** Refuses, or signs and stores. What stays open is to be looked at again. */
async function decide(context: SubmitContext, entries: readonly Entry[], state: Preflight): Promise<void> {
  const { chain } = entries[0]!.intent
  if (hasDayLimits(chain)) await context.counting.run(chain.name, () => signAndStore(context, entries, state))
  else await signAndStore(context, entries, state)
}

async function signAndStore(
  context: SubmitContext,
  entries: readonly Entry[],
  state: Preflight,
): Promise<void> {
  const { chain } = entries[0]!.intent
  const allowance = await readAllowance(
    context.wire,
    chain,
    entries.map(({ intent }) => intent),
  )
  const nonces = await noncesOf(context.wire, entries[0]!.intent, state)
  const accepted = accept(entries, state, nonces.pending, allowance)
  if (accepted.length === 0) return
  const signed = await sign(context, accepted, state, nonces.next)
  // The nonces of the others depend on it, so they are signed again.
  if (!signed) return
  await store(context, signed, state, nonces, allowance)
  for (const { entry, row } of signed) entry.resolve(row)
}

/** Signs all with nonces that follow each other; undefined if one could not be signed, which is rejected then. */
async function sign(
  context: SubmitContext,
  accepted: readonly AcceptedIntent<Entry>[],
  { chainId }: Preflight,
  first: number,
): Promise<Signed[] | undefined> {
  const now = context.wire.clock.now()
  const outcomes = []
  for (const [at, { entry, gas, fees }] of accepted.entries()) {
    const { signer, to, value, data = '0x' } = entry.intent
    outcomes.push(signTransaction(signer, { ...fees, chainId, nonce: first + at, to, value, data, gas }))
    // A signature takes a millisecond or so of this thread.
    await nextTurn()
  }
  const transactions: Signed[] = []
  for (const [at, outcome] of (await Promise.all(outcomes)).entries()) {
    const { entry, gas, fees, cost } = accepted[at]!
    const { intent, id } = entry
    if (outcome.kind !== 'accepted') {
      context.wire.log.warn(
        { address: intent.signer.address, reason: outcome.reason },
        'a transaction cannot be signed',
      )
      entry.reject(signingError(intent, outcome.kind === 'refused'))
      continue
    }
    const row: OnchainTransactionRow = {
      id,
      owner: intent.owner,
      wallet_id: intent.walletId,
      chain: intent.chain.name,
      kind: intent.kind,
      sender: intent.signer.address,
      recipient: getAddress(intent.to),
      value: String(intent.value),
      data: intent.data ?? '0x',
      nonce: first + at,
      gas: Number(gas),
      cost: String(cost),
      hash: outcome.hash,
      status: 'pending',
      reference: intent.reference ?? null,
      block_number: null,
      block_hash: null,
      succeeded: null,
      gas_used: null,
      fee: null,
      token_id: null,
      error: null,
      is_final: 0,
      broadcast_at: null,
      broadcasts: 0,
      created_at: now,
      updated_at: now,
    }
    const { hash, raw } = outcome
    const version = { max_fee: String(fees.maxFee), priority_fee: String(fees.priorityFee) }
    transactions.push({
      entry,
      row,
      signed: { hash, transaction_id: id, raw, ...version, created_at: now },
    })
  }
  return transactions.length === accepted.length ? transactions : undefined
}

async function store(
  context: SubmitContext,
  signed: readonly Signed[],
  { head }: Preflight,
  { stored, next }: Nonces,
  allowance: Allowance,
): Promise<void> {
  const { chain, signer } = signed[0]!.entry.intent
  const { address } = signer
  // The table of the queues has its released name, `onchain_lines`.
  const insertQueueSql: Step[] =
    stored === undefined
      ? [
          sql`
            insert into onchain_lines (chain, address, next_nonce, created_at)
            values (${chain.name}, ${address}, ${next}, ${context.wire.clock.now()}) on conflict do nothing`,
        ]
      : []
  const advanceQueueSql = requireRow(
    sql`
      update onchain_lines set next_nonce = ${next + signed.length}
      where chain = ${chain.name} and address = ${address} and next_nonce = ${stored ?? next}
      returning next_nonce`,
    () => queueMoved,
  )
  await context.wire.db.batch([
    ...insertQueueSql,
    advanceQueueSql,
    ...allowance.stepsSql(),
    ...signed.flatMap(({ row, signed: version }) => insertTransactionSql(row, version)),
    ...signed.flatMap(({ entry, row }) => entry.intent.stepsSql?.(row) ?? []),
    ...signed.flatMap(({ row }) => context.events.publishSql('created', row.id)),
    ...context.queues.wakeSql(chain.name, address),
    ...(await context.confirmations.followSql(chain, head)),
  ])
}

const isUnavailable = (error: unknown): boolean =>
  error instanceof ApiError && error.code === errors.unavailable.code

const openOf = (group: readonly Entry[]): Entry[] => group.filter(({ isSettled }) => !isSettled)

function signingError({ signer }: Intent, isFinal: boolean): ApiError {
  const message = `The key of ${signer.address} could not sign: nothing was sent.`
  return isFinal
    ? onchainErrors.provider_error({ message })
    : errors.unavailable({ message, retryAfter: SIGNER_RETRY_AFTER })
}
