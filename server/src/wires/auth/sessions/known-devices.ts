import { sha256 } from '../../../base/crypto.ts'
import type { Step } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import type { AccountMails } from '../messages/account-mails.ts'
import { deviceName } from './device-name.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'

const DAY_MS = 86_400_000
const KNOWN_MS = 180 * DAY_MS

/** Where a sign-in comes from. */
type DeviceClient = { ip: string; userAgent: string }

/** The devices that each account was used on, by their user agents: enough to tell an owner of one that is new. */
export type KnownDevices = {
  /**
   * The steps of a sign-in that record its device. If the account was used on others and not on this one within 180 days, they
   * tell its owner by email. The first device of an account tells nothing.
   */
  beginSql(user: { id: string }, client: DeviceClient): Promise<readonly Step[]>
  /** The step that records a device of which the owner is told in another way. */
  addSql(userId: string, userAgent: string): Step
  /** Deletes devices that were not used for 180 days, but keeps the last one of each account: the next is not its first. */
  deleteOld(): Promise<void>
}

export function createKnownDevices(
  { db, clock }: Pick<WireContext, 'db' | 'clock'>,
  { mails }: { mails: AccountMails },
): KnownDevices {
  function addSql(userId: string, userAgent: string): Step {
    const now = clock.now()
    return sql`
      insert into auth_known_devices (user_id, device_hash, last_used_at)
      values (${userId}, ${deviceHash(userAgent)}, ${now})
      on conflict (user_id, device_hash) do update set last_used_at = ${now}`
  }

  const hasAny = async (userId: string): Promise<boolean> =>
    (await db.get(sql`select 1 as found from auth_known_devices where user_id = ${userId} limit 1`)) !==
    undefined

  return {
    addSql,

    async beginSql({ id }, { ip, userAgent }) {
      const now = clock.now()
      const device = await db.get(sql<{ last_used_at: number }>`
        select last_used_at from auth_known_devices
        where user_id = ${id} and device_hash = ${deviceHash(userAgent)}`)
      if (device && device.last_used_at > now - DAY_MS) return []
      const isNew = (device?.last_used_at ?? 0) <= now - KNOWN_MS && (await hasAny(id))
      const details = { device: deviceName(userAgent), ...(ip !== '' && { ip }) }
      return [addSql(id, userAgent), ...(isNew ? mails.notice(id, 'new-device', details) : [])]
    },

    async deleteOld() {
      await db.write(sql`
        delete from auth_known_devices where last_used_at <= ${clock.now() - KNOWN_MS}
          and exists (select 1 from auth_known_devices newer
            where newer.user_id = auth_known_devices.user_id and newer.last_used_at > auth_known_devices.last_used_at)`)
    },
  }
}

/** Of a user agent without its versions, so that an update of the browser is no new device. */
const deviceHash = (userAgent: string): string => sha256(userAgent.replaceAll(/[\d._]+/g, ''))
