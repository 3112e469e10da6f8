import type { ErrorObject } from 'ajv'

import { ISSUES_SHOWN, type Issue } from '../base/errors.ts'
import { cutPointer, pointerTo } from '../base/json-pointer.ts'
import { RULE } from '../base/with-rule.ts'

const SMALL_VALUES_MAX = 200

/** Whether all faults may be collected: a large value could have more than fit into memory. */
export function isSmall(value: unknown): boolean {
  const queue = [value]
  for (let count = 0; queue.length > 0; count++) {
    if (count + queue.length > SMALL_VALUES_MAX) return false
    const next = queue.pop()
    if (typeof next === 'object' && next !== null)
      for (const inner of Object.values(next)) if (queue.push(inner) > SMALL_VALUES_MAX) return false
  }
  return true
}

/**
 * The first faults as an answer lists them. No message holds a part of the value.
 *
 * @param at JSON pointer of the value
 * @param faults with `verbose`
 */
export const issuesOf = (at: string, faults: readonly ErrorObject[]): Issue[] =>
  withoutRepetitions(faults.filter(({ keyword }) => keyword !== 'propertyNames'))
    .slice(0, ISSUES_SHOWN)
    .map((fault) => ({ path: cutPointer(at + pathOf(fault)), message: sentenceOf(fault) }))

/** Keywords whose fault is one of a member, by the parameter that names it. */
const MEMBERS: Readonly<Record<string, string>> = {
  additionalProperties: 'additionalProperty',
  required: 'missingProperty',
}

function pathOf({ instancePath, keyword, params, propertyName }: ErrorObject): string {
  const parameter = Object.hasOwn(MEMBERS, keyword) ? MEMBERS[keyword]! : ''
  const member = propertyName ?? (params[parameter] as string | undefined)
  if (member !== undefined) return pointerTo(instancePath, member)
  return keyword === RULE ? instancePath + String(params['path']) : instancePath
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** The fault of a name stands where its value is. */
const sentenceOf = (fault: ErrorObject): string =>
  fault.propertyName === undefined ? messageOf(fault) : `the name ${messageOf(fault)}`

function messageOf({ keyword, schema, parentSchema, message = 'is not valid' }: ErrorObject): string {
  if (keyword === RULE) return message
  if (keyword === 'required') return 'is required'
  if (keyword === 'additionalProperties') return 'is not a known field'
  if (keyword === 'false schema') return 'is not allowed'
  if (keyword === 'const') return `must be ${textOf(schema)}`
  if (keyword === 'enum') return `must be one of ${(schema as unknown[]).map(textOf).join(', ')}`
  // The description of a schema tells most readers more than its pattern.
  const { description } = parentSchema as { description?: string }
  if (keyword === 'pattern' && description !== undefined)
    return `does not fit: ${description} (pattern ${String(schema)})`
  if (keyword === 'anyOf') return `must be ${alternatives(schema as Alternative[])}`
  return message
}

// Keywords whose faults only say that the value is of the wrong kind; other faults are more specific.
const OF_KIND = new Set(['type', 'const', 'enum', 'anyOf'])

/**
 * Removes faults of alternatives that repeat each other, and faults of rules for values that their schemas refuse.
 */
function withoutRepetitions(faults: readonly ErrorObject[]): ErrorObject[] {
  const remaining = new Set(faults)
  for (const union of faults.filter(({ keyword }) => keyword === 'anyOf')) {
    const within = faults.filter(
      (fault) =>
        fault.schemaPath.startsWith(`${union.schemaPath}/`) &&
        `${fault.instancePath}/`.startsWith(`${union.instancePath}/`),
    )
    const inner = new Set(
      within.filter((fault) => pathOf(fault) !== union.instancePath || !OF_KIND.has(fault.keyword)),
    )
    if (inner.size > 0) remaining.delete(union)
    for (const fault of within) if (!inner.has(fault)) remaining.delete(fault)
  }
  const { true: byRule = [], false: bySchema = [] } = Object.groupBy(
    remaining,
    ({ keyword }) => `${keyword === RULE}`,
  )
  const paths = new Set(bySchema.map(pathOf))
  return [...bySchema, ...byRule.filter((fault) => !paths.has(pathOf(fault)))]
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
  return `one of ${values.map(textOf).join(', ')}${types && `, or ${types}`}`
}
