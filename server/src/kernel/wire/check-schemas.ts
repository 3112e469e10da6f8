import { Ajv } from 'ajv'
import fastJson from 'fast-json-stringify'

import { StartError } from '../../base/start-error.ts'
import { schemaOfBody } from '../../http/bodies.ts'
import type { Route } from '../../http/route.ts'

/**
 * Compiles the schemas of an application's routes. The server compiles a schema when it is first needed, which is too
 * late for an error.
 *
 * @throws StartError with the wire, the route and the schema that is not valid or has an unknown keyword; an application's
 *   own keywords begin with `x-`
 */
export function checkSchemas(wire: string, routes: readonly Route[]): void {
  for (const { key, spec } of routes) {
    const { params, query, headers, reply } = spec
    const body = schemaOfBody(spec.body)
    const faults = [
      ...Object.entries({ params, query, headers, body }).map(
        ([name, schema]) => [name, schema && faultOf(() => compile(schema))] as const,
      ),
      ...Object.entries(reply).map(
        ([status, schema]) =>
          [`reply ${status}`, faultOf(() => (compile(schema), fastJson(schema)))] as const,
      ),
    ]
    const [first] = faults.filter(([, fault]) => fault !== undefined)
    if (first) throw new StartError(`wires: ${wire}: ${key}: ${first[0]}: ${first[1]}`)
  }
}

function faultOf(work: () => unknown): string | undefined {
  try {
    work()
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

function compile(schema: object, ownKeywords: readonly string[] = []): void {
  const settings = { strictTypes: false, strictTuples: false, strictRequired: false, validateFormats: false }
  try {
    new Ajv({ ...settings, strict: true, logger: false }).addVocabulary([...ownKeywords]).compile(schema)
  } catch (error) {
    const unknown = /unknown keyword: "(x-[^"]+)"/.exec((error as Error).message)?.[1]
    if (unknown === undefined) throw error
    compile(schema, [...ownKeywords, unknown])
  }
}
