import type { FileFieldLimits, FileFields } from '../collection.ts'
import { treeOf, type TreeNode } from './tree.ts'

/** Without the places in arrays: as the configuration names a field. */
const declaredPath = (path: string): string => path.replace(/\.\d+(?=\.|$)/g, '')

/** The field of files at a path, if its value is one that files can be shown for. */
export function fileFieldAt(
  fields: FileFields,
  path: string,
  node: TreeNode | undefined,
): FileFieldLimits | undefined {
  const name = declaredPath(path)
  const field = Object.hasOwn(fields, name) ? fields[name] : undefined
  if (!field || !node || node.type === 'null') return field
  const isList = node.type === 'array' && node.items.every(({ type }) => type === 'text')
  return node.type === 'text'
    ? field.max === 1
      ? field
      : undefined
    : isList && field.max > 1
      ? field
      : undefined
}

/** The names of the fields of files that an object does not have yet. */
export function missingFileFields(
  fields: FileFields,
  path: string,
  names: ReadonlyMap<string, unknown>,
): string[] {
  const start = path && `${declaredPath(path)}.`
  return Object.keys(fields)
    .filter((one) => one.startsWith(start))
    .map((one) => one.slice(start.length))
    .filter((name) => !name.includes('.') && !names.has(name))
}

/** The ids of the files that a value names. */
export function filesIn(node: TreeNode | undefined): string[] {
  const nodes = node?.type === 'array' ? node.items : node ? [node] : []
  return nodes.flatMap((one) => ('text' in one && one.text ? [one.text] : []))
}

export const nodeOfFiles = (ids: readonly string[], { max }: FileFieldLimits): TreeNode =>
  treeOf(max === 1 ? (ids[0] ?? null) : ids)
