import type { Clock } from '../../../base/clock.ts'
import { errors, type ApiError } from '../../../base/errors.ts'
import { requireRow, type Database, type Step } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import type { UserCaller } from '../../../http/access.ts'
import type { AccountMails } from '../messages/account-mails.ts'
import type { Users } from '../accounts/users.ts'
import { endLastFactorSql, requireOtherFactorSql, type SecondFactor } from './factor.ts'
import type { RecoveryCodes } from './recovery-codes.ts'
import type { FactorRequirement } from './factor-requirement.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'

// A new try follows another change of the same account's factors.
const ATTEMPTS_MAX = 5

/** A factor of an account; `name`: in emails, such as `authenticator app`. */
export type OwnFactor = { kind: 'passkey' | 'totp'; name: string }

/** Adds and removes the factors of the caller's own account. */
export type OwnFactors = {
  /**
   * Adds a factor or replaces one, and tells the owner by email. It is proven in the caller's session from then on.
   *
   * @param change the steps that store it. They may run more than once, and count once
   * @returns ten recovery codes if it is the account's first factor
   * @throws UNAUTHORIZED if the session has ended
   */
  add(caller: UserCaller, factor: OwnFactor, change: readonly Step[]): Promise<string[] | undefined>
  /**
   * Removes a factor, and tells the owner by email. Recovery codes and trusted devices go with the last one.
   *
   * @param change the steps that delete it
   * @throws CONFLICT if it is the last one, and the policy of second factors requires one
   * @throws UNAUTHORIZED if the session has ended
   */
  remove(caller: UserCaller, factor: OwnFactor, change: readonly Step[]): Promise<void>
  /**
   * Replaces the recovery codes.
   *
   * @throws CONFLICT if the account has no factor
   * @throws UNAUTHORIZED if the session has ended
   */
  replaceRecoveryCodes(caller: UserCaller): Promise<string[]>
}

type Nouns = {
  users: Users
  recoveryCodes: RecoveryCodes
  requirement: FactorRequirement
  mails: AccountMails
}

export function createOwnFactors({ db, clock }: Pick<WireContext, 'db' | 'clock'>, nouns: Nouns): OwnFactors {
  return {
    add: (caller, factor, change) => addFactor(db, clock, nouns, { caller, factor, change }),

    async remove(caller, factor, change) {
      const { id, role, sessionId } = caller
      const { users, requirement, mails } = nouns
      const steps = [
        requireSessionSql(sessionId),
        ...change,
        ...(requirement.appliesTo(role) ? [requireOtherFactorSql(id, lastFactor)] : []),
        ...endLastFactorSql(id),
        ...mails.notice(id, 'factor-removed', { factor: wordsFor(caller, factor) }),
      ]
      await db.batch(users.factorSql({ id }, steps, unauthorized))
    },

    async replaceRecoveryCodes({ id, sessionId }) {
      const { codes, steps } = await nouns.recoveryCodes.replace(id)
      const change = [requireSessionSql(sessionId), requireOtherFactorSql(id, noFactor), ...steps]
      await db.batch(nouns.users.factorSql({ id }, change, unauthorized))
      return codes
    },
  }
}

type Addition = { caller: UserCaller; factor: OwnFactor; change: readonly Step[] }

/**
 * Recovery codes take half a second to hash, so whether they are needed is read before the batch, and the batch requires that
 * it is so still: of two first factors at the same time the second one finds the first, and is added without codes.
 */
async function addFactor(
  db: Database,
  clock: Clock,
  { users, recoveryCodes, mails }: Nouns,
  { caller, factor, change }: Addition,
): Promise<string[] | undefined> {
  const { id, sessionId } = caller
  for (let attempt = 1; ; attempt++) {
    const user = await users.byId(id)
    if (!user) throw unauthorized()
    const isFirst = user.second_factor_at === null
    const recovery = isFirst ? await recoveryCodes.replace(id) : undefined
    const concurrentChange = errors.conflict({
      message: 'The second factors of this account are being changed by another request: try again.',
    })
    const steps = [
      proveInSessionSql(sessionId, factor.kind, clock.now()),
      requireHasFactorSql(id, !isFirst, () => concurrentChange),
      ...change,
      ...(recovery?.steps ?? []),
      ...mails.notice(id, 'factor-added', { factor: wordsFor(caller, factor) }),
    ]
    try {
      await db.batch(users.factorSql({ id }, steps, unauthorized))
      return recovery?.codes
    } catch (error) {
      if (error !== concurrentChange || attempt === ATTEMPTS_MAX) throw error
    }
  }
}

const KINDS = { passkey: 'passkey', totp: 'authenticator app' } as const

/** Before the address is verified without its name: else anybody could choose text for a mail to the owner of any address. */
const wordsFor = ({ emailVerified }: UserCaller, { kind, name }: OwnFactor): string =>
  emailVerified ? name : KINDS[kind]

const unauthorized = () => errors.unauthorized()

const lastFactor = () =>
  errors.conflict({
    message: 'This account must have a second factor, and this is its last one: add another one first.',
  })

const noFactor = () =>
  errors.conflict({
    message:
      'Recovery codes replace a second factor, and this account has none: add a passkey or an authenticator app first.',
  })

/** The account's row is locked: what ends its sessions has happened before, or waits. */
const requireSessionSql = (sessionId: string): Step =>
  requireRow(sql`select id from auth_sessions where id = ${sessionId}`, unauthorized)

const proveInSessionSql = (sessionId: string, factor: SecondFactor, now: number): Step =>
  requireRow(
    sql`update auth_sessions set second_factor = coalesce(second_factor, ${factor}), factor_proven_at = ${now}
        where id = ${sessionId}`,
    unauthorized,
  )

const requireHasFactorSql = (userId: string, hasFactor: boolean, otherwise: () => ApiError): Step =>
  requireRow(
    sql`select id from auth_users
        where id = ${userId} and second_factor_at is ${sql.literal(hasFactor ? 'not null' : 'null')}`,
    otherwise,
  )
