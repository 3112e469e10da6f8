import type { FastifyRequest } from 'fastify'

import type { RouteSpec } from './route.ts'

/** What the engine has of a route beside its schema and its handler. */
export type RouteConfig = {
  spec?: RouteSpec
  /** Whether answers may be read by pages of the origins that are configured. Default: true. */
  cors?: boolean
}

/** The specification of the route that a request is for; undefined if it is for none of a wire. */
export const specOf = ({ routeOptions }: FastifyRequest): RouteSpec | undefined =>
  (routeOptions.config as RouteConfig | undefined)?.spec
