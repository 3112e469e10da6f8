import type { CollectionDeclaration } from '../../wires/store/index.ts'
import type { PocketbaseCollection } from './pocketbase-data.ts'

const INDEX =
  /^\s*create\s+unique\s+index\s+(?:if\s+not\s+exists\s+)?\S+\s+on\s+\S+?\s*\(([^()]*)\)\s*(?:where\s+(.*?))?\s*;?\s*$/is
const COLUMN = /^\s*[`"[]?(\w+)[`"\]]?(\s+collate\s+nocase)?(?:\s+(?:asc|desc))?\s*$/i
const NOT_EMPTY = /^[`"[]?(\w+)[`"\]]?\s*(?:!=|<>)\s*(?:''|"")$/

/** Which fields of a collection are unique, by its indexes. */
export function uniqueOf(collection: PocketbaseCollection): {
  unique: NonNullable<CollectionDeclaration['unique']>
  /** Fields whose empty texts are not compared: they are left out. */
  optional: ReadonlySet<string>
  notes: string[]
} {
  const fields = new Map(collection.fields.filter(({ system }) => !system).map((one) => [one.name, one]))
  const unique: NonNullable<CollectionDeclaration['unique']> = []
  const optional = new Set<string>()
  const notes: string[] = []
  for (const text of collection.indexes.filter((one) => /^\s*create\s+unique\b/i.test(one))) {
    const [, columns = '', condition] = INDEX.exec(text) ?? []
    const read = columns.split(',').map((column) => COLUMN.exec(column) ?? [])
    const names = read.map(([, name = '']) => name)
    // Those of an account are kept unique by accounts.
    if (collection.type === 'auth' && names.some((name) => name === 'tokenKey' || name === 'email')) continue
    const [, notEmpty] = (condition !== undefined && NOT_EMPTY.exec(condition)) || []
    const hidden = names.filter((name) => fields.get(name)?.hidden)
    const isFit =
      names.every((name) => fields.has(name) && fields.get(name)!.type !== 'autodate') &&
      (condition === undefined || (notEmpty !== undefined && names.includes(notEmpty))) &&
      (hidden.length === 0 || hidden.length === names.length)
    if (!isFit) {
      notes.push(`this unique index is not translated: ${text.replaceAll(/\s+/g, ' ')}`)
      continue
    }
    if (notEmpty !== undefined) optional.add(notEmpty)
    const ignoreCase = read.some(([, , collate]) => collate !== undefined)
    unique.push(ignoreCase ? { fields: names, ignoreCase } : names.length === 1 ? names[0]! : names)
  }
  return { unique, optional, notes }
}
