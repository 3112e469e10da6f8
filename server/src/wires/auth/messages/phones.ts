import { errors } from '../../../base/errors.ts'
import { requireRow, type Step } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import type { UserCaller } from '../../../http/access.ts'
import type { AccountMails } from './account-mails.ts'
import { authErrors } from '../errors.ts'
import type { Lock } from '../accounts/lock.ts'
import type { Users } from '../accounts/users.ts'
import type { TextCode, TextCodes } from './text-codes.ts'
import type { Texts } from './texts.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'

/** The phone numbers of accounts: one an account, and one account a number. */
export type Phones = {
  /** The number that the account has proven, in E.164. */
  of(userId: string): Promise<string | undefined>
  /**
   * Sends a code to a number, also to one that another account has: who has the phone is not known before the code is
   * right.
   *
   * @param id of the message
   * @throws RATE_LIMITED
   */
  add(id: string, caller: UserCaller, phone: string): Promise<void>
  /**
   * Gives the account the number that the code was sent to, in place of the one that it had, and tells its owner by email.
   *
   * @returns the number
   * @throws INVALID_CODE; ACCOUNT_LOCKED after too many wrong codes for this number; CONFLICT if another account has it
   */
  verify(caller: UserCaller, code: string): Promise<string>
  /** The step that gives a new account the number that it had elsewhere. Its batch throws CONFLICT if another account has it. */
  importSql(userId: string, phone: string): Step
  /**
   * Takes the number from the account, and tells its owner by email.
   *
   * @throws NOT_FOUND if it has none
   */
  remove(caller: UserCaller): Promise<void>
}

/** The key by which attempts at codes for a number are counted: guesses must not lock an address. */
export const lockKeyOf = (phone: string): string => `phone ${phone}`

export function createPhones(
  { db, clock }: Pick<WireContext, 'db' | 'clock'>,
  {
    users,
    texts,
    textCodes,
    lock,
    mails,
  }: { users: Users; texts: Texts; textCodes: TextCodes; lock: Lock; mails: AccountMails },
): Phones {
  const insertSql = (userId: string, phone: string): Step =>
    requireRow(
      sql`insert into auth_phones (phone, user_id, verified_at) values (${phone}, ${userId}, ${clock.now()})
          on conflict (phone) do nothing`,
      () => errors.conflict({ message: 'Another account has this number: remove it there, or use another.' }),
    )

  /** The code first, then the account, then its number: the order of every batch, so that no two deadlock. */
  async function insert({ id }: UserCaller, code: TextCode): Promise<string> {
    const { phone } = code
    await db.batch([
      textCodes.useSql(code),
      requireRow(
        sql`select id from auth_users
            where id = ${id} and credentials_version = ${code.credentialsVersion} and disabled_at is null
            ${sql.sharedLock}`,
        () => authErrors.invalid_code(),
      ),
      sql`delete from auth_phones where user_id = ${id}`,
      insertSql(id, phone),
      mails.notice(id, 'phone-changed', { number: `…${phone.slice(-3)}` }),
    ])
    return phone
  }

  return {
    async of(userId) {
      const row = await db.get(
        sql<{ phone: string }>`select phone from auth_phones where user_id = ${userId}`,
      )
      return row?.phone
    },

    async add(id, caller, phone) {
      const user = await users.byId(caller.id)
      if (!user) throw errors.unauthorized()
      await texts.proof(id, user, phone)
    },

    async verify(caller, code) {
      const pendingNumber = await textCodes.unproven(caller.id)
      const number =
        pendingNumber !== undefined &&
        (await lock.attempt(lockKeyOf(pendingNumber), async () => {
          const textCode = await textCodes.attemptProof(caller.id, { code })
          return textCode && insert(caller, textCode)
        }))
      if (!number) throw authErrors.invalid_code()
      return number
    },

    importSql: insertSql,

    async remove({ id }) {
      await db.batch([
        textCodes.deleteSql(id),
        requireRow(sql`delete from auth_phones where user_id = ${id}`, () =>
          errors.not_found({ message: 'Your account has no phone number.' }),
        ),
        mails.notice(id, 'phone-changed'),
      ])
    },
  }
}
