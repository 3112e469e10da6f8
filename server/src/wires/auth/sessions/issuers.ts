import { newId } from '../../../base/ids.ts'
import { sql } from '../../../db/sql.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'

export type Issuers = {
  /** Stores the issuer of this server, and creates the id of the installation. */
  start(): Promise<void>
  /** The issuer of the tokens that this server signs. */
  own(): string
  /** Whether servers on this database sign as this issuer. */
  includes(issuer: string): Promise<boolean>
}

/**
 * The issuers of access tokens: `PUBLIC_URL` of each server on the database, and an id of the installation for those
 * that have none. A server accepts the tokens of all of them, and not those that a copy of the database issues.
 */
export function createIssuers(
  { db, clock }: Pick<WireContext, 'db' | 'clock'>,
  { publicUrl }: { publicUrl: string | undefined },
): Issuers {
  let own: string | undefined
  let stored: ReadonlySet<string> = new Set()

  async function read(): Promise<void> {
    const rows = await db.all(
      sql<{ issuer: string; installation: number | null }>`select issuer, installation from auth_issuers`,
    )
    own = publicUrl ?? rows.find(({ installation }) => installation !== null)?.issuer
    stored = new Set(rows.map(({ issuer }) => issuer))
  }

  return {
    async start() {
      await db.write(sql`
        insert into auth_issuers (issuer, installation) values (${newId(clock.now())}, 1)
        on conflict (installation) do nothing`)
      if (publicUrl !== undefined)
        await db.write(sql`
          insert into auth_issuers (issuer, installation) values (${publicUrl}, null)
          on conflict (issuer) do nothing`)
      await read()
    },

    own() {
      if (own === undefined) throw new Error('the issuers were not read')
      return own
    },

    async includes(issuer) {
      if (!stored.has(issuer)) await read()
      return stored.has(issuer)
    },
  }
}
