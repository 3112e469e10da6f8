import { mapSchemas, pascalCase, type Schema } from '../../../../http/openapi-schemas.ts'
import type { Path } from '../language/query/path.ts'
import { answeredSchema } from '../definition/answered-schemas.ts'
import type { Route, RouteSpec } from '../../../../http/route.ts'

type Properties = Readonly<Record<string, Schema>>
type Model = (generic: Schema) => Schema

const COLLECTION = '/store/:collection'
const DESCRIBED = new Set([COLLECTION, `${COLLECTION}/:id`])
// It has no document in it.
const DROP = `DELETE ${COLLECTION}`

/**
 * Describes the routes of documents once more for each collection that has a schema, with its models in place of those of
 * any document: `/store/projects` beside `/store/{collection}`.
 *
 * @param concealedIn the fields that not everybody sees
 * @param isTaken whether another schema of the description has a title
 */
export function describedCollections(
  routes: readonly Route[],
  schemas: ReadonlyMap<string, Schema>,
  concealedIn: (collection: string) => readonly Path[],
  isTaken: (title: string) => boolean,
): Route[] {
  const generic = routes.filter(({ path, key }) => DESCRIBED.has(path) && key !== DROP)
  const names = new Set<string>()
  return [...schemas].flatMap(([collection, schema]) => {
    const name = freeName(pascalCase(collection), (title) => names.has(title) || isTaken(title))
    for (const suffix of SUFFIXES) names.add(name + suffix)
    return generic.map((one) =>
      describedRoute(one, collection, modelsOf(name, schema, concealedIn(collection), one.method)),
    )
  })
}

// As in `modelsOf`, and the models that have documents in them.
const SUFFIXES = ['', 'Fields', 'Changes', 'Batch', 'Created', 'Page', 'ToCreate']

/** The collection's own name, or with a number after it if one of its models would have the name of another schema. */
function freeName(base: string, isTaken: (title: string) => boolean): string {
  for (let count = 1; ; count++) {
    const name = count === 1 ? base : `${base}${count}`
    if (!SUFFIXES.some((suffix) => isTaken(name + suffix))) return name
  }
}

/** The models of a collection, by the titles of those of any document. */
function modelsOf(name: string, schema: Schema, concealed: readonly Path[], method: Route['method']) {
  const { properties = {} } = schema as { properties?: Properties }
  const stored: Model = ({ properties: service }) => {
    const { _id, ...times } = service as Properties
    const {
      properties,
      required = [],
      ...others
    } = answeredSchema(schema, concealed) as {
      properties?: Properties
      required?: string[]
    }
    return {
      title: name,
      type: 'object',
      ...others,
      required: [...new Set(['_id', ...required, ...Object.keys(times)])],
      properties: { _id, ...properties, ...times },
    }
  }
  const fields: Model = () => ({ title: `${name}Fields`, type: 'object', ...schema })
  // Its other keywords may ask for fields that a change leaves out.
  const changes: Model = () => ({ title: `${name}Changes`, type: 'object', properties })
  const models: Record<string, Model> = {
    Document: stored,
    AnsweredDocument: stored,
    ...(method === 'POST' && { DocumentFields: fields }),
    ...(method === 'PUT' && Object.keys(properties).length > 0 && { DocumentFields: changes }),
  }
  return { name, models }
}

function describedRoute(
  generic: Route,
  collection: string,
  { name, models }: ReturnType<typeof modelsOf>,
): Route {
  const { method, path, spec } = generic
  const own = path.replace(':collection', collection)
  const rewrite = (schema: Schema): Schema => {
    const { title } = schema
    if (typeof title === 'string' && models[title]) return models[title](schema)
    const { examples: _, ...inner } = mapSchemas(schema, rewrite)
    // The same object if nothing is another: some are known by their identity.
    if (JSON.stringify(inner) === JSON.stringify({ ...schema, examples: undefined })) return schema
    return typeof title === 'string' ? { ...inner, title: name + suffixOf(title) } : inner
  }
  const { body, reply } = spec
  const described: RouteSpec = {
    ...spec,
    summary: `${collection}: ${spec.summary.charAt(0).toLowerCase()}${spec.summary.slice(1)}`,
    ...(body?.kind === 'json' && { body: { ...body, schema: rewrite(body.schema as Schema) } }),
    reply: Object.fromEntries(
      Object.entries(reply).map(([status, schema]) => [status, rewrite(schema as Schema)]),
    ),
  }
  return { ...generic, key: `${method} ${own as `/${string}`}`, path: own, spec: described }
}

/** `DocumentsToCreate` → `ToCreate` */
const suffixOf = (title: string): string => title.replace(/^Documents?/, '') || 'Batch'
