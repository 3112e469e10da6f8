import type { FastifyRequest } from 'fastify'

import type { Caller } from './access.ts'
import type { RouteAddress } from './addresses.ts'
import type { Share } from './shares.ts'

/** A request with its caller, between the hook that admits it and its handler. */
export type AdmittedRequest = FastifyRequest & {
  caller: Caller | undefined
  /** Resolves to the caller, if `caller` is only the last one of this token. */
  authentication: Promise<Caller | undefined> | undefined
  /** What it takes of the limits of the process; undefined before its caller is known, and of routes without limits. */
  share: Share | undefined
  /** Ends what counts the call as one that is under way, if it has not ended. */
  settle: (status: number) => void
  /** The code of the error that was answered, for the log. */
  errorCode: string | undefined
  /** The address of its path, if that does not answer its method. */
  address: RouteAddress | undefined
}
