import { invalid } from '../../../../../base/errors.ts'
import { joinObjects, readDocument, type Fields } from '../document-json.ts'
import { emptyPart, indexOf, parsePath, quote, type Path } from '../query/path.ts'

/** What is chosen of an object: all of a field, or some of the fields inside. */
type Chosen = Map<string, Chosen | 'all'>

/** A choice of fields, to answer or to leave out. */
export type Projection = {
  readonly keeps: boolean
  readonly chosen: Chosen
  readonly paths: readonly Path[]
  /** Whether paths run through objects with the names `0`, `1` and so on as they do through arrays. */
  readonly passesIndexes: boolean
}

const AT = '/query/fields'

const refused = (at: string, message: string) => invalid({ path: at, message })

/**
 * Reads paths that are joined by commas: the fields to answer, or those to leave out if each begins with a minus.
 *
 * @param at where they are in the request
 * @throws VALIDATION_ERROR there
 * @see https://www.mongodb.com/docs/manual/reference/operator/aggregation/project/
 */
export function parseProjection(text: string, at = AT): Projection {
  if (text.trim() === '') throw refused(at, 'Name at least one field, or leave the parameter out.')
  const names = text.split(',').map((name) => name.trim())
  const keeps = !names[0]!.startsWith('-')
  const chosen: Chosen = new Map()
  const paths: Path[] = []
  for (const name of names) {
    if (name.startsWith('-') === keeps)
      throw refused(at, 'Give either the fields to answer, or those to leave out, each with a minus.')
    const path = parsePath(keeps ? name : name.slice(1), at)
    if (path.includes('')) throw refused(at, emptyPart(name))
    if (!keeps && path[0] === '_id') throw refused(at, '_id is always answered: it cannot be left out.')
    choose(chosen, path, name, at)
    paths.push(path)
  }
  return { keeps, chosen, paths, passesIndexes: false }
}

/** The choice of everything but these paths, which have no numeric parts, and none of which is inside of another one. */
export function leavingOut(paths: readonly Path[]): Projection {
  const chosen: Chosen = new Map()
  for (const path of paths) choose(chosen, path, path.join('.'), AT)
  return { keeps: false, chosen, paths, passesIndexes: true }
}

function choose(chosen: Chosen, path: readonly string[], name: string, at: string): void {
  let inside = chosen
  for (const [i, part] of path.entries()) {
    const branch = inside.get(part)
    const isLast = i === path.length - 1
    if (branch === 'all' || (branch !== undefined && isLast))
      throw refused(at, `${quote(name)} is in another one of the fields, or the same: give one of them.`)
    if (isLast) inside.set(part, 'all')
    else {
      const next: Chosen = branch ?? new Map<string, Chosen | 'all'>()
      inside.set(part, next)
      inside = next
    }
  }
}

/** Applies a projection to a document's JSON. `_id` is always kept, and fields keep their order. */
export function project(body: string, projection: Projection): string {
  const { service, fields } = readDocument(body)
  const { _id, ...times } = service
  const own = JSON.stringify({ _id, ...projectObject(times, projection.chosen, projection) })
  return joinObjects(own, JSON.stringify(projectObject(fields, projection.chosen, projection)))
}

function projectObject(object: Fields, chosen: Chosen, projection: Projection): Fields {
  const { keeps, passesIndexes } = projection
  const projected: Fields = {}
  for (const [name, value] of Object.entries(object)) {
    const choice = chosen.get(name) ?? (passesIndexes && indexOf(name) !== -1 ? chosen : undefined)
    if (choice === undefined || choice === 'all') {
      if ((choice === 'all') === keeps) projected[name] = value
    } else {
      const inner = projectValue(value, choice, projection)
      if (inner !== undefined) projected[name] = inner
    }
  }
  return projected
}

/** Undefined for a scalar of which only fields inside are to be kept: it has none. Arrays are projected by element. */
function projectValue(value: unknown, chosen: Chosen, projection: Projection): unknown {
  if (typeof value !== 'object' || value === null) return projection.keeps ? undefined : value
  if (!Array.isArray(value)) return projectObject(value as Fields, chosen, projection)
  return value
    .map((element) => projectValue(element, chosen, projection))
    .filter((element) => element !== undefined)
}
