import type { Api, CallReply } from '../../../../client/src/index.ts'
import { Badge } from '../../parts/text.tsx'

export type UserSummary = CallReply<Api, 'GET /auth/users'>['users'][number]
export type UserRole = UserSummary['role']
/** An account with all that is known of it. */
export type User = CallReply<Api, 'GET /auth/users/:id'>['user']

type Stateful = Pick<UserSummary, 'role' | 'disabled' | 'locked' | 'emailVerified'>

/** What is special about an account, in a word each. */
export const States = ({ of: { role, disabled, locked, emailVerified } }: { of: Stateful }) => (
  <>
    {role !== 'user' && <Badge tone="good">{role}</Badge>} {disabled && <Badge tone="bad">disabled</Badge>}{' '}
    {locked && <Badge tone="warning">locked</Badge>}{' '}
    {!emailVerified && !disabled && <Badge>not verified</Badge>}
  </>
)
