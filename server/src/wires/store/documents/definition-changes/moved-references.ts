import type { Step } from '../../../../db/database.ts'
import type { CollectionDefinition } from '../definition/collection.ts'
import type { FileField } from '../definition/file-field.ts'
import { referencesIn, type Relation } from '../definition/relation.ts'
import { moveFilesSteps } from '../file-fields/attach-files.ts'
import type { Fields } from '../language/document-json.ts'
import { lockAllSql } from '../storage/sql/document-rows.ts'
import type { FieldMigration } from './field-changes.ts'

/** A field, and the one that its value goes to. */
export type MovedField = { readonly from: string; readonly to: string }

export const movesOf = (changes: readonly FieldMigration[]): MovedField[] =>
  changes.flatMap((one) => ('rename' in one ? [one.rename] : []))

/**
 * The steps in front of a write that moves references to other fields: what they lead to is kept until the commit, as for new ones,
 * and who reads a file by its document does so by the new field. Files that the old field had not taken stay as they are: a value of
 * a plain field is what its writer likes.
 *
 * @param documents as they will be
 */
export function moveSteps(
  { relations, fileFields }: Pick<CollectionDefinition, 'relations' | 'fileFields'>,
  moves: readonly MovedField[],
  documents: readonly Fields[],
): Step[] {
  const idsIn = (field: Pick<Relation, 'path'>): string[] =>
    documents.flatMap((fields) =>
      [...referencesIn(fields, field)].flatMap(({ value }) => (typeof value === 'string' ? [value] : [])),
    )
  const isMoved = ({ path: [first] }: Pick<Relation, 'path'>): boolean => moves.some(({ to }) => to === first)
  const referred = relations
    .filter(isMoved)
    .flatMap((relation) => idsIn(relation).map((id) => ({ collection: relation.to, id })))
  const files = fileFields.filter(isMoved).flatMap((to) => {
    const from = fieldBefore(to, moves, fileFields)
    return from ? [{ from, to, ids: idsIn(to) }] : []
  })
  return [...(referred.length > 0 ? [lockAllSql(referred)] : []), ...moveFilesSteps(files)]
}

function fieldBefore(
  { path: [first, ...rest] }: FileField,
  moves: readonly MovedField[],
  fileFields: readonly FileField[],
): FileField | undefined {
  const names = moves.filter(({ to }) => to === first).map(({ from }) => [from, ...rest].join('.'))
  return fileFields.find(({ path }) => names.includes(path.join('.')))
}
