import { Ajv, type ErrorObject } from 'ajv'
import type { TSchema } from 'typebox'

import { invalid, type Issue } from '../base/errors.ts'

const ISSUES_SHOWN = 20

/** Which part of a request a schema is for; the first step of every fault's path. */
export type RequestPart = 'body' | 'query' | 'params' | 'headers'

export type Validate = (value: unknown) => { value: unknown } | { error: Error }

/** Makes the functions that hold a part of a request against its schema. Unknown fields are ignored. */
export function createValidation(): (part: RequestPart, schema: TSchema) => Validate {
  const ajv = new Ajv({
    allErrors: true,
    strict: false,
    useDefaults: true,
    ownProperties: true,
    validateFormats: false,
  })
  return (part, schema) => {
    const check = ajv.compile(schema)
    const read = part === 'body' ? undefined : textReader(part, schema)
    return (value) => {
      const seen = read ? read(value) : { value, issues: [] }
      if (seen.issues.length > 0) return { error: invalid(...seen.issues) }
      if (check(seen.value)) return { value: seen.value }
      return { error: invalid(...issuesOf(part, check.errors ?? [])) }
    }
  }
}

function issuesOf(part: RequestPart, faults: readonly ErrorObject[]): Issue[] {
  return faults.slice(0, ISSUES_SHOWN).map(({ instancePath, keyword, params, message = 'is not valid' }) => {
    const at = `/${part}${instancePath}`
    if (keyword === 'required')
      return { path: `${at}/${pointer(String(params['missingProperty']))}`, message: 'is required' }
    if (keyword === 'enum')
      return { path: at, message: `must be one of ${(params['allowedValues'] as unknown[]).join(', ')}` }
    return { path: at, message }
  })
}

const pointer = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1')

const WHOLE = /^-?\d{1,15}$/
const DECIMAL = /^-?\d{1,15}(\.\d{1,15})?$/

/** Addresses and headers hold text only: reads numbers and booleans from it where the schema has them. */
function textReader(part: RequestPart, schema: TSchema) {
  const properties = (schema as { properties?: Record<string, { type?: string }> }).properties ?? {}
  const known = Object.entries(properties)
  return (given: unknown): { value: Record<string, unknown>; issues: Issue[] } => {
    const source = given as Record<string, unknown>
    const value: Record<string, unknown> = {}
    const issues: Issue[] = []
    for (const [name, { type }] of known) {
      const text = source[name]
      if (text === undefined) continue
      const path = `/${part}/${pointer(name)}`
      if (typeof text !== 'string') issues.push({ path, message: 'may be given only once' })
      else if (!text.isWellFormed() || text.includes('\0'))
        issues.push({ path, message: 'holds a character that is not allowed' })
      else if (type === 'integer' && WHOLE.test(text)) value[name] = Number(text)
      else if (type === 'number' && DECIMAL.test(text)) value[name] = Number(text)
      else if (type === 'boolean' && (text === 'true' || text === 'false')) value[name] = text === 'true'
      else value[name] = text
    }
    return { value, issues }
  }
}
