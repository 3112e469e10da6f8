import type { Address } from '../../../base/hex.ts'
import { formatEther, getAddress, parseEther } from '../../../base/viem.ts'
import type { ApiError } from '../../../base/errors.ts'
import { errors } from '../../../base/errors.ts'
import { requireRow, type Step } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import type { Chain } from '../chains/chain.ts'
import { onchainErrors } from '../errors.ts'
import type { Intent } from './intent.ts'

const DAY_MS = 86_400_000
const BATCH = 1_000

/** Thrown by a batch if another process has counted something meanwhile: all is to be done again. */
export const limitsMoved = errors.unavailable({ message: 'Another process counts against the same limits.' })

/** What was sent on a day, and what a group of transactions adds to it. */
export type Allowance = {
  /** Counts an intent, or answers LIMIT_EXCEEDED, and counts nothing then. */
  take(intent: Intent): ApiError | undefined
  /** The steps that store what was counted. Their batch throws `limitsMoved` if it is not true any more. */
  stepsSql(): Step[]
}

/** Whether an intent is subject to limits: wallets are; sweeps of received payments are the operator's own. */
const isLimited = ({ walletId }: Intent): boolean => walletId !== ''

/** Whether code may run that an allow list does not have, so that it has to be known if there is some at the address. */
export const needsCode = (intent: Intent): boolean =>
  isLimited(intent) && intent.chain.limits.contracts !== undefined && (intent.data ?? '0x') === '0x'

/**
 * Checks the lists of what may be called, and where the native coin may be sent.
 *
 * @param hasCode whether there is a contract at the address
 * @returns LIMIT_EXCEEDED if it is on no list
 */
export function listRefusal(intent: Intent, hasCode: boolean): ApiError | undefined {
  const { chain, to, value, data = '0x' } = intent
  const { contracts, destinations } = chain.limits
  if (!isLimited(intent)) return undefined
  // A transfer to a contract runs it as well.
  if (contracts && (data !== '0x' || hasCode) && !contracts.some((one) => isSame(one, to)))
    return refusal(chain, 'contracts', `the contract ${to} is none of those that wallets may call`)
  if (destinations && value > 0n && !destinations.some((one) => isSame(one, to)))
    return refusal(chain, 'destinations', `${to} is none of the addresses that wallets may send to`)
  return undefined
}

/** Whether the amounts of a chain are limited by day. */
export const hasDayLimits = ({ limits }: Chain): boolean =>
  limits.walletPerDay !== undefined || limits.destinationPerDay !== undefined

/** Reads what was sent today by the wallet and to the addresses of a group of intents of one queue. */
export async function readAllowance(
  { db, clock }: Pick<WireContext, 'db' | 'clock'>,
  chain: Chain,
  intents: readonly Intent[],
): Promise<Allowance> {
  const day = Math.floor(clock.now() / DAY_MS)
  const subjects = new Set(
    intents.filter(isLimited).flatMap((intent) => subjectsOf(intent).map(([one]) => one)),
  )
  const rows =
    subjects.size === 0
      ? []
      : await db.all(sql<{ subject: string; amount: string; version: number }>`
          select subject, amount, version from onchain_spent
          where chain = ${chain.name} and day = ${day} and subject in (${sql.join([...subjects])})`)
  const sums = new Map(
    rows.map(({ subject, amount, version }) => [subject, { amount: BigInt(amount), version }]),
  )
  const increments = new Map<string, bigint>()
  const spentOf = (subject: string): bigint =>
    (sums.get(subject)?.amount ?? 0n) + (increments.get(subject) ?? 0n)

  return {
    take(intent) {
      if (!isLimited(intent) || intent.value === 0n) return undefined
      const ownSubjects = subjectsOf(intent)
      const exceeded = ownSubjects.find(([subject, , allowed]) => spentOf(subject) + intent.value > allowed)
      if (exceeded) {
        const [subject, limit, allowed] = exceeded
        const spending = formatEther(spentOf(subject))
        return refusal(
          chain,
          limit,
          `${subject} has ${spending} of ${formatEther(allowed)} ${chain.symbol} today, and this is ${formatEther(intent.value)}`,
          { spent: spending, allowed: formatEther(allowed) },
        )
      }
      for (const [subject] of ownSubjects)
        increments.set(subject, (increments.get(subject) ?? 0n) + intent.value)
      return undefined
    },
    stepsSql: () =>
      // In one order, so that two batches do not wait for each other.
      [...increments.keys()].toSorted().map((subject) => {
        const amount = String(spentOf(subject))
        const version = sums.get(subject)?.version
        return requireRow(
          version === undefined
            ? sql`
                insert into onchain_spent (chain, subject, day, amount, version)
                values (${chain.name}, ${subject}, ${day}, ${amount}, 1)
                on conflict do nothing returning version`
            : sql`
                update onchain_spent set amount = ${amount}, version = ${version + 1}
                where chain = ${chain.name} and subject = ${subject} and day = ${day} and version = ${version}
                returning version`,
          () => limitsMoved,
        )
      }),
  }
}

/** Deletes what was sent on days that are over, in batches. One more is kept, for processes whose clocks are behind. */
export async function forgetOldDays({ db, clock }: Pick<WireContext, 'db' | 'clock'>): Promise<void> {
  const yesterday = Math.floor(clock.now() / DAY_MS) - 1
  for (let deleted = BATCH; deleted === BATCH;)
    deleted = (
      await db.write(sql`
        delete from onchain_spent where (chain, subject, day) in (
          select chain, subject, day from onchain_spent where day < ${yesterday} limit ${BATCH})
        returning day`)
    ).length
}

type Subject = readonly [subject: string, limit: string, allowed: bigint]

function subjectsOf({ chain, signer, to }: Intent): Subject[] {
  const { walletPerDay, destinationPerDay } = chain.limits
  const subjects: Subject[] = []
  if (walletPerDay !== undefined)
    subjects.push([`wallet ${signer.address}`, 'walletPerDay', parseEther(walletPerDay)])
  if (destinationPerDay !== undefined)
    subjects.push([`destination ${getAddress(to)}`, 'destinationPerDay', parseEther(destinationPerDay)])
  return subjects
}

const isSame = (one: string, other: Address): boolean => one.toLowerCase() === other.toLowerCase()

const refusal = (chain: Chain, limit: string, why: string, amounts: object = {}): ApiError =>
  onchainErrors.limit_exceeded({
    message: `A limit of the operator (${limit} of ${chain.name}) does not allow this: ${why}.`,
    details: { limit, ...amounts },
  })
