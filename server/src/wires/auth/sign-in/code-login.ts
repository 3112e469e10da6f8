import { deriveKey } from '../../../base/crypto.ts'
import { emailKey } from '../../../base/email-address.ts'
import { ApiError } from '../../../base/errors.ts'
import type { CallOrigin } from '../../../http/event-log.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import type { TokenRedemption } from './token-redemption.ts'
import { authErrors } from '../errors.ts'
import type { Lock } from '../accounts/lock.ts'
import type { UserRow } from '../accounts/user.ts'
import type { Users } from '../accounts/users.ts'
import type { CodeAttempt } from '../messages/codes.ts'
import { lockKeyOf } from '../messages/phones.ts'
import type { TextCodes } from '../messages/text-codes.ts'

/** How a code was sent. */
export type CodeMethod = 'email-code' | 'sms-code'

/** Sign-in with a code of six digits. Whatever is wrong, the answer and the work are the same. */
export type CodeLogin = {
  /**
   * Does what the link in the same email does.
   *
   * @param id of an account that is created
   * @throws INVALID_CODE; ACCOUNT_LOCKED, counted together with wrong passwords; RATE_LIMITED after 30 attempts for the
   *   address in a day; REGISTRATION_CLOSED
   */
  byEmail(email: string, attempt: CodeAttempt, id: string, origin: CallOrigin): Promise<UserRow>
  /**
   * The account that has proven this number.
   *
   * @param phone E.164
   * @throws INVALID_CODE; ACCOUNT_LOCKED; RATE_LIMITED after 30 attempts for the number in a day
   */
  byPhone(phone: string, attempt: CodeAttempt, origin: CallOrigin): Promise<UserRow>
}

/** In the log, for an address or number without an account. */
const UNKNOWN = 'unknown'

// A lock ends and a new code can be asked for: without this, one of 2,000 addresses would be guessed in a day.
const ATTEMPTS_PER_DAY = 30
const DAY_MS = 86_400_000

const LOCKED = authErrors.account_locked.code

type CountedAttempt = (
  lockKey: string,
  check: (attempt: { isLast: boolean }) => Promise<UserRow | undefined>,
) => Promise<UserRow | undefined>

const needsFactor = ({ second_factor_at }: UserRow): boolean => second_factor_at !== null

/** @param options.secret `SIXWIRE_SECRET`: addresses and numbers are counted by a keyed hash */
export function createCodeLogin(
  { db, rateLimiter }: Pick<WireContext, 'db' | 'rateLimiter'>,
  {
    users,
    lock,
    redemption,
    textCodes,
  }: { users: Users; lock: Lock; redemption: TokenRedemption; textCodes: TextCodes },
  options: { secret: string },
): CodeLogin {
  const hash = deriveKey(options.secret, 'code-attempts')

  const countedAttempt: CountedAttempt = async (key, check) => {
    const bucket = `auth code ${hash.mac(key)}`
    await db.batch([rateLimiter.takeSql(bucket, ATTEMPTS_PER_DAY, DAY_MS)])
    return lock.attempt(key, check, needsFactor)
  }

  /** Uses a code by text; undefined if it is wrong, or its account has changed since it was sent. */
  async function redeemText(phone: string, attempt: CodeAttempt): Promise<UserRow | undefined> {
    const textCode = await textCodes.attemptSignIn(phone, attempt)
    const user = await users.byPhone(phone)
    const isUnchanged =
      user?.id === textCode?.userId && user?.credentials_version === textCode?.credentialsVersion
    if (!textCode || !user || !isUnchanged || user.disabled_at !== null) return undefined
    await db.batch([textCodes.useSql(textCode)])
    return user
  }

  return {
    byEmail(email, attempt, id, origin) {
      const key = emailKey(email)
      return login({ attempt: countedAttempt, lock }, origin, {
        method: 'email-code',
        lockKey: key,
        redeem: () => redemption.verifyCode(key, attempt, id),
        find: () => users.byEmail(key),
      })
    },

    byPhone: (phone, attempt, origin) =>
      login({ attempt: countedAttempt, lock }, origin, {
        method: 'sms-code',
        lockKey: lockKeyOf(phone),
        redeem: () => redeemText(phone, attempt),
        find: () => users.byPhone(phone),
      }),
  }
}

/**
 * @param signIn.redeem uses the code; undefined if it is wrong
 * @param signIn.find the account of the address or number, for the log, which has neither
 */
async function login(
  { attempt, lock }: { attempt: CountedAttempt; lock: Lock },
  origin: CallOrigin,
  {
    method,
    lockKey,
    redeem,
    find,
  }: {
    method: CodeMethod
    lockKey: string
    redeem: () => Promise<UserRow | undefined>
    find: () => Promise<UserRow | undefined>
  },
): Promise<UserRow> {
  const fail = async (reason: string, isLast = false): Promise<undefined> => {
    const id = (await find())?.id
    origin.record('sign-in-failed', { account: id ?? UNKNOWN, method, reason })
    if (isLast) await lock.recordLock(id, origin)
  }
  const result = attempt(lockKey, async ({ isLast }) => {
    // Another replica may use the same code between its check and its use.
    const user = await redeem().catch(unlessUsed)
    return user ?? fail('code', isLast)
  })
  const user = await result.catch(async (error: unknown) => {
    if (error instanceof ApiError) await fail(error.code === LOCKED ? 'locked' : error.code)
    throw error
  })
  if (!user) throw authErrors.invalid_code()
  return user
}

const USED = new Set<string>([authErrors.invalid_token.code, authErrors.invalid_code.code])

function unlessUsed(error: unknown): undefined {
  if (!(error instanceof ApiError && USED.has(error.code))) throw error
}
