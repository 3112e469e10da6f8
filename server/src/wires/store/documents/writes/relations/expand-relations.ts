import { invalid, type ApiError } from '../../../../../base/errors.ts'
import { parseJson } from '../../../../../base/json.ts'
import type { MakeRoom } from '../../../../../http/route.ts'
import type { CollectionDefinition } from '../../definition/collection.ts'
import type { Collections } from '../../definition/collections.ts'
import type { Viewer } from '../../definition/viewer.ts'
import { EXPANDED, type DocumentRow } from '../../language/document-json.ts'
import type { Documents } from '../../storage/documents.ts'
import { isInside } from '../../language/fields/field-path.ts'
import { show, viewOf } from '../../language/fields/view.ts'
import { parsePath, quote, type Path } from '../../language/query/path.ts'
import { rowFilterOf } from '../../language/rules/rule.ts'
import type { DocumentKey } from '../../storage/sql/document-rows.ts'
import { isReadable } from '../shown-documents.ts'
import { FILES, isFileField, type FileField } from '../../definition/file-field.ts'
import { referencesIn, type Relation } from '../../definition/relation.ts'
import type { ShownFiles } from '../../file-fields/shown-files.ts'

const AT = '/query/expand'
const LEVELS_MAX = 3
const DOCUMENTS_MAX = 500
const BYTES_MAX = 4_194_304
/** What is read before room is made for it. */
const SMALL_BYTES = 262_144
// The texts of the documents, and the answer that is made of them.
const COPIES = 2

/** A relation whose documents are answered, with those of their own, or a field whose files are. */
export type Branch = {
  readonly relation: Relation | FileField
  /** Its name in `$expanded`, as JSON. */
  readonly label: string
  readonly branches: Branches
}
export type Branches = ReadonlyMap<string, Branch>

const refused = (message: string): ApiError => invalid({ path: AT, message })

/**
 * Reads the relations that are to be answered with their documents: `author,lines.product,author.company`.
 *
 * @throws VALIDATION_ERROR at `/query/expand` for what is no relation, or not shown to the caller
 */
export async function parseExpand(
  text: string,
  collection: CollectionDefinition,
  collections: Collections,
  viewer: Viewer,
): Promise<Branches> {
  const branches: Tree = new Map()
  for (const name of text.split(',').map((one) => one.trim())) {
    let [rest, of, inside]: [Path, CollectionDefinition, Tree] = [parsePath(name, AT), collection, branches]
    for (let level = 1; rest.length > 0; level++) {
      const relation = relationAt(of, rest, name)
      await checkShown(of, relation, viewer)
      if (level > LEVELS_MAX) throw refused(`${quote(name)} has more than ${LEVELS_MAX} levels.`)
      const key = relation.path.join('.')
      const branch = inside.get(key) ?? { relation, label: JSON.stringify(key), branches: new Map() as Tree }
      inside.set(key, branch)
      rest = rest.slice(relation.path.length)
      if (isFileField(relation)) {
        if (rest.length > 0)
          throw refused(`${quote(name)}: ${quote(key)} holds files, in which nothing is expanded.`)
        break
      }
      ;[of, inside] = [collections.get(relation.to), branch.branches]
    }
  }
  return branches
}

type Tree = Map<string, Branch & { readonly branches: Tree }>

/** The longest relation that a path begins with. */
function relationAt(
  { name, relations, fileFields }: CollectionDefinition,
  path: Path,
  text: string,
): Relation | FileField {
  const [nearest] = [...relations, ...fileFields]
    .filter((relation) => isInside(path, relation.path))
    .toSorted((a, b) => b.path.length - a.path.length)
  if (nearest) return nearest
  const relationNames = [...relations, ...fileFields].map((relation) => relation.path.join('.'))
  throw refused(
    relationNames.length === 0
      ? `${quote(text)}: ${name} has no relations.`
      : `${quote(text)}: ${quote(path.join('.'))} is no relation of ${name}; these are: ${relationNames.join(', ')}.`,
  )
}

async function checkShown(
  of: CollectionDefinition,
  { path }: Pick<Relation, 'path'>,
  viewer: Viewer,
): Promise<void> {
  const view = viewOf(of, await viewer.subjectFor(of))
  if (view?.concealed.some((one) => isInside(path, one)))
    throw refused(
      `${path.join('.')} of ${of.name} cannot be expanded: only administrators and service keys may use it here.`,
    )
}

/** A document of an answer with the documents that its relations lead to. */
type Node = { readonly text: string; readonly branches: Branches; readonly children: Child[] }

/** What a relation of a document leads to; a list where there is an array on the way. */
type Child = { readonly branch: Branch; readonly isList: boolean; readonly nodes: readonly Node[] }

/** What documents are expanded with. */
export type ExpandContext = {
  readonly collections: Collections
  readonly documents: Pick<Documents, 'findWithin'>
  readonly shownFiles: ShownFiles
  readonly viewer: Viewer
  readonly makeRoom: MakeRoom
}

/**
 * Reads the documents that relations lead to, in one query for each level, as the caller may see them: what is missing and
 * what is out of reach are left out alike.
 *
 * @param documents as they are shown, all of a collection
 * @returns what to answer as `$expanded` of each, as JSON
 * @throws VALIDATION_ERROR at `/query/expand` if there are more than 500 of them or 4 MiB
 */
export async function expand(
  context: ExpandContext,
  branches: Branches,
  documents: readonly string[],
): Promise<string[]> {
  const roots = documents.map((text): Node => ({ text, branches, children: [] }))
  let [level, count, bytes]: [readonly Node[], number, number] = [roots, 0, 0]
  while (level.length > 0) {
    const references = level.flatMap(referencesOf)
    const shown = await readShown(context, references, DOCUMENTS_MAX - count)
    count += shown.asked
    const next: Node[] = []
    for (const { node, branch, ids, isList } of references) {
      const texts = shown.of(branch.relation.to)
      const nodes: Node[] = []
      for (const id of ids) {
        const text = texts.get(id)
        if (text === undefined) continue
        bytes += Buffer.byteLength(text)
        nodes.push({ text, branches: branch.branches, children: [] })
      }
      if (bytes > BYTES_MAX) throw tooLarge('4 MiB')
      node.children.push({ branch, isList, nodes })
      if (branch.branches.size > 0) next.push(...nodes)
    }
    level = next
  }
  return roots.map(expandedOf)
}

/** JSON of a document with JSON of what is expanded of it. */
export const withExpanded = (text: string, expanded: string): string =>
  `${text.slice(0, -1)},"${EXPANDED}":${expanded}}`

const tooLarge = (what: string): ApiError =>
  refused(`it leads to more than ${what}: ask for fewer documents at once, or for fewer relations.`)

/** What a relation of a document refers to. */
type References = {
  readonly node: Node
  readonly branch: Branch
  readonly ids: ReadonlySet<string>
  readonly isList: boolean
}

function referencesOf(node: Node): References[] {
  const document: unknown = parseJson(node.text)
  const references: References[] = []
  for (const branch of node.branches.values()) {
    const ids = new Set<string>()
    let isList = false
    for (const { keys, value } of referencesIn(document, branch.relation)) {
      isList ||= keys.some((key) => typeof key === 'number')
      if (typeof value === 'string') ids.add(value)
    }
    if (ids.size > 0) references.push({ node, branch, ids, isList })
  }
  return references
}

/** The documents that are there and may be read, as they are shown, by collection and id. */
async function readShown(
  context: ExpandContext,
  references: readonly References[],
  most: number,
): Promise<{ asked: number; of: (collection: string) => ReadonlyMap<string, string> }> {
  const wanted = new Map<string, Set<string>>()
  for (const { branch, ids } of references) {
    const known = wanted.get(branch.relation.to) ?? new Set()
    wanted.set(branch.relation.to, known)
    for (const id of ids) known.add(id)
  }
  const fileIds = [...(wanted.get(FILES) ?? [])]
  const keys = [...wanted].flatMap(([collection, ids]) =>
    collection === FILES ? [] : [...ids].map((id) => ({ collection, id })),
  )
  const asked = keys.length + fileIds.length
  if (asked > most) throw tooLarge(`${DOCUMENTS_MAX} documents`)
  const shown = new Map([...wanted.keys()].map((collection) => [collection, new Map<string, string>()]))
  if (fileIds.length > 0) {
    const fields = references.flatMap(({ branch: { relation } }) =>
      isFileField(relation) ? [relation.name] : [],
    )
    shown.set(FILES, await context.shownFiles(context.viewer, fileIds, new Set(fields)))
  }
  for (const document of await readAll(context, keys)) {
    const { collections, viewer } = context
    const collection = collections.get(document.collection)
    const subject = await viewer.subjectFor(collection)
    if (isReadable(rowFilterOf(collection.read, subject), document))
      shown.get(document.collection)!.set(document.id, show(viewOf(collection, subject), document))
  }
  return { asked, of: (collection) => shown.get(collection)! }
}

async function readAll(
  { documents, makeRoom }: ExpandContext,
  keys: readonly DocumentKey[],
): Promise<readonly DocumentRow[]> {
  if (keys.length === 0) return []
  const few = await documents.findWithin(keys, { each: Math.floor(SMALL_BYTES / keys.length) })
  if (few) return few
  await makeRoom(COPIES * BYTES_MAX)
  const all = await documents.findWithin(keys, { together: BYTES_MAX })
  if (!all) throw tooLarge('4 MiB')
  return all
}

function expandedOf({ children }: Node): string {
  const members: string[] = []
  for (const { branch, isList, nodes } of children) {
    const texts = nodes.map((node) =>
      node.branches.size > 0 ? withExpanded(node.text, expandedOf(node)) : node.text,
    )
    if (isList) members.push(`${branch.label}:[${texts.join(',')}]`)
    else if (texts.length > 0) members.push(`${branch.label}:${texts[0]}`)
  }
  return `{${members.join(',')}}`
}
