import { isoTime } from '../../../base/clock.ts'
import { parseJson } from '../../../base/json.ts'
import { sql } from '../../../db/sql.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import type { Role, UserRow } from './user.ts'

export type UserEvents = ReturnType<typeof defineUserEvents>

/** The events `auth.user.created`, `.updated` and `.deleted`. */
export const defineUserEvents = (events: WireContext['events'], roleOf: (user: EventRow) => Role) =>
  events.define('auth.user', {
    verbs: ['created', 'updated', 'deleted'],
    table: sql.literal('auth_users'),
    columns: EVENT_COLUMNS,
    data: (user: EventRow) => publicUserOf(user, roleOf(user)),
  })

const EVENT_COLUMNS = [
  'id',
  'email',
  'email_key',
  'name',
  'metadata',
  'role',
  'is_viewer',
  'email_verified_at',
  'disabled_at',
  'created_at',
] as const
export type EventRow = Pick<UserRow, (typeof EVENT_COLUMNS)[number]>

/** An account as events have it: no hash of a password, and nothing that opens the account. */
const publicUserOf = (user: EventRow, role: Role) => ({
  _id: user.id,
  email: user.email,
  ...(user.name !== null && { name: user.name }),
  metadata: parseJson(user.metadata) as Record<string, unknown>,
  role,
  emailVerified: user.email_verified_at !== null,
  disabled: user.disabled_at !== null,
  createdAt: isoTime(user.created_at),
})
