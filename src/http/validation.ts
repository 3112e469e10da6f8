import {
  Ajv,
  type AnySchemaObject,
  type ErrorObject,
  type Options,
  type SchemaValidateFunction,
  type ValidateFunction,
} from 'ajv'
import type { TSchema } from 'typebox'

import { RULE, type Fault } from '../base/with-rule.ts'
import { errors, invalid, ISSUES_SHOWN, type Issue } from '../base/errors.ts'
import { pointerTo } from '../base/json-pointer.ts'

const VALUES_OF_SMALL = 200
const ID_PARAMETER = /^\/params\/(?:id|\w+Id)$/

/** Which part of a request a schema is for; the first step of every fault's path. */
export type RequestPart = 'body' | 'query' | 'params' | 'headers'

export type Validate = (value: unknown) => { value: unknown } | { error: Error }

/** Makes the function that checks a part of a request by its schema. */
export type Validation = (part: RequestPart, schema: TSchema) => Validate

/** Makes the functions that check parts of requests by their schemas. Unknown fields are ignored. */
export function createValidation(): Validation {
  const settings = {
    strict: false,
    useDefaults: true,
    ownProperties: true,
    validateFormats: false,
    verbose: true,
    // The compiler has checked the schemas: to check them here again, and to compile the rules for that, costs a tenth
    // of the start.
    validateSchema: false,
    meta: false,
    // V8 does that as well, and compiling takes a fifth less time without.
    code: { optimize: false },
  } as const
  const first = compilerOf(settings)
  let all: Ajv | undefined
  return (part, schema) => {
    // Compiled when it is first needed: a start does not pay for routes that nobody calls.
    let compiled: ValidateFunction | undefined
    let checkAll: ValidateFunction | undefined
    const read = part === 'body' ? undefined : textReader(part, schema)

    function faultsOf(value: unknown, found: readonly ErrorObject[]): readonly ErrorObject[] {
      if (!isSmall(value)) return found
      all ??= compilerOf({ ...settings, allErrors: true })
      checkAll ??= all.compile(schema)
      checkAll(value)
      return checkAll.errors ?? found
    }
    return (value) => {
      const check = (compiled ??= first.compile(schema))
      const seen = read ? read(value) : { value, issues: [] }
      const found = check(seen.value) ? [] : issuesOf(part, faultsOf(seen.value, check.errors!))
      // What could not be read is not in the value, and is not missing for that.
      const unread = new Set(seen.issues.map(({ path }) => path))
      const issues = [...seen.issues, ...found.filter(({ path }) => !unread.has(path))]
      return issues.length === 0 ? { value: seen.value } : { error: refusal(issues) }
    }
  }
}

const typeOf = (value: unknown): string =>
  Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value

/** A compiler of schemas that knows the rules added by `withRule`. */
function compilerOf(settings: Options): Ajv {
  const validate: SchemaValidateFunction = (
    faultOf: (value: unknown) => Fault | undefined,
    value: unknown,
    schema?: AnySchemaObject,
  ) => {
    if (typeOf(value) !== schema?.['type']) return true
    const fault = faultOf(value)
    if (fault === undefined) return true
    const { path, message } = typeof fault === 'string' ? { path: '', message: fault } : fault
    validate.errors = [{ keyword: RULE, message, params: { path } }]
    return false
  }
  return new Ajv(settings).addKeyword({ keyword: RULE, validate })
}

/** Whether all faults may be looked for: of a large value there could be more than memory is good for. */
function isSmall(value: unknown): boolean {
  const waiting = [value]
  for (let count = 0; waiting.length > 0; count++) {
    if (count + waiting.length > VALUES_OF_SMALL) return false
    const next = waiting.pop()
    if (typeof next === 'object' && next !== null)
      for (const inner of Object.values(next)) if (waiting.push(inner) > VALUES_OF_SMALL) return false
  }
  return true
}

/** An id of a form that no record has is as good as one that no record has. */
const refusal = (issues: readonly Issue[]): Error =>
  issues.every(({ path }) => ID_PARAMETER.test(path))
    ? errors.not_found({ message: 'No record has an id of this form.' })
    : invalid(...issues)

function issuesOf(part: RequestPart, faults: readonly ErrorObject[]): Issue[] {
  return telling(faults)
    .slice(0, ISSUES_SHOWN)
    .map((fault) => ({ path: `/${part}${pathOf(fault)}`, message: messageOf(fault) }))
}

function pathOf({ instancePath, keyword, params }: ErrorObject): string {
  if (keyword === 'required') return pointerTo(instancePath, String(params['missingProperty']))
  return keyword === RULE ? instancePath + String(params['path']) : instancePath
}

function messageOf({ keyword, schema, parentSchema, message = 'is not valid' }: ErrorObject): string {
  if (keyword === RULE) return message
  if (keyword === 'required') return 'is required'
  if (keyword === 'const') return `must be ${String(schema)}`
  if (keyword === 'enum') return `must be one of ${(schema as unknown[]).join(', ')}`
  // A pattern says nothing to most people; what the schema says of itself mostly does.
  const { description } = parentSchema as { description?: string }
  if (keyword === 'pattern' && description !== undefined)
    return `does not fit: ${description} (pattern ${String(schema)})`
  if (keyword === 'anyOf') return `must be ${alternatives(schema as Alternative[])}`
  return message
}

// What a value is of the wrong kind for; other faults say more than the list of the kinds that there are.
const OF_KIND = new Set(['type', 'const', 'enum', 'anyOf'])

/**
 * Leaves out what the faults of alternatives say again, each from its own side, and what an added rule says of a value
 * that its schema refuses.
 */
function telling(faults: readonly ErrorObject[]): ErrorObject[] {
  const left = new Set(faults)
  for (const union of faults.filter(({ keyword }) => keyword === 'anyOf')) {
    const within = faults.filter(
      (fault) =>
        fault.schemaPath.startsWith(`${union.schemaPath}/`) &&
        fault.instancePath.startsWith(union.instancePath),
    )
    const inner = within.filter(
      (fault) => pathOf(fault) !== union.instancePath || !OF_KIND.has(fault.keyword),
    )
    if (inner.length > 0) left.delete(union)
    for (const fault of within) if (!inner.includes(fault)) left.delete(fault)
  }
  const { true: added = [], false: bySchema = [] } = Object.groupBy(
    left,
    ({ keyword }) => `${keyword === RULE}`,
  )
  const refused = new Set(bySchema.map(pathOf))
  return [...bySchema, ...added.filter((fault) => !refused.has(pathOf(fault)))]
}

type Alternative = { const?: unknown; enum?: unknown[]; type?: string; anyOf?: Alternative[] }

function alternatives(schemas: readonly Alternative[]): string {
  const flat = (one: Alternative): Alternative[] => one.anyOf?.flatMap(flat) ?? [one]
  const valuesOf = (one: Alternative): unknown[] => one.enum ?? ('const' in one ? [one.const] : [])
  const kinds = schemas.flatMap(flat)
  const values = kinds.flatMap(valuesOf)
  const others = kinds.filter((one) => valuesOf(one).length === 0)
  const types = [...new Set(others.map(({ type = 'of another form' }) => type))].join(' or ')
  if (values.length === 0) return types
  return `one of ${values.map(String).join(', ')}${types && `, or ${types}`}`
}

const WHOLE = /^-?\d{1,30}$/
const DECIMAL = /^-?\d{1,15}(\.\d{1,15})?$/

// Beyond these a whole number is as good as endless: limits are clamped anyway.
const safeInteger = (text: string): number =>
  Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, Number(text)))

/** Addresses and headers hold text only: reads numbers and booleans from it where the schema has them. */
function textReader(part: RequestPart, schema: TSchema) {
  const properties = (schema as { properties?: Record<string, { type?: string }> }).properties ?? {}
  const known = Object.entries(properties).map(([name, { type }]) => ({
    name,
    type,
    path: pointerTo(`/${part}`, name),
  }))
  return (given: unknown): { value: Record<string, unknown>; issues: Issue[] } => {
    const source = given as Record<string, unknown>
    const value: Record<string, unknown> = {}
    const issues: Issue[] = []
    for (const { name, type, path } of known) {
      const text = source[name]
      if (text === undefined) continue
      if (typeof text !== 'string') issues.push({ path, message: 'may be given only once' })
      else if (!text.isWellFormed() || text.includes('\0'))
        issues.push({ path, message: 'holds a character that is not allowed' })
      else if (type === 'integer' && WHOLE.test(text)) value[name] = safeInteger(text)
      else if (type === 'number' && DECIMAL.test(text)) value[name] = Number(text)
      else if (type === 'boolean' && (text === 'true' || text === 'false')) value[name] = text === 'true'
      else value[name] = text
    }
    return { value, issues }
  }
}
