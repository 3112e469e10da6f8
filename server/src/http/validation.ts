import {
  Ajv,
  type AnySchemaObject,
  type ErrorObject,
  type Options,
  type SchemaValidateFunction,
  type ValidateFunction,
} from 'ajv'
import type { TSchema } from 'typebox'

import { once } from '../base/once.ts'
import { RULE, type Fault } from '../base/with-rule.ts'
import { errors, invalid, ISSUES_SHOWN, type Issue } from '../base/errors.ts'
import { didYouMean } from '../base/did-you-mean.ts'
import { pointerTo } from '../base/json-pointer.ts'
import { isListQuery } from './page.ts'
import { isSmall, issuesOf } from './schema-faults.ts'

const ID_PARAMETER = /^\/params\/(?:id|\w+Id)$/

/** The part of a request that a schema is for; the first step of the path of every fault. */
export type RequestPart = 'body' | 'query' | 'params' | 'headers'

export type Validate = (value: unknown) => { value: unknown } | { error: Error }

/** Makes the function that checks a part of a request by its schema. */
export type Validation = (part: RequestPart, schema: TSchema) => Validate

/**
 * Makes the functions that check parts of requests by their schemas. Unknown fields are ignored, except parameters of lists, and
 * of queries and bodies that say so by `additionalProperties: false`, as an export does.
 */
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
  const first = once(() => compilerOf(settings))
  const all = once(() => compilerOf({ ...settings, allErrors: true }))
  return (part, schema) => {
    // Compiled at its first use, so that unused routes do not slow the start.
    let compiled: ValidateFunction | undefined
    let checkAll: ValidateFunction | undefined
    const reader = once(() => textReader(part, schema))

    /** @param firstFaults of a check that stops at the first fault */
    function faultsOf(value: unknown, firstFaults: readonly ErrorObject[]): readonly ErrorObject[] {
      if (!isSmall(value)) return firstFaults
      checkAll ??= all().compile(schema)
      checkAll(value)
      return checkAll.errors ?? firstFaults
    }
    return (value) => {
      const check = (compiled ??= first().compile(schema))
      const input = part === 'body' ? { value, issues: NO_ISSUES } : reader()(value)
      if (check(input.value) && input.issues.length === 0) return input
      const faults = check.errors ? issuesOf(`/${part}`, faultsOf(input.value, check.errors)) : []
      // A field that could not be read is not in the value, but it is not missing.
      const unreadable = new Set(input.issues.map(({ path }) => path))
      return { error: refusal([...input.issues, ...faults.filter(({ path }) => !unreadable.has(path))]) }
    }
  }
}

const NO_ISSUES: readonly Issue[] = []

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

/** An id of an invalid form is answered like an id that no record has. */
const refusal = (issues: readonly Issue[]): Error =>
  issues.every(({ path }) => ID_PARAMETER.test(path))
    ? errors.not_found({ message: 'No record has an id of this form.' })
    : invalid(...issues)

const WHOLE = /^-?\d{1,30}$/
const DECIMAL = /^-?\d{1,15}(\.\d{1,15})?$/

// Larger numbers mean the same: limits are clamped anyway.
const safeInteger = (text: string): number =>
  Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, Number(text)))

// Longer names are not meant.
const NAME_SHOWN = 64

function unknownParameters(
  source: Record<string, unknown>,
  names: readonly string[],
  noun: 'list' | 'call',
): Issue[] {
  return Object.keys(source)
    .filter((name) => !names.includes(name))
    .slice(0, ISSUES_SHOWN)
    .map((name) => {
      const shown = name.slice(0, NAME_SHOWN).toWellFormed()
      const hint = didYouMean(shown, names) || `: this ${noun} takes ${names.join(', ')}`
      return { path: pointerTo('/query', shown), message: `is not a parameter of this ${noun}${hint}` }
    })
}

/** Addresses and headers contain text only: reads numbers and booleans from it if the schema has them. */
function textReader(part: RequestPart, schema: TSchema) {
  const { properties = {}, additionalProperties } = schema as {
    properties?: Record<string, { type?: string }>
    additionalProperties?: unknown
  }
  const fields = Object.entries(properties).map(([name, { type }]) => ({
    name,
    type,
    path: pointerTo(`/${part}`, name),
  }))
  const names = Object.keys(properties)
  const nameSet = new Set(names)
  const isList = isListQuery(names)
  const refusesUnknown = part === 'query' && (isList || additionalProperties === false)
  return (container: unknown): { value: Record<string, unknown>; issues: Issue[] } => {
    const source = container as Record<string, unknown>
    const value: Record<string, unknown> = {}
    const hasUnknown = refusesUnknown && !Object.keys(source).every((name) => nameSet.has(name))
    const issues = hasUnknown ? unknownParameters(source, names, isList ? 'list' : 'call') : []
    for (const { name, type, path } of fields) {
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
