import { StartError } from '../../base/start-error.ts'
import type { Database } from '../../db/database.ts'
import { sql } from '../../db/sql.ts'
import type { Settings } from '../config/config.ts'

type Chosen = Pick<Settings, 'policy' | 'isPolicySet'>

const isOpenByDefault = ({ policy, isPolicySet }: Chosen): boolean => policy === 'open' && !isPolicySet

const refusal = (): StartError =>
  new StartError(
    'SIXWIRE_POLICY: this database was served under "guarded", and "open" lets every signed-in user read and change ' +
      'everything in it: set NODE_ENV=production as before, or SIXWIRE_POLICY=open to open it',
  )

/**
 * Refuses to serve data under the default policy `open` if it was served under `guarded` before, for example a copy of
 * production that was restored without its environment.
 *
 * @throws StartError that names the setting
 */
export async function checkServedPolicy(db: Database, settings: Chosen): Promise<void> {
  const row = await db.get<{ policy: string }>(sql`select policy from sixwire_served_policy`)
  if (row?.policy === 'guarded' && isOpenByDefault(settings)) throw refusal()
}

/**
 * Records the policy that this server answers under. The check and the record are one statement, so that of two servers
 * that start at once none opens what the other one guards.
 *
 * @throws StartError as `checkServedPolicy` does
 */
export async function recordServedPolicy(db: Database, settings: Chosen): Promise<void> {
  const replaced = isOpenByDefault(settings) ? 'open' : 'any'
  const rows = await db.write<{ policy: string }>(
    sql`insert into sixwire_served_policy (id, policy) values (1, ${settings.policy})
        on conflict (id) do update set policy = excluded.policy
          where ${replaced} = 'any' or sixwire_served_policy.policy = ${replaced}
        returning policy`,
  )
  if (rows.length === 0) throw refusal()
}
