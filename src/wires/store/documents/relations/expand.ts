import { invalid, type ApiError } from '../../../../base/errors.ts'
import { parseJson } from '../../../../base/json.ts'
import type { MakeRoom } from '../../../../http/route.ts'
import type { CollectionDefinition } from '../collections/collection.ts'
import type { Collections } from '../collections/collections.ts'
import type { Viewer } from '../collections/viewer.ts'
import { EXPANDED } from '../document-json.ts'
import type { Documents } from '../documents.ts'
import { isInside } from '../fields/field-path.ts'
import { show, viewOf } from '../fields/view.ts'
import { parsePath, quote, type Path } from '../query/path.ts'
import { reachOf } from '../rules/rule.ts'
import { isReadable } from '../fields/shown.ts'
import { referencesIn, type Relation } from './relation.ts'

const AT = '/query/expand'
const LEVELS_MAX = 3
const DOCUMENTS_MAX = 500
const BYTES_MAX = 4_194_304
/** What is read before room is made for it. */
const SMALL_BYTES = 262_144
// The texts of the documents, and the answer that is made of them.
const COPIES = 2

/** A relation whose documents are answered, with those of their own. */
export type Branch = { readonly relation: Relation; readonly branches: Branches }
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
      const branch = inside.get(key) ?? { relation, branches: new Map() as Tree }
      inside.set(key, branch)
      ;[rest, of, inside] = [rest.slice(relation.path.length), collections.get(relation.to), branch.branches]
    }
  }
  return branches
}

type Tree = Map<string, { readonly relation: Relation; readonly branches: Tree }>

/** The longest relation that a path begins with. */
function relationAt({ name, relations }: CollectionDefinition, path: Path, text: string): Relation {
  const [found] = relations
    .filter((relation) => isInside(path, relation.path))
    .toSorted((a, b) => b.path.length - a.path.length)
  if (found) return found
  const known = relations.map((relation) => relation.path.join('.'))
  throw refused(
    known.length === 0
      ? `${quote(text)}: ${name} has no relations.`
      : `${quote(text)}: ${quote(path.join('.'))} is no relation of ${name}; these are: ${known.join(', ')}.`,
  )
}

async function checkShown(of: CollectionDefinition, { path }: Relation, viewer: Viewer): Promise<void> {
  const view = viewOf(of, await viewer.subjectFor(of))
  if (view?.concealed.some((one) => isInside(path, one)))
    throw refused(
      `${path.join('.')} of ${of.name} cannot be expanded: only administrators and service keys may use it here.`,
    )
}

/** A document of an answer with the documents that its relations lead to. */
type Node = {
  readonly text: string
  readonly branches: Branches
  /** By the keys of the branches; a list where there is an array on the way. */
  readonly children: Map<string, { readonly isList: boolean; readonly nodes: readonly Node[] }>
}

/** What documents are expanded with. */
export type ExpandContext = {
  readonly collections: Collections
  readonly documents: Pick<Documents, 'findWithin'>
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
  const roots = documents.map((text): Node => ({ text, branches, children: new Map() }))
  let [level, count, bytes]: [readonly Node[], number, number] = [roots, 0, 0]
  while (level.length > 0) {
    const wanted = referencesOf(level)
    const distinct = new Map(wanted.flatMap(({ keys }) => keys.map((one) => [nameOf(one), one] as const)))
    count += distinct.size
    if (count > DOCUMENTS_MAX) throw tooLarge(`${DOCUMENTS_MAX} documents`)
    const shown = await readShown(context, [...distinct.values()])
    const next: Node[] = []
    for (const { node, key, branch, keys, isList } of wanted) {
      const nodes = keys.flatMap((one) => {
        const text = shown.get(nameOf(one))
        return text === undefined ? [] : [{ text, branches: branch.branches, children: new Map() }]
      })
      for (const { text } of nodes) bytes += Buffer.byteLength(text)
      if (bytes > BYTES_MAX) throw tooLarge('4 MiB')
      node.children.set(key, { isList, nodes })
      if (branch.branches.size > 0) next.push(...nodes)
    }
    level = next
  }
  return roots.map(expandedOf)
}

/** JSON of a document with JSON of what is expanded of it. */
export const withExpanded = (text: string, expanded: string): string =>
  `${text.slice(0, -1)},${JSON.stringify(EXPANDED)}:${expanded}}`

const tooLarge = (what: string): ApiError =>
  refused(`it leads to more than ${what}: ask for fewer documents at once, or for fewer relations.`)

type Key = { readonly collection: string; readonly id: string }
const nameOf = ({ collection, id }: Key): string => `${collection}/${id}`

function referencesOf(nodes: readonly Node[]) {
  return nodes.flatMap((node) => {
    const document: unknown = parseJson(node.text)
    return [...node.branches].flatMap(([key, branch]) => {
      const found = [...referencesIn(document, branch.relation)]
      const isList = found.some(({ keys }) => keys.some((one) => typeof one === 'number'))
      const ids = new Set(found.map(({ value }) => value).filter((value) => typeof value === 'string'))
      const keys = [...ids].map((id): Key => ({ collection: branch.relation.to, id }))
      return keys.length === 0 ? [] : [{ node, key, branch, keys, isList }]
    })
  })
}

/** The documents that are there and may be read, as they are shown. */
async function readShown(
  { collections, documents, viewer, makeRoom }: ExpandContext,
  wanted: readonly Key[],
): Promise<Map<string, string>> {
  if (wanted.length === 0) return new Map()
  let found = await documents.findWithin(wanted, { each: Math.floor(SMALL_BYTES / wanted.length) })
  if (!found) {
    await makeRoom(COPIES * BYTES_MAX)
    found = await documents.findWithin(wanted, { together: BYTES_MAX })
  }
  if (!found) throw tooLarge('4 MiB')
  const shown = new Map<string, string>()
  for (const document of found) {
    const collection = collections.get(document.collection)
    const subject = await viewer.subjectFor(collection)
    if (isReadable(reachOf(collection.read, subject), document))
      shown.set(nameOf(document), show(viewOf(collection, subject), document))
  }
  return shown
}

function expandedOf({ children }: Node): string {
  const members = [...children].flatMap(([key, { isList, nodes }]) => {
    const texts = nodes.map((node) =>
      node.branches.size > 0 ? withExpanded(node.text, expandedOf(node)) : node.text,
    )
    if (isList) return [`${JSON.stringify(key)}:[${texts.join(',')}]`]
    return texts.length > 0 ? [`${JSON.stringify(key)}:${texts[0]}`] : []
  })
  return `{${members.join(',')}}`
}
