import {
  exampleOf,
  hasDefaults,
  isModel,
  mapSchemas,
  requireBySide,
  simplify,
  type Schema,
  type Side,
} from './openapi-schemas.ts'
import { titledSchemas } from './openapi-titles.ts'
import type { RouteGroup } from './route.ts'

/**
 * Schemas and responses that are described once, and referred to by their names.
 *
 * @param groups all routes: a name that is derived must not be the title of any schema
 */
export function createComponents(groups: readonly RouteGroup[]) {
  const schemas: Record<string, Schema> = {}
  const responses: Record<string, object> = {}
  const titled = titledSchemas(groups)
  const titles = new Set(titled.map(({ title }) => title))
  const answered = new Set(titled.filter(({ isAnswered }) => isAnswered).map(({ title }) => title))

  const refer = (name: string, schema: Schema): Schema => {
    schemas[name] = schema
    return { $ref: `#/components/schemas/${name}` }
  }

  /** Describes a schema under a name of its own, or with a number after it if another schema has the name. */
  function describeAs(name: string, schema: Schema): Schema {
    const text = JSON.stringify(schema)
    let free = name
    for (
      let count = 2;
      titles.has(free) || (schemas[free] && JSON.stringify(schemas[free]) !== text);
      count++
    )
      free = `${name}${count}`
    return refer(free, schema)
  }

  /**
   * A schema for the description. An object or a union, also a nested one, becomes a reference to its component, named by
   * its title, or else by its place.
   *
   * @param place the name of the schema if it has no title, like `AuthLoginRequest`; nested schemas add theirs
   */
  function schemaOf(schema: Schema, place: string, side: Side): Schema {
    const base = typeof schema['title'] === 'string' ? schema['title'] : place
    const { title, ...fields } = requireBySide(
      simplify(mapSchemas(schema, (inner, step) => schemaOf(inner, base + step, side))),
      side,
    )
    const example = isModel(fields) ? exampleOf(schema) : undefined
    const own = example === undefined ? fields : { ...fields, examples: [example] }
    if (typeof title !== 'string') return isModel(own) ? describeAs(place, own) : own
    const isInput = side === 'request' && answered.has(title) && hasDefaults(schema)
    return isInput ? describeAs(`${title}Input`, own) : refer(title, own)
  }

  /** A reference to a response; the response itself if another response has the name already. */
  function responseOf(name: string, response: object): object {
    responses[name] ??= response
    return JSON.stringify(responses[name]) === JSON.stringify(response)
      ? { $ref: `#/components/responses/${name}` }
      : response
  }

  return { schemas, responses, schemaOf, describeAs, responseOf }
}

export type Components = ReturnType<typeof createComponents>
