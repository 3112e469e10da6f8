import type { Static, TSchema } from 'typebox'

import { Type } from '../../../../base/schema.ts'
import type { Hooks } from './hooks.ts'
import { UniqueOption } from '../storage/indexes/unique-indexes.ts'
import { RelationOption } from './relation.ts'
import { FileFieldOption } from './file-field.ts'
import { SearchOption } from './search-option.ts'
import type { AccessWord } from '../language/rules/audience.ts'
import type { RuleFilter, RuleOption } from '../language/rules/rule.ts'

const Rule = Type.Unsafe<RuleOption>({
  description:
    "An audience (public, user, owner, admin), a filter such as { members: '$$user._id' }, or a list of which any may hold.",
})

/** A rule of updates: for the document as it is and as it will be, or one for both. */
export type UpdateRuleOption = RuleOption | { readonly before: RuleOption; readonly after: RuleOption }

const Paths = (description: string) =>
  Type.Optional(
    Type.Unsafe<readonly string[]>({
      type: 'array',
      items: { type: 'string' },
      description,
      examples: [['supplier.iban']],
    }),
  )

/** What the configuration says of a collection: a word for who may use it, or more. */
export const CollectionOption = Type.Union([
  // Which word it is, is checked where it is read: that error says more.
  Type.Unsafe<AccessWord>({ type: 'string' }),
  Type.Object(
    {
      read: Type.Optional(Rule),
      create: Type.Optional(Rule),
      update: Type.Optional(Type.Unsafe<UpdateRuleOption>({})),
      delete: Type.Optional(Rule),
      hidden: Paths('Fields that only administrators and service keys see and write.'),
      showTo: Type.Optional(
        Type.Unsafe<Readonly<Record<string, RuleOption>>>({
          type: 'object',
          description:
            'Fields that are shown only where a rule holds for the document; nobody else filters or sorts by them.',
        }),
      ),
      readOnly: Paths('Fields that only hooks, administrators and service keys write.'),
      schema: Type.Optional(
        Type.Unsafe<TSchema | Readonly<Record<string, unknown>>>({
          type: 'object',
          description: 'JSON Schema (2020-12) of the documents, without the fields of the server.',
        }),
      ),
      ids: Type.Optional(
        Type.Enum(['server', 'client'], {
          description:
            'client: callers who can create a document can set its _id. server: only service keys and imports can. Default: server.',
        }),
      ),
      unique: Type.Optional(UniqueOption),
      search: Type.Optional(SearchOption),
      relations: Type.Optional(Type.Record(Type.String(), RelationOption)),
      files: Type.Optional(Type.Record(Type.String(), FileFieldOption)),
      changes: Type.Optional(
        Type.Boolean({ description: 'Whether changes are logged, to be followed. Default: true.' }),
      ),
      hooks: Type.Optional(Type.Unsafe<Hooks>({ type: 'object' })),
    },
    { additionalProperties: false },
  ),
])

/** A collection as the configuration declares it. */
export type CollectionDeclaration = {
  readonly read?: RuleOption
  readonly create?: RuleOption
  readonly update?: UpdateRuleOption
  readonly delete?: RuleOption
  readonly hidden?: readonly string[]
  readonly showTo?: Readonly<Record<string, RuleOption>>
  readonly readOnly?: readonly string[]
  readonly schema?: TSchema | Readonly<Record<string, unknown>>
  readonly ids?: 'server' | 'client'
  readonly unique?: Static<typeof UniqueOption>
  readonly search?: readonly string[]
  readonly relations?: Readonly<Record<string, RelationOption>>
  readonly files?: Readonly<Record<string, FileFieldOption>>
  readonly changes?: boolean
  readonly hooks?: Hooks
}
export type CollectionOption = AccessWord | CollectionDeclaration

/** The collections of the configuration. */
export const CollectionOptions = Type.Record(Type.String(), CollectionOption, { default: {} })

/** A value of `$$user` that is read from the documents of a collection as a request begins. */
export const UserValueOption = Type.Object(
  {
    collection: Type.String(),
    filter: Type.Unsafe<RuleFilter>({
      type: 'object',
      description: "Which documents: { user: '$$user._id' }.",
    }),
    value: Type.String({
      description: 'The field whose values are taken, at most 1000.',
      examples: ['team'],
    }),
  },
  { additionalProperties: false },
)

export const UserValueOptions = Type.Record(Type.String(), UserValueOption, { default: {} })
