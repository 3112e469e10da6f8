import { invalid } from '../../../base/errors.ts'
import { parseStrictJson } from '../../../base/json.ts'
import type { CollectionDefinition } from '../documents/definition/collection.ts'
import { isCollectionName } from '../documents/language/collection-name.ts'
import { parseProjection, type Projection } from '../documents/language/fields/projection.ts'
import { effortOf } from '../documents/language/query/effort.ts'
import { everything, isObject, partsIn, type FilterTree } from '../documents/language/query/filter.ts'
import { parseFilter, readFilterOf } from '../documents/language/query/parse-filter.ts'
import { quote } from '../documents/language/query/path.ts'

/** What is to be watched, as a client asks for it. */
export type WatchRequest = {
  readonly collection: CollectionDefinition
  readonly filter: FilterTree
  readonly projection: Projection | undefined
  /** Where it is in the request. */
  readonly at: string
}

/** The parameters of a request for changes. */
export type WatchParameters = {
  readonly collection?: string
  readonly filter?: string
  readonly fields?: string
  readonly watch?: string
}

const WATCHES_MAX = 20
const WATCH_LEVELS_MAX = 256
// Each change is compared in this process, for all of a request: a list would be read beside it.
const EFFORT_MAX = 100
// A pattern takes tens of milliseconds in a document of 1 MiB.
const PATTERN_EFFORT = 10
const AT = '/query/watch'
const NAMES = ['collection', 'filter', 'fields']

/**
 * Reads what is to be watched: one collection, or a list of up to 20.
 *
 * @param collectionOf finds a collection by its name
 * @throws VALIDATION_ERROR that leads to the fault, such as `/query/watch/0/filter/age/$gt`
 */
export function parseWatches(
  { collection, filter, fields, watch }: WatchParameters,
  collectionOf: (name: string) => CollectionDefinition,
): readonly WatchRequest[] {
  if (watch === undefined) {
    if (collection === undefined)
      throw invalid({ path: '/query/collection', message: 'Name a collection, or several in watch.' })
    if (!isCollectionName(collection))
      throw invalid({ path: '/query/collection', message: 'It must be the name of a collection.' })
    const parsed = filter === undefined ? everything : parseFilter(filter)
    return checkEffort([
      watchRequest(collectionOf, { name: collection, filter: parsed, fields, at: '/query' }),
    ])
  }
  if ([collection, filter, fields].some((one) => one !== undefined))
    throw invalid({ path: AT, message: 'Give either watch, or collection with filter and fields.' })
  const list = parseStrictJson(watch, {
    at: AT,
    maxDepth: WATCH_LEVELS_MAX,
    takesRounded: true,
    takesAnyKey: true,
  })
  if (!Array.isArray(list) || list.length === 0 || list.length > WATCHES_MAX)
    throw invalid({ path: AT, message: `It must be a list of 1 to ${WATCHES_MAX} watches.` })
  return checkEffort(list.map((one: unknown, i) => readWatch(one, `${AT}/${i}`, collectionOf)))
}

/** @throws VALIDATION_ERROR if all filters together ask too much, at the first that is too many */
function checkEffort(requests: readonly WatchRequest[]): readonly WatchRequest[] {
  let effort = 0
  for (const { filter, at } of requests) {
    effort += effortOf(filter, { keys: [], idDescending: false })
    for (const part of partsIn(filter)) if (part.kind === 'pattern') effort += PATTERN_EFFORT
    if (effort > EFFORT_MAX)
      throw invalid({
        path: `${at}/filter`,
        message: 'Filters ask too much of each change here: watch more documents, and choose among them.',
      })
  }
  return requests
}

function readWatch(
  value: unknown,
  at: string,
  collectionOf: (name: string) => CollectionDefinition,
): WatchRequest {
  if (!isObject(value))
    throw invalid({ path: at, message: 'It must be an object such as {"collection":"books"}.' })
  for (const name of Object.keys(value))
    if (!NAMES.includes(name))
      throw invalid({ path: at, message: `${quote(name)} is not known; a watch has ${NAMES.join(', ')}.` })
  const { collection, filter, fields } = value
  if (filter !== undefined && !isObject(filter))
    throw invalid({ path: `${at}/filter`, message: 'It must be an object.' })
  if (fields !== undefined && typeof fields !== 'string')
    throw invalid({ path: `${at}/fields`, message: 'It must be text: fields joined by commas.' })
  const parsed = filter === undefined ? everything : readFilterOf(filter, `${at}/filter`)
  return watchRequest(collectionOf, { name: collection, filter: parsed, fields, at })
}

function watchRequest(
  collectionOf: (name: string) => CollectionDefinition,
  { name, filter, fields, at }: { name: unknown; filter: FilterTree; fields: string | undefined; at: string },
): WatchRequest {
  if (typeof name !== 'string' || !isCollectionName(name))
    throw invalid({ path: `${at}/collection`, message: 'It must be the name of a collection.' })
  const projection = fields === undefined ? undefined : parseProjection(fields, `${at}/fields`)
  return { collection: collectionOf(name), filter, projection, at }
}
