import type { FastifyRequest } from 'fastify'

import type { Caller } from './access.ts'
import type { InFlight } from './in-flight.ts'

/** A request with its caller, between the hook that admits it and its handler. */
export type AdmittedRequest = FastifyRequest & {
  caller: Caller | undefined
  /** Resolves to the caller, if `caller` is only the last one of this token. */
  authentication: Promise<Caller | undefined> | undefined
  /** What it counts for, and what it takes of the limits of the process. */
  flight: InFlight
}
