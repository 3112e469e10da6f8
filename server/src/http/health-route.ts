import type { Static, TObject, TSchema } from 'typebox'

import { Type } from '../base/schema.ts'
import { succeedsWithin } from '../base/within.ts'
import { answer, route, type RouteKey, type RouteLimit } from './route.ts'

const LONGEST_WAIT_MS = 2_000

const Status = Type.Enum(['healthy', 'unhealthy'])

export type HealthStatus = 'healthy' | 'unhealthy'

/** The status of a health route: `healthy` if the check resolves within two seconds. */
export const healthStatus = async (check: () => Promise<unknown>): Promise<HealthStatus> =>
  (await succeedsWithin(LONGEST_WAIT_MS, check)) ? 'healthy' : 'unhealthy'

/**
 * A public health route: 200 if the status is `healthy`, else 503, or always 200.
 *
 * @example
 * healthRoute(
 *   'GET /loyalty/health',
 *   { title: 'LoyaltyHealth', summary: 'Check whether points can be collected', fields: {} },
 *   async () => ({ status: await healthStatus(() => db.ping()) }),
 * )
 *
 * @param options.title the name of the answer's schema
 * @param options.fields schemas of what is answered beside `status`
 * @param options.isAlways200 whether it answers 200 if the status is `unhealthy` too, because what it reports on is outside
 *   of this server, which can do its other work
 * @param options.countedIn `process` if the route must answer while the database is unavailable
 */
export function healthRoute<const K extends RouteKey, F extends Record<string, TSchema>>(
  key: K,
  options: {
    title: string
    summary: string
    fields: F
    countedIn?: RouteLimit['countedIn']
    isAlways200?: boolean
  },
  read: () => Promise<{ status: HealthStatus } & Static<TObject<F>>>,
) {
  const { title, summary, fields, countedIn = 'database', isAlways200 = false } = options
  const Health = Type.Object({ status: Status, ...fields }, { title })
  const reply: Record<number, typeof Health> = isAlways200 ? { 200: Health } : { 200: Health, 503: Health }
  const limit: RouteLimit = { rate: '600/min', countedIn }
  return route(key, { summary, access: 'public', limit, reply }, async () => {
    const health = await read()
    return answer(health as never, { status: isAlways200 || health.status === 'healthy' ? 200 : 503 })
  })
}
