import type { FastifyRequest } from 'fastify'

import type { RouteSpec } from './route.ts'

/** The specification of the route that a request is for; undefined if it is for none of a wire. */
export const specOf = ({ routeOptions }: FastifyRequest): RouteSpec | undefined =>
  (routeOptions.config as { spec?: RouteSpec } | undefined)?.spec
