import { isoTime, type Clock } from '../../../../base/clock.ts'
import { errors } from '../../../../base/errors.ts'
import type { Logger } from '../../../../base/logger.ts'
import type { Database } from '../../../../db/database.ts'
import { sql } from '../../../../db/sql.ts'
import type { OwnFactors } from '../../factors/own-factors.ts'
import type { Users } from '../../accounts/users.ts'
import type { PasskeyChallenges } from './passkey-challenges.ts'
import type { Passkey } from './passkey-schemas.ts'
import type { RelyingParty } from './relying-party.ts'

/** A row of `auth_passkeys`. */
export type PasskeyRow = {
  id: string
  credential_id: string
  user_id: string
  public_key: string
  counter: number
  transports: string
  name: string
  aaguid: string
  is_synced: number
  is_user_verified: number
  created_at: number
  last_used_at: number | null
}

/** What the functions of passkeys use. */
export type PasskeyParts = {
  db: Database
  clock: Clock
  log: Logger
  /** Undefined: passkeys are not offered. */
  relyingParty: RelyingParty | undefined
  challenges: PasskeyChallenges
  users: Users
  ownFactors: OwnFactors
}

/** How long a browser waits for its user, in milliseconds: as long as a challenge is current. */
export const TIMEOUT_MS = 300_000

export const passkeyOf = (row: PasskeyRow): Passkey => ({
  _id: row.id,
  name: row.name,
  createdAt: isoTime(row.created_at),
  ...(row.last_used_at !== null && { lastUsedAt: isoTime(row.last_used_at) }),
  synced: row.is_synced === 1,
})

/** @throws PROVIDER_NOT_CONFIGURED with what to set */
export function requireRelyingParty({ relyingParty }: PasskeyParts): RelyingParty {
  if (relyingParty) return relyingParty
  throw errors.provider_not_configured({
    message:
      'Passkeys need a domain name: set APP_URL to the https address of your pages, or auth.passkeys in the configuration.',
  })
}

/** The passkeys of an account, oldest first. */
export const passkeysOf = ({ db }: PasskeyParts, userId: string): Promise<readonly PasskeyRow[]> =>
  db.all(sql<PasskeyRow>`select * from auth_passkeys where user_id = ${userId} order by created_at, id`)

/** Passkeys as options for a browser name them. */
export const descriptorsOf = (rows: readonly PasskeyRow[]) =>
  rows.map(({ credential_id, transports }) => ({
    id: credential_id,
    type: 'public-key' as const,
    transports: JSON.parse(transports) as string[],
  }))

/** The account as authenticators store it: its id, which tells nobody who it is. */
export const userHandleOf = (userId: string): string => Buffer.from(userId).toString('base64url')
