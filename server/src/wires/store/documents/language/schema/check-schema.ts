import { didYouMean } from '../../../../../base/did-you-mean.ts'
import { pointerTo } from '../../../../../base/json-pointer.ts'
import { SERVICE_FIELDS } from '../document-json.ts'
import { isObject, type JsonObject } from '../query/filter.ts'
import { KEYWORDS, type Keyword } from './keywords.ts'
import { checkReferences, targetOf, type Subschemas } from './schema-references.ts'
import { SchemaFault } from './schema-fault.ts'

const DEPTH_MAX = 64

/**
 * Checks a schema of documents without Ajv. One that passes can be compiled, and does not run for ever.
 *
 * @param schema plain JSON
 * @throws SchemaFault
 */
export function checkSchema(schema: unknown): asserts schema is JsonObject {
  if (!isObject(schema)) throw new SchemaFault('', 'give a JSON schema, for example Type.Object({ … })')
  const places: Subschemas = new Map()
  checkSubschema(schema, '', 0, places)
  checkReferences(places)
  const { type = 'object', required = [] } = schema as { type?: string; required?: string[] }
  if (![type].flat().includes('object')) throw new SchemaFault('/type', 'a document is an object')
  const own = required.find((name) => SERVICE_FIELDS.includes(name))
  if (own !== undefined)
    throw new SchemaFault('/required', `the service adds "${own}" to what fits the schema: leave it out`)
}

function checkSubschema(schema: unknown, at: string, depth: number, found: Subschemas): void {
  const inPlace: string[] = []
  found.set(at, { inPlace })
  if (typeof schema === 'boolean') return
  if (!isObject(schema)) throw new SchemaFault(at, 'give a schema, which is an object, true or false')
  if (depth > DEPTH_MAX)
    throw new SchemaFault(at, `schemas nest at most ${DEPTH_MAX} levels deep: use "$defs"`)
  for (const [name, value] of Object.entries(schema)) {
    if (name.startsWith('x-') || (name === '$id' && depth === 0)) continue
    const place = pointerTo(at, name)
    const keyword = keywordOf(name, at)
    const fault = keyword.faultOf(value, schema)
    if (fault !== undefined) throw new SchemaFault(place, fault)
    if (name === '$ref') inPlace.push(targetOf(value)!)
    for (const [key, inner] of keyword.schemasIn?.(value) ?? []) {
      const there = key === undefined ? place : pointerTo(place, key)
      if (keyword.isInPlace) inPlace.push(there)
      checkSubschema(inner, there, depth + 1, found)
    }
  }
}

function keywordOf(name: string, at: string): Keyword {
  const keyword = Object.hasOwn(KEYWORDS, name) ? KEYWORDS[name] : undefined
  if (keyword) return keyword
  const hint = didYouMean(name, Object.keys(KEYWORDS)) || '; an own one begins with "x-"'
  throw new SchemaFault(at, `${JSON.stringify(name)} is no keyword here${hint}`)
}
