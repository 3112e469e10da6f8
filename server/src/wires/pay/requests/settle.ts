import { errors } from '../../../base/errors.ts'
import { Type } from '../../../base/schema.ts'
import { requireRow, type Step } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import type { Chain, Chains } from '../../onchain/index.ts'
import type { LedgerTransaction, Ledger } from '../ledger/ledger.ts'
import type { LedgerEntry } from '../providers/provider.ts'
import type { PaymentRequestEvents } from './payment-events.ts'
import {
  selectRequestsSql,
  stateOf,
  storedRequests,
  type RequestRow,
  type StoredRequest,
} from './request-rows.ts'
import type { RequestState } from './request-state.ts'

/** Requests that are settled between two reads of what is left. */
const ROUND = 200
const RETRY = { firstMs: 1_000, maxMs: 60_000, attempts: 1_000 }
/** How long after its time is over a request expires on a chain that makes no blocks. */
const SILENCE_MS = 600_000
/** How often a request is read again that the chain changes meanwhile. */
const ROUNDS = 20

export type Settle = {
  /** The step that brings the ledger up to the changed requests of a chain. */
  settleSql(chain: string, series: string): Step
  /** Brings the ledger up to one request. */
  settle(id: string): Promise<void>
  /** Settles requests whose time is over on chains that make no blocks, which no block can tell. */
  expireSilent(): Promise<void>
}

/** Writes to the ledger what the state of a request means for its transaction. */
export function createSettle(
  { db, clock, jobs }: Pick<WireContext, 'db' | 'clock' | 'jobs'>,
  {
    ledger,
    chains,
    payments,
    isCaughtUp,
  }: {
    ledger: Ledger
    chains: Chains
    payments: Pick<PaymentRequestEvents, 'changedSql'>
    /** Whether a chain has no block that was not applied yet. */
    isCaughtUp: (chain: Chain) => Promise<boolean>
  },
): Settle {
  const depthOf = (name: string): number => chains.of(name).depth

  const job = jobs.define(
    'pay.settle-onchain',
    {
      payload: Type.Object({ chain: Type.String() }),
      lane: ({ chain }) => chain,
      retry: RETRY,
      neededFor: 'it settles payments whose coins have arrived',
    },
    ({ payload: { chain } }) =>
      settleAll(
        sql`r.id in (select id from pay_requests where chain = ${chain} and changes > settled_changes
          order by id limit ${ROUND})`,
        false,
      ),
  )

  /** Settles what meets a condition, until nothing does. One that fails does not keep the others. */
  async function settleAll(where: Sql, isSilent: boolean): Promise<void> {
    for (;;) {
      const batch = await read(where)
      const faults: unknown[] = []
      for (const one of batch) await writeNow(one, isSilent).catch((error: unknown) => faults.push(error))
      if (faults.length > 0) throw faults[0]
      if (batch.length < ROUND) return
    }
  }

  const read = async (where: Sql): Promise<StoredRequest[]> =>
    storedRequests(await db.all(selectRequestsSql(where)))

  /** Writes what a request is now, also if the chain changes it meanwhile. */
  async function writeNow(stored: StoredRequest, isSilent: boolean): Promise<void> {
    let latest: StoredRequest | undefined = stored
    for (let round = 0; latest; round++) {
      const isWritten = await write(latest, isSilent).catch((error: unknown) => {
        if (error !== changedMeanwhile || round === ROUNDS) throw error
        return false
      })
      if (isWritten) return
      latest = (await read(sql`r.id = ${latest.request.id}`))[0]
    }
  }

  async function write(stored: StoredRequest, isSilent: boolean): Promise<true> {
    const { request, head } = stored
    const state = stateOf(stored, { depth: depthOf(request.chain), isSilent })
    const transaction = await ledger.read(request.id)
    if (!transaction) return true
    const entries = entriesFor(transaction, request, state)
    const dispute = entries.findLast(({ kind }) => kind === 'dispute') ?? transaction.summary.disputes.at(-1)
    const isOpen = !state.isFinal || dispute?.status === 'open'
    // A reorganisation since it was read means another state.
    const settledStep = requireRow(
      sql`update pay_requests set is_open = ${isOpen ? 1 : 0}, settled_changes = ${request.changes}
        where id = ${request.id} and changes = ${request.changes} returning id`,
      () => changedMeanwhile,
    )
    const cause = `${request.changes}${isSilent ? ' silent' : ''}`
    const steps = [settledStep, ...payments.changedSql(state.status, stored, { state, cause })]
    if (entries.length === 0) await db.batch(steps)
    else {
      const isTakenBack = !state.isPaid && transaction.summary.captured > 0n
      const ledgerCause = isTakenBack
        ? 'reorg'
        : `block ${head?.number ?? request.expired_block ?? 0} of ${request.chain}`
      await ledger.record(request.id, { snapshot: { entries }, cause: ledgerCause, steps })
    }
    return true
  }

  return {
    settleSql: (chain, series) => job.enqueueSql({ chain }, { id: `pay-settle-${chain}-${series}` }),
    async settle(id) {
      for (const one of await read(sql`r.id = ${id}`)) await writeNow(one, false)
    },
    async expireSilent() {
      for (const chain of chains.all) {
        if (!chain.isConfigured) continue
        const where = sql`r.id in (
          select id from pay_requests where chain = ${chain.name} and is_open = 1 and expired_block is null
            and expires_at < ${clock.now() - SILENCE_MS} order by id limit ${ROUND})`
        const [some] = await read(where)
        if (some && (await isCaughtUp(chain))) await settleAll(where, true)
      }
    },
  }
}

const changedMeanwhile = errors.unavailable({
  message: 'The chain changes this payment request.',
  retryAfter: 1,
})

/** What has to be added to the ledger of a request's transaction. */
function entriesFor(
  { row, summary }: LedgerTransaction,
  request: Pick<RequestRow, 'id' | 'token'>,
  { isPaid, isFinal }: RequestState,
): LedgerEntry[] {
  const object = { objectId: request.id, amount: BigInt(row.amount), currency: request.token }
  const dispute = summary.disputes.at(-1)
  const version = dispute?.version ?? 0
  const reason = 'reorg'
  if (isPaid) {
    if (summary.captured === 0n) return [{ ...object, kind: 'charge', status: 'completed' }]
    return dispute?.status === 'open' ? [{ ...object, kind: 'dispute', status: 'won', version, reason }] : []
  }
  if (summary.captured > 0n) {
    const isOpen = dispute?.status === 'open'
    const openDispute: LedgerEntry = {
      ...object,
      kind: 'dispute',
      status: 'open',
      version: isOpen ? version : version + 1,
      reason,
    }
    const lostDispute: LedgerEntry = { ...openDispute, kind: 'dispute', status: 'lost' }
    return [
      ...(isOpen || dispute?.status === 'lost' ? [] : [openDispute]),
      ...(isFinal && dispute?.status !== 'lost' ? [lostDispute] : []),
    ]
  }
  return isFinal && row.status === 'pending' ? [{ ...object, kind: 'session', status: 'expired' }] : []
}
