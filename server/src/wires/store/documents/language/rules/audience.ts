import type { Static } from 'typebox'

import { errors } from '../../../../../base/errors.ts'
import type { RowFilter } from '../../../../../base/row-filter.ts'
import { Type } from '../../../../../base/schema.ts'
import type { Audience, Caller } from '../../../../../http/access.ts'
import type { Policy } from '../../../../../kernel/policy/policy.ts'

export type Action = 'read' | 'create' | 'update' | 'delete'

/** A word for all actions. */
export const AccessWord = Type.Enum(['owner', 'shared', 'public-read', 'admin'])
export type AccessWord = Static<typeof AccessWord>

const AudienceName = Type.Enum(['public', 'user', 'owner', 'admin'])

/** Who may use files: a word for all actions, or an audience for each. */
export const AccessRule = Type.Union([
  AccessWord,
  Type.Object(
    {
      read: Type.Optional(AudienceName),
      create: Type.Optional(Type.Enum(['user', 'admin'])),
      update: Type.Optional(AudienceName),
      delete: Type.Optional(AudienceName),
    },
    { additionalProperties: false },
  ),
])

/** What the words stand for. */
export const ACCESS_WORDS: Readonly<Record<AccessWord, Readonly<Record<Action, Audience>>>> = {
  owner: { read: 'owner', create: 'user', update: 'owner', delete: 'owner' },
  shared: { read: 'user', create: 'user', update: 'user', delete: 'user' },
  'public-read': { read: 'public', create: 'user', update: 'owner', delete: 'owner' },
  admin: { read: 'admin', create: 'admin', update: 'admin', delete: 'admin' },
}

/** Who may do what nothing declares. */
export const audienceOf = (policy: Policy['name'], action: Action): Audience =>
  action === 'create' || policy === 'open' ? 'user' : 'owner'

/**
 * Which records a caller may see or change. What the configuration declares holds under both policies; the policy decides
 * the rest.
 */
export function createAccess(
  { policy }: { policy: Policy },
  { declared }: { declared: Static<typeof AccessRule> | undefined },
) {
  const rules: Partial<Record<Action, Audience>> | undefined =
    typeof declared === 'string' ? ACCESS_WORDS[declared] : declared
  /** @throws unauthorized, forbidden */
  return (caller: Caller | undefined, action: Action): RowFilter =>
    policy.rowFilter(caller, rules?.[action] ?? audienceOf(policy.name, action))
}

/** A caller of another role than the action takes. */
export const needsAdmin = () => errors.forbidden({ message: 'This requires the role "admin".' })
