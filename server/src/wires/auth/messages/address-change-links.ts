import { randomToken, sha256 } from '../../../base/crypto.ts'
import type { EmailAddress } from '../../../base/email-address.ts'
import type { ApiError } from '../../../base/errors.ts'
import { requireRow, type Step, type StepWith } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import { authErrors } from '../errors.ts'
import type { UserRow } from '../accounts/user.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'

const HOUR_MS = 3_600_000
const LINK_MS = 24 * HOUR_MS
const UNDO_MS = 72 * HOUR_MS
// A change is made at most 24 h after its request, and undone at most 72 h after that.
const RETENTION_MS = 5 * 24 * HOUR_MS

/** A change that was asked for and whose link is valid. */
export type RequestedChange = {
  id: string
  userId: string
  /** `credentials_version` of the account when the link was sent. */
  version: number
  email: EmailAddress
}

/** A change that was made and can be undone. */
export type UndoableChange = {
  id: string
  userId: string
  /** `credentials_version` of the account before it: each later change has a higher one. */
  version: number
  oldEmail: EmailAddress
  oldVerifiedAt: number
  changedAt: number
  undoUntil: number
}

/** The single-use links that change an address (24 h) and undo the change (72 h): opaque tokens, stored as hashes. */
export type ChangeLinks = {
  /**
   * A token for the new address, and the steps that store it and void the account's older ones.
   *
   * @param id if a change with this id exists, nothing is stored and `repeated` is thrown
   */
  issue(
    user: UserRow,
    change: { id: string; email: EmailAddress },
    repeated: () => ApiError,
  ): { token: string; steps: readonly Step[] }
  /** The steps that void the account's links to new addresses. */
  voidSql(userId: string): readonly Step[]
  /** Reads a token for the new address without using it. Throws INVALID_TOKEN. */
  read(token: string): Promise<RequestedChange>
  /**
   * Uses it: the old address is reserved for 72 h if it was verified, and else free at once. Throws INVALID_TOKEN if it was
   * used or has expired since.
   */
  useSql(change: RequestedChange, user: UserRow): StepWith
  /** A change that can be undone and has no undo link yet. */
  toTell(id: string): Promise<UndoableChange | undefined>
  /** A token to undo a change, and the step that stores it; throws `repeated` if it has one. */
  issueUndo(id: string, repeated: () => ApiError): { token: string; step: Step }
  /** Reads a token to undo a change without using it. Throws INVALID_TOKEN. */
  readUndo(token: string): Promise<UndoableChange>
  /** Uses it, and voids the undo links of later changes. Throws INVALID_TOKEN if it was used or has expired since. */
  useUndoSql(change: UndoableChange): readonly Step[]
  deleteExpired(): Promise<void>
}

type RequestedRow = {
  id: string
  user_id: string
  credentials_version: number
  email: string
  email_key: string
}
type UndoableRow = {
  id: string
  user_id: string
  credentials_version: number
  old_email: string
  old_email_key: string
  old_verified_at: number
  changed_at: number
  undo_until: number
}

const undoableChangeOf = (row: UndoableRow): UndoableChange => ({
  id: row.id,
  userId: row.user_id,
  version: row.credentials_version,
  oldEmail: { address: row.old_email, key: row.old_email_key },
  oldVerifiedAt: row.old_verified_at,
  changedAt: row.changed_at,
  undoUntil: row.undo_until,
})

export function createChangeLinks({ db, clock }: Pick<WireContext, 'db' | 'clock'>): ChangeLinks {
  const isValidSql = () => sql`changed_at is null and expires_at > ${clock.now()}`
  const canBeUndoneSql = () => sql`undone_at is null and undo_until > ${clock.now()}`
  const invalid = () => authErrors.invalid_token()

  async function readUndoable(condition: ReturnType<typeof isValidSql>): Promise<UndoableChange | undefined> {
    const row = await db.get(sql<UndoableRow>`
      select id, user_id, credentials_version, old_email, old_email_key, old_verified_at, changed_at, undo_until
      from auth_address_changes where ${condition} and ${canBeUndoneSql()}`)
    return row && undoableChangeOf(row)
  }

  return {
    issue({ id: userId, credentials_version }, { id, email }, repeated) {
      const token = randomToken()
      return {
        token,
        steps: [
          sql`delete from auth_address_changes where user_id = ${userId} and changed_at is null and id <> ${id}`,
          requireRow(
            sql`insert into auth_address_changes
                  (id, user_id, credentials_version, hash, email, email_key, expires_at)
                values (${id}, ${userId}, ${credentials_version}, ${sha256(token)}, ${email.address}, ${email.key},
                  ${clock.now() + LINK_MS})
                on conflict (id) do nothing`,
            repeated,
          ),
        ],
      }
    },

    voidSql: (userId) => [
      sql`delete from auth_address_changes where user_id = ${userId} and changed_at is null`,
    ],

    async read(token) {
      const row = await db.get(sql<RequestedRow>`
        select id, user_id, credentials_version, email, email_key from auth_address_changes
        where hash = ${sha256(token)} and ${isValidSql()}`)
      if (!row) throw invalid()
      const { id, user_id: userId, credentials_version: version } = row
      return { id, userId, version, email: { address: row.email, key: row.email_key } }
    },

    useSql({ id }, { email, email_key, email_verified_at }) {
      const now = clock.now()
      return requireRow(
        sql`update auth_address_changes set changed_at = ${now}, old_email = ${email}, old_email_key = ${email_key},
              old_verified_at = ${email_verified_at},
              undo_until = ${email_verified_at === null ? null : now + UNDO_MS}
            where id = ${id} and ${isValidSql()}`,
        invalid,
      )
    },

    toTell: (id) => readUndoable(sql`id = ${id} and undo_hash is null`),

    issueUndo(id, repeated) {
      const token = randomToken()
      const step = requireRow(
        sql`update auth_address_changes set undo_hash = ${sha256(token)} where id = ${id} and undo_hash is null`,
        repeated,
      )
      return { token, step }
    },

    async readUndo(token) {
      const change = await readUndoable(sql`undo_hash = ${sha256(token)}`)
      if (!change) throw invalid()
      return change
    },

    useUndoSql: ({ id, userId, version }) => [
      requireRow(
        sql`update auth_address_changes set undone_at = ${clock.now()} where id = ${id} and ${canBeUndoneSql()}`,
        invalid,
      ),
      // Otherwise the person against whom this was undone could undo a change that they made after it. Not by the time: the
      // clock of another server may be behind, and a later change would void the link of an earlier one.
      sql`update auth_address_changes set undone_at = ${clock.now()}
          where user_id = ${userId} and credentials_version > ${version} and changed_at is not null
            and undone_at is null`,
    ],

    async deleteExpired() {
      await db.write(sql`delete from auth_address_changes where expires_at <= ${clock.now() - RETENTION_MS}`)
    },
  }
}
