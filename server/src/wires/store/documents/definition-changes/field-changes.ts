import { isDeepStrictEqual } from 'node:util'

import type { Static } from 'typebox'

import { invalid, type Issue } from '../../../../base/errors.ts'
import { Type } from '../../../../base/schema.ts'
import type { CollectionDeclaration } from '../definition/collection-option.ts'
import { SERVICE_FIELDS, type Fields } from '../language/document-json.ts'

const CHANGES_MAX = 100

const FieldName = Type.String({
  minLength: 1,
  maxLength: 200,
  pattern: '^[^.$][^.]*$',
  description: 'A field of the document itself, not one inside of another.',
})

/** A change of a field in all documents of a collection. */
export const FieldMigration = Type.Union(
  [
    Type.Object(
      { rename: Type.Object({ from: FieldName, to: FieldName }, { additionalProperties: false }) },
      { additionalProperties: false, description: 'Moves the value; one that is in `to` already goes.' },
    ),
    Type.Object({ drop: FieldName }, { additionalProperties: false, description: 'Removes the field.' }),
    Type.Object(
      { default: Type.Object({ field: FieldName, value: Type.Unknown() }, { additionalProperties: false }) },
      { additionalProperties: false, description: 'Sets the field where it is not there.' },
    ),
  ],
  { title: 'FieldMigration' },
)
export type FieldMigration = Static<typeof FieldMigration>

export const FieldChanges = Type.Array(FieldMigration, {
  maxItems: CHANGES_MAX,
  description:
    'Changes of the documents that are there, before the definition is in force. First fields are renamed and dropped, then missing ones are set.',
  examples: [[{ rename: { from: 'title', to: 'name' } }, { drop: 'isbn' }]],
})

/** What a change has taken out of a document: what undoing it needs. */
type Kept = { readonly before?: unknown; readonly after?: unknown }

/** By the number of the change; a change that did nothing to the document has none. */
export type KeptFields = Readonly<Record<number, Kept>>

/**
 * Changes the fields of a document. Done twice it is as done once.
 *
 * @param old what was kept of the document before: somebody may have written the old fields again since
 */
export function changeFields(
  fields: Fields,
  changes: readonly FieldMigration[],
  old: KeptFields = {},
): { fields: Fields; kept: KeptFields } {
  const kept: Record<number, Kept> = { ...old }
  let next = fields
  for (const [i, change] of inOrder(changes))
    if ('rename' in change) {
      const { from, to } = change.rename
      if (!Object.hasOwn(next, from)) continue
      const first = old[i] ?? (Object.hasOwn(next, to) ? { before: next[to] } : {})
      kept[i] = { ...first, after: next[from] }
      next = withName(next, from, to)
    } else if ('drop' in change) {
      if (!Object.hasOwn(next, change.drop)) continue
      kept[i] = { before: next[change.drop] }
      next = without(next, change.drop)
    } else if (!Object.hasOwn(next, change.default.field)) {
      kept[i] = {}
      next = withField(next, change.default.field, change.default.value)
    }
  return { fields: next, kept }
}

/** Takes changes of a document back. What somebody has written since stays. */
export function undoFields(fields: Fields, changes: readonly FieldMigration[], kept: KeptFields): Fields {
  let next = fields
  for (const [i, change] of inOrder(changes).toReversed()) {
    const old = kept[i]
    if (!old) continue
    if ('rename' in change) next = undoRename(next, change.rename, old)
    else if ('drop' in change) {
      if (!Object.hasOwn(next, change.drop)) next = withField(next, change.drop, old.before)
    } else if (isDeepStrictEqual(next[change.default.field], change.default.value))
      next = without(next, change.default.field)
  }
  return next
}

function undoRename(fields: Fields, { from, to }: { from: string; to: string }, old: Kept): Fields {
  let next = fields
  // If somebody has written the old field again, theirs is newer than what was moved.
  if (!Object.hasOwn(fields, from)) next = Object.hasOwn(fields, to) ? withName(fields, to, from) : fields
  else if (isDeepStrictEqual(fields[to], old.after)) next = without(fields, to)
  return Object.hasOwn(old, 'before') && !Object.hasOwn(next, to) ? withField(next, to, old.before) : next
}

/** Renames and drops before defaults: what is missing is known then. */
const inOrder = (changes: readonly FieldMigration[]): [number, FieldMigration][] =>
  [...changes.entries()].toSorted(
    ([, one], [, other]) => Number('default' in one) - Number('default' in other),
  )

// A field may be named `__proto__`: entries take every name.
const without = (fields: Fields, name: string): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([key]) => key !== name))
const withField = (fields: Fields, name: string, value: unknown): Fields =>
  Object.fromEntries([...Object.entries(fields), [name, value]])
const withName = (fields: Fields, from: string, to: string): Fields =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([key, value]) =>
      key === to ? [] : [[key === from ? to : key, value] as const],
    ),
  )

/** The fields that are not there any more. */
const goneIn = (change: FieldMigration): string | undefined =>
  'rename' in change ? change.rename.from : 'drop' in change ? change.drop : undefined

/**
 * Checks that the changes can be made one document after the other, in any order, and under the definition that is in force
 * meanwhile.
 *
 * @throws VALIDATION_ERROR
 */
export function checkChanges(changes: readonly FieldMigration[], active: CollectionDeclaration | null): void {
  const issues = [...faultsOf(changes, fieldsInRules(active ?? {}))]
  if (issues.length > 0) throw invalid(...issues)
}

function* faultsOf(changes: readonly FieldMigration[], inRules: ReadonlySet<string>): Generator<Issue> {
  const [used, set] = [new Set<string>(), new Set<string>()]
  const targets = changes.flatMap((one) => ('rename' in one ? [one.rename.to] : []))
  for (const [i, change] of changes.entries()) {
    const path = `/body/documents/${i}`
    const isDefault = 'default' in change
    const names =
      'rename' in change
        ? [change.rename.from, change.rename.to]
        : 'drop' in change
          ? [change.drop]
          : [change.default.field]
    for (const name of names) {
      if (SERVICE_FIELDS.includes(name) || name.startsWith('_'))
        yield { path, message: `${name} is a field of the server: it cannot be changed` }
      const seen = isDefault ? set : used
      if (seen.has(name)) yield { path, message: `${name} is in another change already` }
      seen.add(name)
    }
    const gone = goneIn(change)
    if (gone !== undefined && inRules.has(gone))
      yield {
        path,
        message: `a rule that is in force asks for ${gone}, and would decide wrongly on documents without it: first define the collection with a rule that does not`,
      }
  }
  for (const [i, change] of changes.entries())
    if ('default' in change && used.has(change.default.field) && !targets.includes(change.default.field))
      yield { path: `/body/documents/${i}`, message: `${change.default.field} is in another change already` }
}

/** The fields that rules ask for. */
function fieldsInRules({
  read,
  create,
  update,
  delete: remove,
  showTo = {},
}: CollectionDeclaration): Set<string> {
  return new Set(
    [read, create, update, remove, ...Object.values(showTo)].flatMap((rule) => [...namesIn(rule)]),
  )
}

function* namesIn(rule: unknown): Generator<string> {
  if (typeof rule !== 'object' || rule === null) return
  if (Array.isArray(rule)) for (const one of rule) yield* namesIn(one)
  else
    for (const [key, value] of Object.entries(rule)) {
      // The keys of two rules of updates may be fields as well.
      if (key.startsWith('$') || key === 'before' || key === 'after') yield* namesIn(value)
      if (!key.startsWith('$')) yield key.split('.')[0]!
    }
}
