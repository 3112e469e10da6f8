import { errors } from '../../../../../base/errors.ts'
import type { Caller, UserCaller } from '../../../../../http/access.ts'
import type { Account, Accounts } from '../../../../auth/index.ts'
import type { DecisionRequest, StoredDecision } from './decide-stored.ts'

/** An account by its address or its `_id`; `key` is a service key of the store, null a stranger. */
export type Asker = string | null

/** Decides for callers as the routes know them. */
export type DecideStored = (request: DecisionRequest) => Promise<StoredDecision>

export type DecisionContext = {
  readonly decide: DecideStored
  /** Undefined without the wire auth. */
  readonly accounts: Pick<Accounts, 'find'> | undefined
}

/**
 * Decides for an account, without a request of it.
 *
 * @throws NOT_FOUND if there is no such account; PROVIDER_NOT_CONFIGURED without the wire auth
 */
export async function decideFor(
  { decide, accounts }: DecisionContext,
  asker: Asker,
  request: Omit<DecisionRequest, 'caller'>,
): Promise<StoredDecision> {
  if (asker === null) return decide({ ...request, caller: undefined })
  if (asker === 'key') return decide({ ...request, caller: KEY })
  if (!accounts)
    throw errors.provider_not_configured({ message: 'The wire auth, which has the accounts, is not loaded.' })
  const account = await accounts.find(asker.includes('@') ? asker : { id: asker })
  if (!account) throw errors.not_found({ message: `no account has the address ${asker}` })
  return account.disabled ? disabled(account) : decide({ ...request, caller: callerOf(account) })
}

const KEY: Caller = { kind: 'key', id: '', scopes: ['store'] }

const callerOf = ({ id, email, emailVerified, role }: Account): UserCaller => ({
  kind: 'user',
  id,
  email,
  emailVerified,
  role,
  sessionId: '',
})

const disabled = ({ email }: Account): StoredDecision => ({
  decision: {
    allowed: false,
    step: 'signed-in',
    status: 401,
    code: 'UNAUTHORIZED',
    message: `The account is disabled: it cannot sign in. sixwire user enable ${email}`,
  },
  rule: undefined,
  isThere: false,
})
