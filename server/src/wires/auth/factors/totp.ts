import type { Clock } from '../../../base/clock.ts'
import { deriveKey, type Key } from '../../../base/crypto.ts'
import { errors } from '../../../base/errors.ts'
import { onceResolved } from '../../../base/once.ts'
import { requireRow, type Database, type Step } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import type { SealedColumn } from '../../../kernel/secret/sealed.ts'
import { authErrors } from '../errors.ts'
import { sixDigits } from '../six-digits.ts'
import type { FactorProof } from './factor.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'

const PURPOSE = 'totp'

/** What is encrypted under `SIXWIRE_SECRET` here. */
export const TOTP_SEALED: readonly SealedColumn[] = ['auth_totp', 'auth_totp_offers'].map((table) => ({
  table,
  key: ['user_id'],
  column: 'secret',
  purpose: PURPOSE,
}))

// What every authenticator app supports; some ignore what the URI says and use these (RFC 6238, sections 4 and 5.2).
const SECRET_BYTES = 20
const PARAMETERS = { algorithm: 'SHA1', digits: 6, period: 30 }

/** How many steps a code may be early or late, for clocks that differ and people who type (RFC 6238, section 5.2). */
const WINDOW = 1

const OFFER_MS = 600_000
const OFFER_ATTEMPTS_MAX = 5

const loadOtpauth = onceResolved(() => import('otpauth'))

/** Codes of authenticator apps: TOTP, RFC 6238. An account has one secret. */
export type Totp = {
  /**
   * Makes a secret that counts from the proof that an app has it, within 10 minutes. It replaces an earlier offer.
   *
   * @param account what the app shows as the account's name
   * @returns the secret in base 32, and as a URI in the Key Uri Format of authenticator apps
   *   (https://github.com/google/google-authenticator/wiki/Key-Uri-Format)
   */
  offer(userId: string, account: string): Promise<{ secret: string; uri: string }>
  /**
   * Checks the first code of an app.
   *
   * @returns the steps that put the offered secret in place of the account's, for `users.factorSql`
   * @throws INVALID_CODE if it is wrong, or the offer has expired or had five wrong codes
   */
  acceptSql(userId: string, code: string): Promise<readonly Step[]>
  /**
   * Checks a code: six digits, with or without spaces, of the current step of 30 s, the one before or the one after.
   *
   * @returns undefined if it is wrong, or no later than the last one that was accepted
   */
  prove(userId: string, code: string): Promise<FactorProof<'totp'> | undefined>
  /**
   * The step that gives a new account the secret that it had elsewhere.
   *
   * @param secret in base 32: see `secretFault`
   */
  importSql(userId: string, secret: string): Step
  /** The secret of a row, in base 32. */
  open(sealed: string): string
  /** The steps that remove the account's secret, for `users.factorSql`. Their batch throws NOT_FOUND if it has none. */
  deleteSql(userId: string): readonly Step[]
  deleteExpired(): Promise<void>
}

/**
 * @param options.secret `SIXWIRE_SECRET`
 * @param options.issuer what apps show as the service's name
 */
export function createTotp(
  { db, clock }: Pick<WireContext, 'db' | 'clock'>,
  options: { secret: string; issuer: string },
): Totp {
  const key = deriveKey(options.secret, PURPOSE)
  // The label joins issuer and account by a colon.
  const issuer = options.issuer.replaceAll(':', ' ')
  return {
    async offer(userId, account) {
      const { Secret, TOTP } = await loadOtpauth()
      const secret = new Secret({ size: SECRET_BYTES })
      const uri = new TOTP({ issuer, label: account, secret, ...PARAMETERS }).toString()
      const expiresAt = clock.now() + OFFER_MS
      await db.write(sql`
        insert into auth_totp_offers (user_id, secret, attempts, expires_at)
        values (${userId}, ${key.seal(secret.base32)}, 0, ${expiresAt})
        on conflict (user_id) do update set
          secret = excluded.secret, attempts = 0, expires_at = excluded.expires_at`)
      return { secret: secret.base32, uri }
    },

    acceptSql: (userId, code) => acceptOfferSql({ db, clock, key }, userId, code),
    prove: (userId, code) => proveCode({ db, clock, key }, userId, code),

    importSql: (userId, secret) => sql`
      insert into auth_totp (user_id, secret, last_step, created_at)
      values (${userId}, ${key.seal(base32Of(secret))}, 0, ${clock.now()})`,

    open: (sealed) => key.open(sealed),

    deleteSql: (userId) => [
      requireRow(sql`delete from auth_totp where user_id = ${userId}`, () =>
        errors.not_found({ message: 'This account has no authenticator app.' }),
      ),
    ],

    async deleteExpired() {
      await db.write(sql`delete from auth_totp_offers where expires_at <= ${clock.now()}`)
    },
  }
}

/** As systems show it: in any case, with spaces, hyphens or padding. */
const base32Of = (secret: string): string => secret.replaceAll(/[\s-]|=+$/g, '').toUpperCase()

/** Why a secret of another system cannot be used; undefined if it can. */
export const secretFault = (secret: string): string | undefined =>
  /^[A-Z2-7]{16,128}$/.test(base32Of(secret))
    ? undefined
    : 'must be the secret in base 32, from 16 to 128 characters, for codes of six digits, 30 seconds and SHA-1'

type Parts = { db: Database; clock: Clock; key: Key }

async function acceptOfferSql(
  { db, clock, key }: Parts,
  userId: string,
  code: string,
): Promise<readonly Step[]> {
  const token = sixDigits(code)
  if (token === undefined) throw authErrors.invalid_code()
  const now = clock.now()
  // It counts before it is checked, so that each of several concurrent attempts counts.
  const [offer] = await db.write(sql<{ secret: string }>`
    update auth_totp_offers set attempts = attempts + 1
    where user_id = ${userId} and expires_at > ${now} and attempts < ${OFFER_ATTEMPTS_MAX}
    returning secret`)
  if (!offer) throw offerEnded()
  const step = await stepOf(token, key.open(offer.secret), now)
  if (step === undefined) throw authErrors.invalid_code()
  const isOfferSql = sql`user_id = ${userId} and secret = ${offer.secret}`
  return [
    requireRow(
      sql`insert into auth_totp (user_id, secret, last_step, created_at, last_used_at)
          select user_id, secret, ${step}, ${now}, ${now} from auth_totp_offers where ${isOfferSql}
          on conflict (user_id) do update set secret = excluded.secret, last_step = excluded.last_step,
            created_at = excluded.created_at, last_used_at = excluded.last_used_at`,
      offerEnded,
    ),
    sql`delete from auth_totp_offers where ${isOfferSql}`,
  ]
}

const offerEnded = () =>
  authErrors.invalid_code({
    message:
      'No secret waits for a code: it was used or replaced, has expired, or had five wrong codes. Call POST /auth/totp for another.',
  })

async function proveCode(
  { db, clock, key }: Parts,
  userId: string,
  code: string,
): Promise<FactorProof<'totp'> | undefined> {
  const token = sixDigits(code)
  if (token === undefined) return undefined
  const stored = await db.get(sql<{ secret: string; last_step: number }>`
    select secret, last_step from auth_totp where user_id = ${userId}`)
  if (!stored) return undefined
  const now = clock.now()
  const step = await stepOf(token, key.open(stored.secret), now)
  if (step === undefined || step <= stored.last_step) return undefined
  return {
    kind: 'totp',
    useSql: [
      requireRow(
        // RFC 6238, section 5.2: no second use of a code.
        sql`update auth_totp set last_step = ${step}, last_used_at = ${now}
            where user_id = ${userId} and secret = ${stored.secret} and last_step < ${step}`,
        () => authErrors.invalid_code(),
      ),
    ],
  }
}

/**
 * The step of a code, in periods since 1970; undefined if it is wrong.
 *
 * @param secret in base 32
 */
async function stepOf(token: string, secret: string, now: number): Promise<number | undefined> {
  const { TOTP } = await loadOtpauth()
  const totp = new TOTP({ secret, ...PARAMETERS })
  const delta = totp.validate({ token, timestamp: now, window: WINDOW })
  return delta === null ? undefined : totp.counter({ timestamp: now }) + delta
}
