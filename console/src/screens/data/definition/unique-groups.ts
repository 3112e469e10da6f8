/* The fields of a definition that are unique together. */
import { isObject, listAt, type DefinitionValue } from './field-types.ts'

/** The names of a unique group: a text, a list, or an object with `fields`. */
export function namesOf(group: unknown): readonly unknown[] {
  if (typeof group === 'string') return [group]
  return Array.isArray(group) ? group : isObject(group) ? listAt(group, 'fields') : []
}

/** Fields of which no two documents have the same values together; `at` is their place in the option. */
export type UniqueGroup = { readonly at: number; readonly paths: string[]; readonly ignoresCase: boolean }

export const groupsOf = (definition: DefinitionValue): UniqueGroup[] =>
  listAt(definition, 'unique').flatMap((group, at) => {
    const paths = namesOf(group).map(String)
    return paths.length > 1
      ? [{ at, paths, ignoresCase: isObject(group) && group['ignoreCase'] === true }]
      : []
  })

export function withoutGroup(definition: DefinitionValue, at: number): DefinitionValue {
  const next = listAt(definition, 'unique').toSpliced(at, 1)
  const { unique: _, ...rest } = definition
  return next.length === 0 ? rest : { ...definition, unique: next }
}

export const withGroup = (
  definition: DefinitionValue,
  { paths, ignoresCase }: Omit<UniqueGroup, 'at'>,
): DefinitionValue => ({
  ...definition,
  unique: [...listAt(definition, 'unique'), ignoresCase ? { fields: paths, ignoreCase: true } : paths],
})
