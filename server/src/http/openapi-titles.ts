import { eachSchema, type Schema } from './openapi-schemas.ts'
import { schemaOfBody } from './bodies.ts'
import type { Route, RouteGroup } from './route.ts'

const COMPONENT_NAME = /^[a-zA-Z0-9._-]+$/

type Titled = { title: string; schema: Schema; owner: string; isAnswered: boolean }

const schemasOf = ({ spec }: Route): { schema: unknown; isAnswered: boolean }[] => [
  ...[spec.params, spec.query, spec.headers, schemaOfBody(spec.body)].map((schema) => ({
    schema,
    isAnswered: false,
  })),
  ...Object.values(spec.reply).map((schema) => ({ schema, isAnswered: true })),
]

/** Every schema with a title, also nested ones, in the order of the routes. */
export function titledSchemas(groups: readonly RouteGroup[]): Titled[] {
  const titles: Titled[] = []
  for (const one of groups.flatMap(({ routes }) => routes))
    for (const { schema: whole, isAnswered } of schemasOf(one)) {
      const visit = (schema: Schema): void => {
        const { title } = schema
        if (typeof title === 'string') titles.push({ title, schema, owner: one.key, isAnswered })
        eachSchema(schema, visit)
      }
      if (whole !== undefined) visit(whole as Schema)
    }
  return titles
}

/** Why the titles of schemas can't name components, in one line: one is invalid, or two different schemas share it. */
export function titleFault(groups: readonly RouteGroup[]): string | undefined {
  const owners = new Map<string, Titled>()
  for (const one of titledSchemas(groups)) {
    const { title, schema, owner } = one
    if (!COMPONENT_NAME.test(title))
      return `${owner} has a schema titled "${title}": a title is the name of the schema in /openapi.json and takes letters, digits, ., - and _ only`
    const first = owners.get(title) ?? one
    owners.set(title, first)
    if (first.schema !== schema && JSON.stringify(first.schema) !== JSON.stringify(schema))
      return `the schemas titled "${title}" of ${first.owner} and of ${owner} differ: give one of them another title`
  }
  return undefined
}
