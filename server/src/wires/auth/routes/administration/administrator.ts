import { errors } from '../../../../base/errors.ts'
import type { Caller, UserCaller } from '../../../../http/access.ts'

/**
 * For what only an administrator does: a service key could otherwise give itself more rights.
 *
 * @throws FORBIDDEN for a service key
 */
export function requireAdministrator(caller: Caller): UserCaller {
  if (caller.kind === 'user') return caller
  throw errors.forbidden({
    message: 'A service key may not do this: sign in as an administrator, or use the command line.',
  })
}
