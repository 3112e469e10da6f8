import { randomInt } from 'node:crypto'

import { deriveKey, isSameSecret, sha256 } from '../../../base/crypto.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import { sixDigits } from '../six-digits.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'

const DIGITS = 6
const LIFETIME_MS = 600_000
const ATTEMPTS_MAX = 5

/** What is typed, and the random text of the browser that it is typed in. */
export type CodeAttempt = { code: string; browser?: string | undefined }

/** The tables whose rows have a code. */
type CodeTable = 'auth_mail_tokens' | 'auth_text_codes'

/**
 * Codes of six digits, each in the row of what it was sent with. A code has 20 bits, so it is stored as a keyed hash, and
 * its attempts are counted.
 */
export type Codes = {
  /**
   * A new code.
   *
   * @param rowId the hash is right for the code in this row only
   */
  issue(rowId: string): { code: string; hash: string; expiresAt: number }
  /**
   * Counts an attempt at the code of a row, and then checks it. An attempt in another browser than the one that asked is
   * not counted here: otherwise anybody could use up the attempts of the owner.
   *
   * @param row selects the row; used, expired and exhausted ones are left out
   * @returns the row; undefined if the code is wrong, or there is none
   */
  attempt<Row>(table: CodeTable, row: Sql, attempt: CodeAttempt): Promise<Row | undefined>
}

/** @param options.secret `SIXWIRE_SECRET` */
export function createCodes(
  { db, clock }: Pick<WireContext, 'db' | 'clock'>,
  options: { secret: string },
): Codes {
  const key = deriveKey(options.secret, 'sign-in-codes')
  const hashOf = (rowId: string, code: string): string => key.mac(`${rowId} ${code}`)
  return {
    issue(rowId) {
      const code = String(randomInt(10 ** DIGITS)).padStart(DIGITS, '0')
      return { code, hash: hashOf(rowId, code), expiresAt: clock.now() + LIFETIME_MS }
    },

    async attempt<Row>(table: CodeTable, row: Sql, { code, browser }: CodeAttempt) {
      const ofBrowser =
        browser === undefined
          ? sql`browser_hash is null`
          : sql`(browser_hash is null or browser_hash = ${browserHash(browser)})`
      // One statement, so that of any number of concurrent attempts exactly five are checked.
      const [codeRow] = await db.write(sql<Row & { id: string; code_hash: string }>`
        update ${sql.literal(table)} set code_attempts = code_attempts + 1
        where ${row} and used_at is null and code_expires_at > ${clock.now()} and code_attempts < ${ATTEMPTS_MAX}
          and ${ofBrowser}
        returning *`)
      return codeRow && isSameSecret(hashOf(codeRow.id, sixDigits(code) ?? ''), codeRow.code_hash)
        ? codeRow
        : undefined
    },
  }
}

/** A code as people read it: `123 456`. */
export const groupsOf = (code: string): { first: string; last: string } => ({
  first: code.slice(0, DIGITS / 2),
  last: code.slice(DIGITS / 2),
})

/** The form in which the random text of a browser is stored. */
export const browserHash = (browser: string): string => sha256(browser)
