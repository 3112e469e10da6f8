import { Type } from '../../../base/schema.ts'
import { bearerToken } from '../../../http/bearer-token.ts'
import type { UserCaller } from '../../../http/access.ts'
import type { Sessions } from '../sessions/sessions.ts'

/** The headers of a public call that may have an access token. */
export const OptionalToken = Type.Object({
  authorization: Type.Optional(
    Type.String({ description: 'An access token of the account; any other is ignored.' }),
  ),
})

/** The caller by an optional token: undefined without one, and, unlike with `access: 'optional'`, also if it is not valid. */
export async function optionalCaller(
  sessions: Pick<Sessions, 'caller'>,
  { authorization = '' }: { authorization?: string | undefined },
): Promise<UserCaller | undefined> {
  const token = bearerToken(authorization)
  return token === undefined ? undefined : sessions.caller(token)
}
