import type { Static } from 'typebox'

import { Type } from '../../../../../base/schema.ts'
import type { Database, ScanOptions } from '../../../../../db/database.ts'
import type { PolicyName } from '../../../../../kernel/policy/policy.ts'
import { parseFileFields } from '../../definition/file-field.ts'
import { HOOK_NAMES } from '../../definition/hooks.ts'
import { selectIndexesOfSql } from '../../storage/sql/index-rows.ts'
import { DocumentIndex, shownIndex } from '../../storage/indexes/shown-index.ts'
import { ACCESS_WORDS, audienceOf, type Action } from '../../language/rules/audience.ts'
import { selectBytesSql, selectStoredSql } from '../../storage/sql/document-rows.ts'
import type { CollectionDeclaration, CollectionOption } from '../../definition/collection-option.ts'

const Rule = (description: string) => Type.Unknown({ description, examples: ['owner'] })
const Paths = (description: string) => Type.Array(Type.String(), { description })

/** A collection as operators see it. */
export const CollectionOverview = Type.Object(
  {
    name: Type.String({ examples: ['books'] }),
    declared: Type.Boolean({
      description: 'Whether it is defined, in the configuration or by a call; if not, the policy decides.',
    }),
    source: Type.Enum(['configuration', 'stored', 'none'], {
      description: 'Where it is defined: `stored` by `PUT /store/collections/:name`.',
    }),
    rules: Type.Object(
      {
        read: Rule('An audience, a filter, or a list of them, of which any may hold.'),
        create: Rule('Likewise.'),
        update: Rule('Likewise, or one for the document before the change and one for it after.'),
        delete: Rule('Likewise.'),
      },
      { description: 'As configured; what is not configured is that of the policy.' },
    ),
    hidden: Paths('Fields that only administrators and service keys see.'),
    showTo: Type.Record(Type.String(), Type.Unknown(), {
      description: 'Fields with the rule of who sees them.',
    }),
    readOnly: Paths('Fields that only hooks, administrators and service keys write.'),
    schema: Type.Boolean({ description: 'Whether documents are checked by a JSON Schema.' }),
    ids: Type.Enum(['server', 'client'], {
      description: 'Whether clients may send the _id of a document that they create.',
    }),
    unique: Type.Array(Type.Object({ fields: Type.Array(Type.String()), ignoreCase: Type.Boolean() }), {
      description: 'Fields of which no two documents have the same values.',
    }),
    search: Paths('Fields that searches look into.'),
    relations: Type.Record(
      Type.String(),
      Type.Object({ to: Type.String(), onDelete: Type.Enum(['restrict', 'unset', 'cascade']) }),
      { description: 'Fields that hold the _id of another document.' },
    ),
    files: Type.Record(
      Type.String(),
      Type.Object({
        types: Type.Optional(Type.Array(Type.String(), { description: 'Absent: all media types.' })),
        maxBytes: Type.Optional(Type.Integer({ description: 'Absent: as large as uploads may be.' })),
        max: Type.Integer({ description: 'How many files it takes; with 1 its value is no array.' }),
        access: Type.Enum(['document', 'public']),
      }),
      { description: 'Fields that hold the _id of files.' },
    ),
    changes: Type.Boolean({ description: 'Whether changes are logged, and can be followed.' }),
    hooks: Type.Array(Type.Enum(HOOK_NAMES)),
    documents: Type.Integer({ description: 'How many documents it has.' }),
    bytes: Type.Optional(
      Type.Integer({ description: 'The bytes of its documents as JSON, without indexes; with sizes=true.' }),
    ),
    indexes: Type.Array(DocumentIndex),
  },
  { title: 'CollectionOverview' },
)
export type CollectionOverview = Static<typeof CollectionOverview>

/** What collections are defined, and which of them by the configuration. */
export type DeclaredCollections = {
  readonly declared: Readonly<Record<string, CollectionOption>>
  readonly configured: Readonly<Record<string, CollectionOption>>
}

const sourceOf = ({ declared, configured }: DeclaredCollections, name: string) =>
  Object.hasOwn(configured, name) ? 'configuration' : Object.hasOwn(declared, name) ? 'stored' : 'none'

/** Which collections are asked for. */
export type OverviewQuery = {
  readonly limit: number
  /** The name behind which they begin. */
  readonly after?: string | undefined
  /** Whether the bytes of their documents are added up. */
  readonly sizes: boolean
}

/**
 * Reads the collections that are declared or have documents, in the order of their names.
 *
 * @throws UNAVAILABLE if adding up bytes takes too long
 */
export async function readOverview(
  db: Database,
  { declared, configured }: DeclaredCollections,
  policy: PolicyName,
  { limit, after = '', sizes }: OverviewQuery,
  options?: ScanOptions,
): Promise<{ data: CollectionOverview[]; nextCursor?: string }> {
  const stored = await db.scan(selectStoredSql(after, limit + 1), options)
  const counts = new Map(stored.map(({ collection, documents }) => [collection, documents]))
  const names = [...new Set([...Object.keys(declared).filter((name) => name > after), ...counts.keys()])]
    .toSorted()
    .slice(0, limit + 1)
  const page = names.slice(0, limit)
  const indexes = Map.groupBy(await db.all(selectIndexesOfSql(page)), ({ collection }) => collection)
  const measured = sizes ? await db.scan(selectBytesSql(page), options) : []
  const bytes = new Map(measured.map((row) => [row.collection, row.bytes]))
  return {
    data: page.map((name) => ({
      name,
      declared: Object.hasOwn(declared, name),
      source: sourceOf({ declared, configured }, name),
      ...declarationOf(declared[name], policy),
      documents: counts.get(name) ?? 0,
      ...(sizes && { bytes: bytes.get(name) ?? 0 }),
      indexes: (indexes.get(name) ?? []).map(shownIndex),
    })),
    ...(names.length > limit && { nextCursor: page.at(-1)! }),
  }
}

function declarationOf(option: CollectionOption = {}, policy: PolicyName) {
  const declared: CollectionDeclaration = typeof option === 'string' ? ACCESS_WORDS[option] : option
  const ruleOf = (action: Action): unknown => declared[action] ?? audienceOf(policy, action)
  const {
    hidden = [],
    showTo = {},
    readOnly = [],
    ids = 'server',
    unique = [],
    search = [],
    relations = {},
    files = {},
    changes = true,
    hooks = {},
  } = declared
  return {
    rules: {
      read: ruleOf('read'),
      create: ruleOf('create'),
      update: ruleOf('update'),
      delete: ruleOf('delete'),
    },
    hidden: [...hidden],
    showTo,
    readOnly: [...readOnly],
    schema: declared.schema !== undefined,
    ids,
    unique: unique.map((one) =>
      typeof one === 'object' && 'fields' in one
        ? { fields: [...one.fields], ignoreCase: one.ignoreCase ?? false }
        : { fields: [one].flat(), ignoreCase: false },
    ),
    search: [...search],
    relations: Object.fromEntries(
      Object.entries(relations).map(([field, { to, onDelete = 'restrict' }]) => [field, { to, onDelete }]),
    ),
    files: Object.fromEntries(
      parseFileFields(files, '', [], '').map(({ path, types, maxBytes, max, isPublic }) => [
        path.join('.'),
        {
          ...(types && { types: [...types] }),
          ...(maxBytes !== Infinity && { maxBytes }),
          max,
          access: isPublic ? ('public' as const) : ('document' as const),
        },
      ]),
    ),
    changes,
    hooks: HOOK_NAMES.filter((name) => hooks[name] !== undefined),
  }
}
