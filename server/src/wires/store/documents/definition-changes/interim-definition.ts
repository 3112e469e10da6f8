import { isDeepStrictEqual } from 'node:util'

import type { CollectionDeclaration } from '../definition/collection-option.ts'
import { isInside } from '../language/fields/field-path.ts'
import type { FieldMigration } from './field-changes.ts'

/**
 * The definition that is in force while documents are changed one after the other: the rules of the one before, and all that
 * protects fields of both, since a document may have the old fields or the new ones.
 */
export function interimDefinition(
  before: CollectionDeclaration,
  after: CollectionDeclaration,
  changes: readonly FieldMigration[],
): CollectionDeclaration {
  const names = new Map(changes.flatMap((one) => ('rename' in one ? [[one.rename.from, one.rename.to]] : [])))
  const renamed = (path: string): string => {
    const [first = '', ...rest] = path.split('.')
    return [names.get(first) ?? first, ...rest].join('.')
  }
  // What nobody was shown is not shown under its new name, until the definition that says so is in force.
  const shown = Object.entries(before.showTo ?? {}).map(([path, rule]) => [renamed(path), rule] as const)
  const { schema: _, ...others } = protectedBy(before, {
    ...after,
    hidden: [...(after.hidden ?? []), ...(before.hidden ?? []).map(renamed)],
    showTo: { ...after.showTo, ...Object.fromEntries(shown) },
    readOnly: [...(after.readOnly ?? []), ...(before.readOnly ?? []).map(renamed)],
  })
  const unique = [...(before.unique ?? []), ...(after.unique ?? [])]
  return {
    ...others,
    // A document fits one of the two: see `alsoFits`.
    ...(before.schema && after.schema && { schema: before.schema }),
    ...(unique.length > 0 && {
      unique: unique.filter((one, i) => unique.findIndex((other) => isDeepStrictEqual(one, other)) === i),
    }),
  }
}

/**
 * A definition with what protects fields in another one: a document of the other one may be written a moment longer, by a server
 * that has not heard of this one yet.
 */
export function protectedBy(
  definition: CollectionDeclaration,
  other: CollectionDeclaration,
): CollectionDeclaration {
  const { hidden, showTo } = concealedBy(definition, other)
  const readOnly = [...new Set([...(definition.readOnly ?? []), ...(other.readOnly ?? [])])]
  const relations = { ...other.relations, ...definition.relations }
  const files = { ...other.files, ...definition.files }
  const concealed = [...hidden, ...Object.keys(showTo)]
  const search = definition.search?.filter((path) => !concealed.some((one) => overlap(path, one)))
  const { search: _, ...others } = definition
  return {
    ...others,
    ...(hidden.length > 0 && { hidden }),
    ...(Object.keys(showTo).length > 0 && { showTo }),
    ...(readOnly.length > 0 && { readOnly }),
    ...(Object.keys(relations).length > 0 && { relations }),
    ...(Object.keys(files).length > 0 && { files }),
    ...(search && search.length > 0 && { search }),
  }
}

const overlap = (one: string, other: string): boolean =>
  isInside(one.split('.'), other.split('.')) || isInside(other.split('.'), one.split('.'))

/** The fields that are hidden in one of two definitions. Where they show a field to different callers, it is hidden. */
function concealedBy(one: CollectionDeclaration, other: CollectionDeclaration) {
  const shown = [...Object.entries(one.showTo ?? {}), ...Object.entries(other.showTo ?? {})]
  const hidden = [...(one.hidden ?? []), ...(other.hidden ?? [])]
  const agrees = ([path, rule]: (typeof shown)[number]): boolean =>
    !hidden.some((hiddenPath) => overlap(path, hiddenPath)) &&
    shown.every(
      ([otherPath, otherRule]) =>
        !overlap(path, otherPath) || (path === otherPath && isDeepStrictEqual(rule, otherRule)),
    )
  const showTo = Object.fromEntries(shown.filter(agrees))
  hidden.push(...shown.filter((entry) => !agrees(entry)).map(([path]) => path))
  // Only the outermost: no path is inside of another one.
  const outermost = [...new Set(hidden)].filter(
    (path, _, all) => !all.some((wider) => wider !== path && isInside(path.split('.'), wider.split('.'))),
  )
  return { hidden: outermost, showTo }
}
