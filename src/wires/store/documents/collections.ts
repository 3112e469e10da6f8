import { Type } from '../../../base/schema.ts'
import type { Static } from 'typebox'

import type { Audience, Caller, RowFilter } from '../../../http/access.ts'
import type { Policy } from '../../../kernel/policy.ts'

// Words that the routes of the wire use themselves.
const RESERVED = ['upload', 'files', 'backup', 'backups', 'health', 'changes']

/** A collection's name: 1 to 64 letters, digits, `_` and `-`, a letter first, and none of the wire's own words. */
export const CollectionName = Type.String({
  pattern: `^(?!(?:${RESERVED.join('|')})$)[a-zA-Z][a-zA-Z0-9_-]{0,63}$`,
  description: 'A letter, then up to 63 letters, digits, _ and -.',
  examples: ['books'],
})

const AudienceWord = Type.Enum(['owner', 'shared', 'public-read', 'admin'])
const AudienceName = Type.Enum(['public', 'user', 'owner', 'admin'])

const Audiences = {
  read: Type.Optional(AudienceName),
  create: Type.Optional(Type.Enum(['user', 'admin'])),
  update: Type.Optional(AudienceName),
  delete: Type.Optional(AudienceName),
}

/** Who may use a collection: a word for all of it, or an audience for each action. */
export const CollectionRule = Type.Union([
  AudienceWord,
  Type.Object(Audiences, { additionalProperties: false }),
])

/** The options of a collection: who may use it, and what its documents are. */
export const CollectionOption = Type.Union([
  AudienceWord,
  Type.Object(
    {
      ...Audiences,
      /** A JSON Schema of the fields of a document, or that of TypeBox, whose type `CollectionsOf` knows. */
      schema: Type.Optional(Type.Unsafe<object>({ type: 'object' })),
    },
    { additionalProperties: false },
  ),
])
export type CollectionDeclaration = Static<typeof CollectionOption>

export type Action = 'read' | 'create' | 'update' | 'delete'
type Rules = { readonly [A in Action]?: Audience }

const WORDS: Record<string, Rules> = {
  owner: { read: 'owner', create: 'user', update: 'owner', delete: 'owner' },
  shared: { read: 'user', create: 'user', update: 'user', delete: 'user' },
  'public-read': { read: 'public', create: 'user', update: 'owner', delete: 'owner' },
  admin: { read: 'admin', create: 'admin', update: 'admin', delete: 'admin' },
}

/**
 * Which records a caller's action reaches. What the configuration declares holds under both policies; the policy decides
 * the rest.
 */
export function createAccess(policy: Policy, declared: Static<typeof CollectionRule> | undefined) {
  const rules = typeof declared === 'string' ? WORDS[declared]! : declared
  /** @throws unauthorized, forbidden */
  return (caller: Caller | undefined, action: Action): RowFilter =>
    policy.rowFilter(caller, rules?.[action] ?? (action === 'create' ? 'user' : undefined))
}

/** Which documents of a collection a caller's action reaches. */
export function createCollections(policy: Policy, declared: Record<string, CollectionDeclaration>) {
  const declaredAccess = new Map(
    Object.entries(declared).map(([name, rule]) => [name, createAccess(policy, rule)]),
  )
  const defaultAccess = createAccess(policy, undefined)
  return {
    /** @throws unauthorized, forbidden */
    rowFilter: (caller: Caller | undefined, collection: string, action: Action): RowFilter =>
      (declaredAccess.get(collection) ?? defaultAccess)(caller, action),

    /** Whether a user's lists of the collection are those of the user's own documents. */
    isByOwner(collection: string): boolean {
      const rule = declared[collection]
      const audience = typeof rule === 'string' ? WORDS[rule]!.read : rule?.read
      return audience === undefined ? policy.name === 'guarded' : audience === 'owner'
    },
  }
}

export type Collections = ReturnType<typeof createCollections>
