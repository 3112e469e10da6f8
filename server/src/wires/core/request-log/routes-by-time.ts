import { leastIdOf } from '../../../base/ids.ts'
import type { Database } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'

/** How many of the newest requests are looked at, so that no range costs more. */
export const LOOKED_AT_MAX = 20_000
const ROUTES_MAX = 20

/** How long a route takes. */
export type RouteTime = {
  method: string
  route: string
  requests: number
  /** Of the requests: with a status of 5xx. */
  failures: number
  meanMs: number
  maxMs: number
}

/** The routes that take longest, by the newest requests in the log since a time; at most 20. */
export async function slowestRoutes(db: Database, since: number): Promise<RouteTime[]> {
  const rows = await db.scan<RouteTime & { us: number; most: number }>(sql`
    select method, route, count(*) as requests, sum(case when status >= 500 then 1 else 0 end) as failures,
      cast(avg(us) as bigint) as us, max(us) as most
    from (
      select method, route, status, us, caller_kind from sixwire_log
      where id >= ${leastIdOf(since)} order by id desc limit ${LOOKED_AT_MAX}) as newest
    where route is not null and route not like '/console%' and route not like '/core/%' and coalesce(caller_kind, '') <> 'console'
    group by method, route order by us desc, method, route limit ${ROUTES_MAX}`)
  return rows.map(({ method, route, requests, failures, us, most }) => ({
    method,
    route,
    requests,
    failures,
    meanMs: Math.round(us / 100) / 10,
    maxMs: Math.round(most / 100) / 10,
  }))
}
