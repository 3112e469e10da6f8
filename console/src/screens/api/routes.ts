import { describedRoutes, type DescribedRoute, type RouteDescription } from '../../code/route-calls.ts'
import { serverUrl, six } from '../../parts/session.ts'

/** What no type knows: the description of all routes is none of them. */
type Describing = {
  call(route: 'GET /openapi.json', input: { signal: AbortSignal }): Promise<RouteDescription>
}

/** All routes of the server, those of the application's own wires too. */
export const loadRoutes = async (signal: AbortSignal): Promise<readonly DescribedRoute[]> =>
  describedRoutes(await (six as unknown as Describing).call('GET /openapi.json', { signal }), serverUrl)
