import { isoTime } from '../../../base/clock.ts'
import { randomToken, sha256 } from '../../../base/crypto.ts'
import { newId } from '../../../base/ids.ts'
import { requireRow, type Step } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import { authErrors } from '../errors.ts'
import type { SessionClient } from './sessions.ts'
import type { UserRow } from '../accounts/user.ts'
import type { FactorProof } from '../factors/factor.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'

const LIFETIME_MS = 30 * 86_400_000
const USER_AGENT_MAX = 300

/** A trusted device as its user sees it. */
export type TrustedDevice = {
  _id: string
  createdAt: string
  /** When it last stood in for a second factor. */
  lastUsedAt: string
  expiresAt: string
  /** Of the client when it was trusted. */
  ip: string
  userAgent: string
}

/**
 * Devices that need no second factor for 30 days: each has a token, stored as a hash. A change of credentials, such as
 * another password, ends the trust.
 */
export type TrustedDevices = {
  /** A token for the device of this client, and the statement that stores it. */
  issue(
    user: Pick<UserRow, 'id' | 'credentials_version'>,
    client: SessionClient,
  ): { deviceToken: string; insertSql: Step }
  /** The proof that a device of this account is trusted; undefined if the token is not valid. */
  prove(
    user: Pick<UserRow, 'id' | 'credentials_version'>,
    deviceToken: string,
  ): Promise<FactorProof<'device'> | undefined>
  /** Lists the devices that are trusted now, newest first. */
  list(userId: string): Promise<TrustedDevice[]>
  /** Ends the trust in a device; false if the account has no such device. */
  revoke(userId: string, id: string): Promise<boolean>
  deleteExpired(): Promise<void>
}

type Row = {
  id: string
  ip: string
  user_agent: string
  created_at: number
  last_used_at: number
  expires_at: number
}

const deviceOf = (row: Row): TrustedDevice => ({
  _id: row.id,
  createdAt: isoTime(row.created_at),
  lastUsedAt: isoTime(row.last_used_at),
  expiresAt: isoTime(row.expires_at),
  ip: row.ip,
  userAgent: row.user_agent,
})

export function createTrustedDevices({ db, clock }: Pick<WireContext, 'db' | 'clock'>): TrustedDevices {
  return {
    issue(user, { ip, userAgent }) {
      const now = clock.now()
      const deviceToken = randomToken()
      return {
        deviceToken,
        insertSql: sql`
          insert into auth_trusted_devices
            (id, hash, user_id, credentials_version, ip, user_agent, created_at, last_used_at, expires_at)
          values (${newId(now)}, ${sha256(deviceToken)}, ${user.id}, ${user.credentials_version}, ${ip},
            ${userAgent.slice(0, USER_AGENT_MAX)}, ${now}, ${now}, ${now + LIFETIME_MS})`,
      }
    },

    async prove(user, deviceToken) {
      const now = clock.now()
      const validSql = sql`
        hash = ${sha256(deviceToken)} and user_id = ${user.id} and expires_at > ${now}
        and credentials_version = ${user.credentials_version}`
      const device = await db.get(sql`select id from auth_trusted_devices where ${validSql}`)
      if (!device) return undefined
      const useSql = requireRow(
        sql`update auth_trusted_devices set last_used_at = ${now} where ${validSql}`,
        () => authErrors.invalid_code(),
      )
      return { kind: 'device', useSql: [useSql] }
    },

    async list(userId) {
      const rows = await db.all(sql<Row>`
        select d.id, d.ip, d.user_agent, d.created_at, d.last_used_at, d.expires_at
        from auth_trusted_devices d
        join auth_users u on u.id = d.user_id and u.credentials_version = d.credentials_version
        where d.user_id = ${userId} and d.expires_at > ${clock.now()} order by d.created_at desc, d.id desc limit 100`)
      return rows.map(deviceOf)
    },

    async revoke(userId, id) {
      const rows = await db.write(sql`
        delete from auth_trusted_devices where id = ${id} and user_id = ${userId} returning id`)
      return rows.length > 0
    },

    async deleteExpired() {
      await db.write(sql`delete from auth_trusted_devices where expires_at <= ${clock.now()}`)
    },
  }
}
